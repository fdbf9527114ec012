"""Outgoing data of an instance: buffers of packed tuples, acks, and the rule of flushing.

A buffer collects the tuples for one destination task (or, for an ALL grouping, for all tasks of one
container: they travel once and are fanned out by its stream manager). A flush sends everything as
one message, in the order of the buffers, so tuples stay FIFO for each (source task, destination
task). Where a fan-out buffer and a plain buffer lead to the same task they are conflicting: each
flushes the other before it takes a tuple.
"""

from collections.abc import Callable, ItemsView, Iterable, Sequence
from itertools import chain, repeat
from typing import Any

from heron_core.native import (
    BufferRoom,
    TupleBuffer,
    are_empty,
    fold_acks,
    fold_runs,
    simple_tuples,
    taken_batches,
    whole_batch,
)
from heron_core.wire.batch import STREAM_BYTES, batch_message, packed_rows
from heron_core.wire.frames import (
    PAIR_BYTES,
    ROOT_COUNTER_BITS,
    FrameKind,
    Frames,
    root_owner,
)
from heron_core.wire.packets import encode_numbers, encode_pairs, encode_roots
from heron_instance.input.anchors import AnchorState, SharedAnchorState, fold_whole_runs

Send = Callable[[list[Frames]], object]
"""Sends messages together, in order; at least one."""
Admit = Callable[[], object]
MaySend = Callable[[], bool]

BUFFERS_COUNTED = 4
"""The room grows with the number of buffers, so that each fills its batch, up to 1 MiB."""

SLOW_START_AFTER_SECS = 0.1
"""Pause that indicates a slow bolt: a fast bolt empties its queue sooner."""
SLOW_START_TUPLES = 8
"""Deliveries in the first interval after such a pause; each later interval doubles the number."""
SLOW_START_SECS = 0.02
"""Such an interval, in which the next pause arrives in time: a stream manager and a control thread
have to wake up for it. Deliveries in excess wait for the end of the interval; a slower instance
does not wait. At full speed again after 0.25 s, and the bolt has half a second of work left when
the pause ends (stream_manager.flow_control)."""


class OutputBuffer(TupleBuffer):
    """Tuples for one destination, packed in order of their emits."""

    __slots__ = ()

    @property
    def is_empty(self) -> bool:
        """Whether the buffer is empty."""
        return not self.tuples

    def validate(self, tracked: bool) -> None:
        """AssertionError with a text if ids, streams and tuples do not fit together."""
        tuples, pairs, where = self.tuples, self.pairs, f"the buffer for {self.destination}"
        ids = PAIR_BYTES * pairs * (len(self.targets) or 1)
        assert len(self.ids_frame()) == ids, f"{where}: {len(self.ids_frame())} bytes, not {ids}"
        assert pairs <= tuples, f"{where} has {pairs} pairs of {tuples} tuples"
        assert not tracked or bool(pairs) == bool(tuples), f"{where} has tuples without ids"
        streams = len(self.streams_frame()) if self.is_mixed else STREAM_BYTES * tuples
        assert streams == STREAM_BYTES * tuples, f"{where}: streams, tuples"

    def parts_of(self, stream: int) -> list[Any]:
        """The packed rows of a stream. A tuple that goes to several buffers is listed in the
        first."""
        if not self.is_mixed and self.stream != stream:
            return []
        rows, repeats = packed_rows(self.body()), set(self.repeats())
        streams: Iterable[int] = repeat(self.stream)
        if self.is_mixed:
            streams = memoryview(self.streams_frame()).cast("H")
        return [
            row
            for at, (row, its_stream) in enumerate(zip(rows, streams, strict=False))
            if its_stream == stream and at not in repeats
        ]

    def encoded(self, epoch: int, source: int, tracked: bool, begins: bool) -> list[Frames]:
        """The buffer's content as one message."""
        return [
            batch_message(
                epoch,
                source,
                self.destination,
                self.tuples,
                self.body(),
                self.stream,
                begins,
                self.targets,
                self.ids_frame() if tracked else None,
                self.sizes_frame() if tracked and self.has_runs else None,
                self.streams_frame() if self.is_mixed else None,
                self.extras,
            )
        ]


class Outbox(BufferRoom):
    """The buffers, acks and inits of one instance; `send` puts a message on the wire."""

    def __init__(
        self,
        task: int,
        tracked: bool,
        tuples: int,
        size_bytes: int,
        send: Send,
        admit: Admit,
        may_send: MaySend,
        clock: Callable[[], float],
        rest: Callable[[float], object],
    ) -> None:
        self.task = task
        self.epoch = 0
        self.send = send
        self.admit = admit
        """Returns when tuples may be sent, after the plan is known and back-pressure has ended."""
        self.may_send = may_send
        """Whether `admit` would return at once."""
        self.clock = clock
        self.rest = rest
        """Sleeps for a number of seconds."""
        self._slow_start_tuples = 0
        """After a long pause: limit of tuples in the present interval; 0: unlimited."""
        self._slow_start_left = 0
        """Remaining tuples of the limit."""
        self._slow_start_until = 0.0
        """End of the interval, by `clock`."""
        self.buffers: list[OutputBuffer] = []
        self.is_read = False
        """Whether any component reads the output. A direct emit creates its buffer on first use
        of a task, so an instance with readers may lack buffers for a long time."""
        self.inits: list[int] = []
        self.ids_begin_trees = False
        """A spout's batches tell the beginnings of trees by their ids: no INIT is needed."""
        self.waited_secs = 0.0
        """In all, in the middle of user code's work, for back-pressure to end."""
        self.flushed_elsewhere: Callable[[], bool] = bool
        """Whether a thread other than the main thread flushes: the main thread must flush
        instead."""
        self.acks: dict[int, int] = {}
        self.fails: list[int] = []
        self.overhead = max(1, size_bytes // tuples)
        """Overhead of a tuple added to its bytes, so that one limit covers bytes and tuples."""
        self._buffer_room = size_bytes
        self.budget = size_bytes
        super().__init__(size_bytes, tracked)
        self.watch: Callable[[OutputBuffer], None] | None = None
        """Looks at each buffer that is about to be sent, while a sample of a stream is wanted."""
        self.sent = 0
        """Deliveries handed over for sending since the start; see `deliveries`."""

    def add_buffer(self, buffer: OutputBuffer) -> OutputBuffer:
        """Take a new buffer in."""
        self.buffers.append(buffer)
        self.budget = self.room = self._buffer_room * min(BUFFERS_COUNTED, len(self.buffers))
        return buffer

    @property
    def deliveries(self) -> int:
        """Deliveries so far, those still buffered included."""
        return self.sent + sum(buffer.deliveries for buffer in self.buffers)

    @property
    def empty(self) -> bool:
        """Whether nothing waits to be sent."""
        return not (
            self.acked
            or self.pairs
            or self.acks
            or self.fails
            or self.inits
            or not are_empty(self.buffers, OutputBuffer)
        )

    def validate(self) -> None:
        """AssertionError with a text if the buffers do not fit together; between two emits."""
        assert self.room <= self.budget, f"room for {self.room} bytes of {self.budget}"
        for buffer in self.buffers:
            buffer.validate(self.tracked)

    def flush_if_full(self) -> None:
        """Flush when the buffer is full."""
        if self.room < 0:
            self.flush()

    def flush(self) -> None:
        """Send all that is buffered as one message; acks alone if back-pressure holds the rest."""
        if self.flushed_elsewhere():
            return
        messages = self._ack_messages()
        if not are_empty(self.buffers, OutputBuffer):
            if not self.may_send():
                self._send(messages)
                messages = []
                self._wait_until_admitted()
            sent = self.sent
            self._send([*messages, *self._batches()])
            if self._slow_start_tuples:
                self._go_on_slowly(self.sent - sent)
        else:
            self._send(messages)
        self.room = self.budget
        if self._slow_start_tuples:
            self.room = min(self.room, self._slow_start_left * self.overhead)
        self.flushes += 1

    def _wait_until_admitted(self) -> None:
        before = self.clock()
        self.admit()
        waited_secs = self.clock() - before
        self.waited_secs += waited_secs
        self.was_blocked(waited_secs)

    def was_blocked(self, secs: float) -> None:
        """Back-pressure has held the instance for so long, and does not any more."""
        if secs >= SLOW_START_AFTER_SECS:
            self._begin_interval(SLOW_START_TUPLES)
            self.room = min(self.room, SLOW_START_TUPLES * self.overhead)

    def _begin_interval(self, tuples: int) -> None:
        self._slow_start_tuples = self._slow_start_left = tuples
        self._slow_start_until = self.clock() + SLOW_START_SECS

    def _go_on_slowly(self, sent: int) -> None:
        """Of a slow start (TCP's, for the same reason) some more tuples are sent."""
        self._slow_start_left -= sent
        rest_secs = self._slow_start_until - self.clock()
        if rest_secs > 0:
            if self._slow_start_left > 0:
                return
            self.rest(rest_secs)
        tuples = 2 * self._slow_start_tuples
        self._begin_interval(tuples if tuples * self.overhead < self.budget else 0)

    def _send(self, messages: list[Frames]) -> None:
        if messages:
            self.send(messages)

    def settle(self) -> None:
        """Fold the acks since the last call: one xor for each root."""
        count = len(self.acked)
        if self.foreign is not None and not self.foreign.make_now():
            return  # emits before the acks are still pending
        self.acks_counted += count
        if self.tracked:
            acked = self.acked[:count]
            if acked and type(acked[0].roots) is SharedAnchorState:
                acked = fold_whole_runs(acked, self.acks)
            for tup in fold_acks(acked, self.acks):
                self._settle_with_care(tup)
        # What another thread acked meanwhile stays for the next time.
        del self.acked[:count]

    def settle_batch(self, rows: list[Any], anchor_states: list[AnchorState]) -> None:
        """Like `settle`, after a batch of tuples with the anchor states: one per tuple, or one
        per run.

        If the acked tuples are exactly the batch, the batch is settled as a whole.
        """
        if self.foreign is not None:
            self.settle()
            return
        if len(anchor_states) == len(rows):
            is_whole = self._settle_whole(rows, anchor_states)
        else:
            is_whole = fold_runs(self.acked, rows, anchor_states, self.acks)
        if is_whole:
            self.acks_counted += len(rows)
            del self.acked[: len(rows)]
        else:
            self.settle()

    def _settle_whole(self, rows: list[Any], anchor_states: list[AnchorState]) -> bool:
        """Settle tuples of one owner, the usual case: the stream manager xors their acks."""
        if self.acks:  # acked earlier
            return False
        pairs = whole_batch(self.acked, rows, anchor_states, ROOT_COUNTER_BITS)
        if pairs is None:
            return False
        self.pairs.extend(pairs)
        return True

    def _settle_with_care(self, tup: Any) -> None:
        """A tuple that shares its anchor state, has several roots, or was settled before."""
        anchor_state = tup.roots
        if type(anchor_state) is SharedAnchorState:
            self._settle_one_of(anchor_state, tup.tuple_key)
        else:
            self._settle_other(anchor_state)

    def _settle_one_of(self, anchor_state: SharedAnchorState, key: int) -> None:
        if not anchor_state.first_settle(key):
            self.late += 1
            self.acks_counted -= 1
        elif anchor_state and not anchor_state.left and not anchor_state.has_failed:
            self._ack_all(anchor_state)

    def _settle_other(self, anchor_state: list[int]) -> None:
        if not anchor_state:
            self.late += 1
            self.acks_counted -= 1
        self._ack_all(anchor_state)

    def _ack_all(self, anchor_state: list[int]) -> None:
        for at in range(0, len(anchor_state), 2):
            self.acks[anchor_state[at]] = self.acks.get(anchor_state[at], 0) ^ anchor_state[at + 1]
        anchor_state.clear()

    def fail(self, tup: Any) -> bool:
        """The roots of a tracked tuple fail; False if it was settled before, which is counted."""
        anchor_state = tup.roots
        if type(anchor_state) is SharedAnchorState:
            is_first: bool = anchor_state.first_settle(tup.tuple_key)
            if is_first and not anchor_state.has_failed:
                anchor_state.has_failed = True
                self.fails.extend(anchor_state[::2])
        else:
            is_first = bool(anchor_state)
            self.fails.extend(anchor_state[::2])
            anchor_state.clear()
        self.late += not is_first
        return is_first

    def discard(self) -> None:
        """Discard the buffers: no receiver would accept them."""
        for buffer in self.buffers:
            buffer.clear()
        for pending in (self.inits, self.acked, self.pairs, self.fails):
            pending.clear()
        self.acks = {}
        self.room = self.budget

    def flush_acks(self) -> None:
        """Send acks and fails alone: back-pressure does not hold them."""
        self._send(self._ack_messages())

    def make_way(self, buffers: Sequence[OutputBuffer], are_several: bool) -> bool:
        """See BufferRoom. Acks leave first: a report of what was processed rides on the message."""
        others = [other for buffer in buffers for other in buffer.conflicting if not other.is_empty]
        if are_several:  # a batch has either runs or further roots
            others += (buffer for buffer in buffers if buffer.has_runs)
        for other in dict.fromkeys(others):
            self.flush_acks()
            self.flush_buffer(other)
        return bool(others)

    def flush_buffer(self, buffer: OutputBuffer) -> None:
        """Send the content of one buffer."""
        self.admit()
        self._send([*self._init_messages(), *self._batch(buffer)])

    def _batches(self) -> list[Frames]:
        """Content of the buffers, sent next, preceded by the starts of its trees."""
        inits = self._init_messages()
        if self.watch is not None:
            return [*inits, *chain.from_iterable(map(self._batch, self.buffers))]
        # Counted before the buffers are emptied, as `_batch` says.
        self.sent += simple_tuples(self.buffers, OutputBuffer)
        taken = taken_batches(
            self.buffers, OutputBuffer, self.epoch, self.task, self.tracked,
            self.ids_begin_trees, self._batch,
        )  # fmt: skip
        return [*inits, *taken]

    def _batch(self, buffer: OutputBuffer) -> list[Frames]:
        """Remove and return the messages of a buffer; empty if the buffer is."""
        if buffer.is_empty:
            return []
        if self.watch is not None:
            self.watch(buffer)
        messages = buffer.encoded(self.epoch, self.task, self.tracked, self.ids_begin_trees)
        if buffer.emits is not None:
            buffer.emits[0] += buffer.tuples
        # Counted before the buffer is emptied: `deliveries` may be read by another thread, and may
        # say too many for a moment but never too few.
        self.sent += buffer.deliveries
        buffer.clear()
        return messages

    def _init_messages(self) -> list[Frames]:
        if not self.inits:
            return []
        inits = encode_pairs(FrameKind.INIT, self.epoch, self.task, self.task, self.inits)
        self.inits.clear()
        return [inits]

    def _ack_messages(self) -> list[Frames]:
        """Acks of all tuples that were settled until now as one message, and their fails as one for
        each owner."""
        if self.acked:
            self.settle()
        if self.acks:
            self.pairs.extend(chain.from_iterable(self.acks.items()))
            self.acks = {}
        epoch, task, messages = self.epoch, self.task, list[Frames]()
        if self.pairs:
            # The common owner of all roots, or 0, which is EVERY_OWNER.
            owner, frame = self.pairs.owner(ROOT_COUNTER_BITS), self.pairs.frame()
            self.pairs.clear()
            messages.append(encode_numbers(FrameKind.ACK, epoch, task, owner, frame, PAIR_BYTES))
        if self.fails:
            fails, self.fails = self.fails, []
            for owner, roots in _fails_by_owner(fails):
                messages.append(encode_roots(FrameKind.FAIL, epoch, task, owner, roots))
        return messages


def _fails_by_owner(fails: list[int]) -> ItemsView[int, list[int]]:
    """Failed roots for each owning spout task."""
    owners: dict[int, list[int]] = {}
    for root in fails:
        owners.setdefault(root_owner(root), []).append(root)
    return owners.items()


def find_conflicting(buffers: Sequence[OutputBuffer]) -> None:
    """Link buffers to a common task (see the module docstring)."""
    for buffer in buffers:
        reached = set(buffer.targets or (buffer.destination,))
        buffer.conflicting = [
            other
            for other in buffers
            if other is not buffer and reached & set(other.targets or (other.destination,))
        ]


def tasks_of(buffers: Sequence[OutputBuffer]) -> list[int]:
    """The tasks that buffers lead to."""
    return [task for buffer in buffers for task in buffer.targets or (buffer.destination,)]
