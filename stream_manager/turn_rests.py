"""Rests of a busy stream manager between turns.

In a turn the stream manager reads the available input, and then sends the results, merged for
each receiver. A message costs its sender and its receiver far more than its batches: two system
calls, and often a wake-up. While many sources send small batches continuously, back-to-back
turns produce as many small messages, to each instance and to each other stream manager. A rest
lets batches accumulate, here and in the instances, which make larger batches of larger messages.

The rule: a rest follows a turn if all conditions hold.

- Other stream managers exist. Messages between stream managers cost the most: two more processes,
  ZeroMQ's threads, encryption. In a single container of 20 instances rests have no measurable
  benefit (4.9 µs of CPU a tree with and without), and cost a fifth of the throughput.
- The machine is overloaded: in the last tenth of a second the stream manager has waited for a core
  for WAITING_SHARE of the time. Then saved work is throughput. Otherwise a rest is a useless delay.
- Recent turns forwarded BATCHES_BUSY batches each on average. Input of a few sources is
forwarded at
  once, and so is a single burst, such as a request to all instances of a bolt: BATCHES_COUNTED
  bounds one turn's contribution to the average.
- The batches are small: TUPLES_SMALL tuples each on average. Larger batches gain little.
- The turn took less CPU time than the rest would. A stream manager that needs half of a core has
  longer turns and rests less: its capacity is unaffected by rests.
"""

REST_SECS = 0.002
"""At most; a topology whose tuples wait less for their batches (`topology.batch.linger.ms`) has
shorter rests. With twice as much 60 instances have no less work to do, and tuples wait longer."""
WAITING_SHARE = 0.1
"""Of the time between two calls of `read_wait`. A process that wakes up a thousand times a second
on an idle machine waits for a core for 1 or 2 % of the time, and for 30 % and more on a machine
that is full."""
BATCHES_BUSY = 4
"""In a turn: fewer are of a few sources, which would wait for their answers without need."""
BATCHES_COUNTED = 2 * BATCHES_BUSY
"""Of one turn at most: a stream manager is busy from the third busy turn on, not by one burst."""
TUPLES_SMALL = 32
"""Tuples per batch: the fixed cost of a batch, 10 to 15 µs in all processes on its way, then
equals the cost of its tuples."""
NEWEST_SHARE = 0.25
"""Of the newest turn in the averages."""


class TurnRests:
    """Decides after each turn."""

    def __init__(self, rest_secs: float = REST_SECS) -> None:
        """`rest_secs`: length of a rest; 0.0: disabled."""
        self._rest_secs = rest_secs
        self._is_full = False
        """Whether the machine is."""
        self._read_at: float | None = None
        self._waited_secs = 0.0
        self._cpu_secs = 0.0
        self._batches = self._tuples = 0
        """Passed on in all when the newest turn ended."""
        self._turn_batches = self._turn_tuples = 0.0
        """Of a turn, on average."""

    def read_wait(self, now: float, waited_secs: float | None) -> None:
        """`waited_secs`: for a core since the process began; None: not known, so there are no
        rests. To be called now and then, `now` in seconds of a monotonic clock."""
        if waited_secs is not None and self._read_at is not None:
            share_secs = WAITING_SHARE * (now - self._read_at)
            self._is_full = waited_secs - self._waited_secs >= share_secs
        self._read_at, self._waited_secs = now, waited_secs or 0.0

    def after(self, batches: int, tuples: int, cpu_secs: float) -> float:
        """Seconds to rest, 0.0 for none, if other stream managers exist. The totals are since the
        start of the process: forwarded batches, their tuples, CPU time."""
        taken, taken_tuples = batches - self._batches, tuples - self._tuples
        used_secs = cpu_secs - self._cpu_secs
        self._batches, self._tuples, self._cpu_secs = batches, tuples, cpu_secs
        counted = min(taken, BATCHES_COUNTED)
        counted_tuples = taken_tuples * counted / taken if taken else 0.0
        self._turn_batches += NEWEST_SHARE * (counted - self._turn_batches)
        self._turn_tuples += NEWEST_SHARE * (counted_tuples - self._turn_tuples)
        is_worth_it = self._is_full and taken > 0 and self._is_busy_with_small_ones
        return self._rest_secs if is_worth_it and used_secs < self._rest_secs else 0.0

    @property
    def _is_busy_with_small_ones(self) -> bool:
        is_busy = self._turn_batches >= BATCHES_BUSY
        return is_busy and self._turn_tuples <= TUPLES_SMALL * self._turn_batches
