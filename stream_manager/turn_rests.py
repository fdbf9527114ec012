"""How long a busy stream manager leaves its sockets alone after a turn.

In a turn the stream manager takes what has arrived, and then sends what that has become, merged for
each receiver. A message costs its sender and its receiver far more than the batches in it: two
system calls, and often a wake-up. While many sources send small batches all the time, turns that
follow each other at once make as many small messages of them, to each instance and to each other
stream manager. A rest lets batches come together, here and so in the instances, which make larger
batches of larger messages.

The rule: a rest follows a turn if all of this holds.

- There are other stream managers. Between two of them a message costs the most: two more processes,
  ZeroMQ's threads, encryption. In a single container of 20 instances rests save nothing that can be
  measured (4.9 µs of CPU a tree with and without), and a fifth of the throughput is lost.
- The machine has more to do than cores: in the last tenth of a second the stream manager has waited
  for a core for WAITING_SHARE of the time. Then work that is saved is throughput. Else a rest is a
  delay for nothing.
- The turns up to this one passed on BATCHES_BUSY batches each on average. What a few sources send
  is passed on at once, and so is a single burst, such as a request to all instances of a bolt:
  BATCHES_COUNTED bounds what one turn contributes to the average.
- These batches are small: TUPLES_SMALL tuples each on average. Larger ones gain little.
- The turn took less CPU time than the rest would. A stream manager that needs half of a core has
  longer turns, and rests less: a rest takes nothing away from what it can pass on.
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
"""In a batch: what a batch itself costs, 10 to 15 µs in all processes on its way, is then as much
as what its tuples cost."""
NEWEST_SHARE = 0.25
"""Of the newest turn in the averages."""


class TurnRests:
    """Decides after each turn."""

    def __init__(self, rest_secs: float = REST_SECS) -> None:
        """`rest_secs` of each rest; 0.0: there are none."""
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

    def after(self, batches: int, tuples: int, cpu_secs: float, has_peers: bool) -> float:
        """Seconds to rest, 0.0 for none. The numbers are since the process began: batches that were
        passed on, the tuples in them, CPU time."""
        taken, taken_tuples = batches - self._batches, tuples - self._tuples
        used_secs = cpu_secs - self._cpu_secs
        self._batches, self._tuples, self._cpu_secs = batches, tuples, cpu_secs
        counted = min(taken, BATCHES_COUNTED)
        counted_tuples = taken_tuples * counted / taken if taken else 0.0
        self._turn_batches += NEWEST_SHARE * (counted - self._turn_batches)
        self._turn_tuples += NEWEST_SHARE * (counted_tuples - self._turn_tuples)
        is_worth_it = has_peers and self._is_full and taken > 0 and self._is_busy_with_small_ones
        return self._rest_secs if is_worth_it and used_secs < self._rest_secs else 0.0

    @property
    def _is_busy_with_small_ones(self) -> bool:
        is_busy = self._turn_batches >= BATCHES_BUSY
        return is_busy and self._turn_tuples <= TUPLES_SMALL * self._turn_batches
