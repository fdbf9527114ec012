"""What the drivers of spouts and bolts have in common: clock, outbox, epoch, errors of user code.

A driver runs one component on what arrives: messages in, calls of user code, messages out. It
reads no clock, never sleeps and touches no socket: `clock` and the outbox's `send` are given, by
server.py in a process and by the simulation in tests. The calls are methods rather than events
because this is the path of every tuple. bolt.py and spout.py hold the two kinds; core.py says what
is called when.

The main thread calls it. The control thread uses `plan_changed`, `counts` and `statistics`.
"""

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from heron_api.user_errors import users_traceback
from heron_core.errors import ComponentError, ProtocolError, TopologyStopped
from heron_core.instance_report import InstanceReport
from heron_core.plans import PackingPlan
from heron_core.traces import Execution
from heron_core.wire.frames import FrameKind, Frames, Header
from heron_core.wire.packets import check_barrier
from heron_instance.consumed import Consumed
from heron_instance.emit.output_buffers import Outbox
from heron_instance.emit.watermarks import WatermarkOutput
from heron_instance.input.malformed import fault_text, malformed
from heron_instance.input.waiting_input import WaitingInput
from heron_instance.options import InstanceOptions
from heron_instance.runtime.metrics import Metrics

if TYPE_CHECKING:
    from heron_instance.flight_recorder import FlightRecorder

Clock = Callable[[], float]
Exchanged = tuple[int, int, int]
"""Deliveries sent, deliveries processed, and watermarks taken so far."""
Report = Callable[[str], None]

ERRORS_LOGGED_PER_SEC = 5
LAST_ERROR_CHARACTERS = 2000
"""Of a traceback, for the master: its end tells most."""


POLL_SECS = 0.001
"""Between two looks for a question, as long as a tuple takes less; a look takes a microsecond."""


def _never() -> bool:
    return False


def _nothing() -> None:
    """Live queries are not awaited."""


class ComponentDriver:
    """What spouts and bolts have in common: the linger deadline, the plan's epoch, closing."""

    def __init__(
        self, component: Any, outbox: Outbox, options: InstanceOptions, clock: Clock, report: Report
    ) -> None:
        self.component = component
        self.outbox = outbox
        self.options = options
        self.watermarks = WatermarkOutput(outbox)
        """Watermarks for the readers of the instance."""
        self.metrics = Metrics()
        self.settle_secs_max = 0.0
        """See InstanceReport."""
        self.clock = clock
        self.report = report
        """Takes one text for the instance's log, at error level."""
        self._handle: Callable[[BaseException | None], None] | None = component.handle_exception
        self._is_idle: Callable[[], bool] = component.is_idle
        self._errors_until = 0.0
        self._errors_logged = 0
        self.due = 0.0
        """When the loop over tuples has to look up: linger, tick."""
        self.barrier: Callable[[Frames], None] | None = None
        """Takes a barrier; None in a topology without checkpoints."""
        self.overtaken: Callable[[], bool] = _never
        """Whether something comes before the input that is left, a barrier or a plan: then a
        message is cut between two of its tuples, and the rest is processed later."""
        self.abandoned: Callable[[], bool] = _never
        """Whether the remaining input is void: the topology is restored, or the process ends. A
        message is then interrupted even between two of its batches."""
        self.poll: Callable[[], None] = _nothing
        """Takes the control messages that have come."""
        self.poll_at = math.inf
        """When to look next."""
        self.preceded: Callable[[], bool] = _never
        """Whether something comes before the next message."""
        self._discarded_sent = self._discarded_processed = 0
        """Deliveries from before the restore of a checkpoint: ignored."""
        self.awaits_restore = False
        """A bolt has raised, and waits for the topology to be restored."""
        self.works_on = False
        """Whether received, unfinished tuples can proceed: `work_on`."""
        self.may_fail_retained = False
        """Whether all retained tuples can be failed at any time."""
        self.watermarks_taken = 0
        """Messages with new content."""
        self.fence = 0
        """Batches of earlier epochs are leftovers of removed processes."""
        self.keys_since = 0
        """For a stateful bolt: batches of earlier epochs were routed by keys that may have
        moved."""
        self.recorder: FlightRecorder | None = None
        """Takes down what the driver does; None without `topology.flight.recorder`."""

    def poll_by(self, poll: Callable[[], None]) -> None:
        """Call this between two tuples, every POLL_SECS."""
        self.poll, self.poll_at = poll, 0.0

    def also_idle(self, is_idle: Callable[[], bool]) -> None:
        """The component is idle only if this says so, too; from any thread."""
        own = self._is_idle
        self._is_idle = lambda: own() and is_idle()

    @property
    def taken(self) -> int:
        """Of a bolt whose tuples begin later than they are taken: the number of the last one."""
        return 0

    @property
    def begun(self) -> int:
        """Number of the last started tuple."""
        return 0

    def coroutines(self, may_send: bool) -> Any:
        """The event loop to run while idle; None without one."""
        return self.component.coroutines

    @property
    def is_amid_state(self) -> bool:
        """Whether calls under way may have changed a part of the state: no barrier passes then."""
        return False

    def holds_back(self, frames: Frames) -> bool:
        """Whether a message must wait until earlier input is finished."""
        return False

    def work_on(self, now: float) -> None:
        """Go on with tuples that were taken, as `works_on` says; before others are taken."""

    def abandon_unfinished(self) -> None:
        """Another object takes the component's place: tuples that it has taken and not finished
        fail, and are counted."""

    def plan_changed(self, epoch: int, fenced: bool = True, has_routes: bool = True) -> None:
        """Frames carry the new epoch from here on; what is buffered was routed by it just as well.

        `fenced`: a stream manager was replaced. Of a topology that was only scaled, batches of the
        plan before are as good as any. `has_routes`: whether tuples go where that plan has its
        tasks; else frames keep the epoch that they carry until `routed_by`.
        """
        if has_routes:
            self.outbox.epoch = epoch
        if fenced:
            self.fence = epoch

    def routed_by(self, epoch: int, keys_since: int) -> None:
        """In the main thread, before `repack`, where no checkpoints are taken: tuples go where the
        plan of this epoch has its tasks from here on. What is buffered went by the plan before."""
        if epoch > self.outbox.epoch:
            self.outbox.flush()
            self.outbox.epoch = epoch
        self.keys_since = keys_since

    def go_on_counting(self, before: "ComponentDriver") -> None:
        """Take over the counts of the previous driver in the process."""
        self.metrics = before.metrics
        self.fence, self.keys_since = before.fence, before.keys_since
        mine, others = self.outbox, before.outbox
        mine.epoch = others.epoch
        mine.sent, mine.acks_counted, mine.late = others.sent, others.acks_counted, others.late
        mine.waited_secs = others.waited_secs
        self._discarded_sent, self._discarded_processed = (
            before._discarded_sent,
            before._discarded_processed,
        )

    def forget_deliveries(self) -> None:
        """All output so far is discarded and will not be processed."""
        self._discarded_sent, self._discarded_processed = self.outbox.sent, self.metrics.executed

    def expect(self, deliveries: int) -> None:
        """So many come from a checkpoint, and count as sent: they are going to be processed."""
        self._discarded_sent -= deliveries

    def exchanged(self) -> Exchanged:
        """Counts of exchanged messages: if unchanged, the instance has neither sent nor received
        anything."""
        return self.outbox.deliveries, self.metrics.executed, self.watermarks_taken

    def take_barrier(self, head: Header, frames: Frames) -> None:
        """Handle a barrier; ProtocolError for any other message apart from batches."""
        if head.kind != FrameKind.BARRIER or self.barrier is None:
            raise malformed(head.source, "", f"a frame of kind {head.kind} to a bolt")
        check_barrier(head, frames)
        if head.epoch >= self.fence:
            self.barrier(frames)

    def repack(self, packing: PackingPlan) -> None:
        """In the main thread: the topology is scaled, its tasks are those of `packing` now."""
        raise NotImplementedError

    def begin(self, active: bool, now: float) -> None:
        """In the main thread: a plan is there; `active` says whether the topology runs."""
        raise NotImplementedError

    def send_watermark(self) -> None:
        """In the main thread, when tuples may be sent: tell the readers of a new watermark."""
        raise NotImplementedError

    def fail_all(self) -> None:
        """The stream manager lost its trees: fail what is pending. Only a spout has any."""

    def known_watermarks(self) -> list[tuple[int, int]]:
        """Task and watermark of each source that has told of one; of a bolt alone."""
        return []

    def flush(self) -> None:
        """No more input for now: send the buffers and the watermark."""
        self.outbox.flush()
        self.send_watermark()

    def deliver(self, frames: Frames, first: int = 0) -> int | None:
        """Process one message, a batch from tuple `first` on; ProtocolError if malformed.
        Returns the first remaining tuple if interrupted, or None."""
        raise NotImplementedError

    def run_together(self, waiting: WaitingInput, consumed: Consumed) -> bool:
        """Process the small plain messages at the front, at least two, like `deliver` for each;
        False without any."""
        return False

    @property
    def component_is_idle(self) -> bool:
        """Whether the component is idle; pending output does not count."""
        return self._is_idle()

    def counts(self) -> tuple[int, int, bool]:
        """(deliveries sent, deliveries processed, whether nothing is left to do here)."""
        raise NotImplementedError

    @property
    def retains(self) -> bool:
        """Whether tuples of processed messages are neither acked nor failed: of these the stream
        manager knows nothing when the process dies."""
        return False

    @property
    def holds(self) -> bool:
        """Whether nothing is left to do here, and tuples wait for their outcome."""
        raise NotImplementedError

    def take_executions(self) -> list[Execution]:
        """What was executed of traced trees since the last call; from the control thread."""
        return []

    def statistics(self) -> InstanceReport:
        """What the driver knows of the instance report; may be called from another thread."""
        raise NotImplementedError

    def validate(self) -> None:
        """AssertionError with a text if an invariant does not hold; between two calls."""
        self.outbox.validate()

    def user_error(self, where: str) -> None:
        """Report the exception being handled as the user code's; its text goes to the log, but
        not more often than ERRORS_LOGGED_PER_SEC: a poisoned stream must not fill the disk."""
        error = sys.exc_info()[1]
        if error is None:
            return
        text = users_traceback(error, self.options.debug)
        if self.recorder is not None and (line := self.recorder.failed(where, error)):
            text = f"{line}\n{text}"
        self.record_error(f"{where} raised", text)

    def user_raised(self, where: str) -> None:
        """Like `user_error` for a call without a tuple; the component decides the consequence."""
        self.raised_beside(where)

    def raised_beside(self, where: str) -> None:
        """Like `user_raised`, for a call besides the data: its effects cannot be undone."""
        self.metrics.callback_errors += 1
        ComponentDriver.failed_in(self, where)

    def failed_in(self, where: str) -> None:
        """Like `user_error`; the component decides the consequence."""
        self.user_error(where)
        if self._handle is not None:
            self._handle(sys.exc_info()[1])

    def leave(self, why: str) -> NoReturn:
        """End the process by a ComponentError; what was acked and failed is told before."""
        self.outbox.flush_acks()
        raise ComponentError(why)

    def stop_topology(self, where: str) -> NoReturn:
        """End the process and the topology, because of what was raised last."""
        self.outbox.flush_acks()
        last = (self.metrics.last_error or "").strip().splitlines()[-1:]
        raise TopologyStopped(
            f"{where} raised, and topology.bolt.on.exception is stop: {' '.join(last)}"
        )

    def drop_malformed(self, frames: Frames, error: ProtocolError) -> None:
        """Count a message that cannot be read, and report its sender."""
        self.metrics.malformed += 1
        self.record_error("a message is dropped", fault_text(frames, error))

    def record_error(self, what: str, text: str) -> None:
        """Count an error, keep its `text` (a traceback) for the master, and log within the rate
        limit."""
        self.metrics.errors += 1
        self.metrics.last_error = text[-LAST_ERROR_CHARACTERS:]
        now = self.clock()
        if now >= self._errors_until:
            self._errors_until, self._errors_logged = now + 1.0, 0
        self._errors_logged += 1
        if self._errors_logged <= ERRORS_LOGGED_PER_SEC:
            self.report(f"{what}:\n{text}")
        elif self._errors_logged == ERRORS_LOGGED_PER_SEC + 1:
            self.report(f"{what} again; more in this second are counted, not logged")
