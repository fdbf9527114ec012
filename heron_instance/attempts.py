"""Attempts: calls of a bolt's user code that count completely or not at all.

In a topology with checkpoints an exception must not lose the bolt's tuple, and emits and changes
before the exception must not count. The protocol (input/undoable.py and core.py have the two
ends):

    first raise ──► RestoreWanted: all are restored from the newest checkpoint, which undoes
    everything.
                    From here on the instance is in careful mode:
    each message    the state is saved, the calls run, and emits are withheld;
      success       the emits are sent
      an exception  the emits are dropped, and the object is recreated with the saved state. Then
                    earlier tuples run again, and the failing tuple alone: repeatedly, after a
                    pause that doubles, until abandoned (topology.bolt.on.exception)
    two checkpoints without a raise ──► normal mode: states and emits are no longer withheld

So a normal tuple costs nothing, and an occasional exception does not restore the whole topology
each time, possibly forever.

Attributes of a component's object are undone like its state: by pre_save, a new object, and
init_state. Two kinds of components cannot be recreated:

SAME       sinks of heron_connectors, whose pre_save has external effects. By contract a tuple whose
           write raises is left out, so the existing object retries.
RESTORE    other two-phase components, components with threads or child processes, and state in a
           database: each exception restores the checkpoint. A tuple that reaches the limit of
           exceptions is recognised by its values, and is not run again.
"""

import copy
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Protocol
from zlib import crc32

from msgspec import Struct

from heron_api.state.stateful_component import TwoPhaseStatefulComponent
from heron_core.algorithms.retries import RetryPolicy, pause_secs
from heron_core.algorithms.source_watermarks import SourceWatermarks
from heron_core.component import EngineComponent
from heron_core.config import MEMORY
from heron_core.records import replace
from heron_core.state.file_snapshot import StateBytes, as_bytes
from heron_core.wire.frames import Frames
from heron_instance.emit.dead_letters import LetterFault, fault_of
from heron_instance.input.bolt import BoltDriver
from heron_instance.input.raised import Abandoned, UserCodeRaised, line_of
from heron_instance.input.undoable import Totals
from heron_instance.runtime.factory import ReadyInstance

CONNECTORS = "heron_connectors."
BETWEEN_CHECKPOINTS = "0"
"""What pre_save is told: the state is taken, and no checkpoint has it."""
CALM_CHECKPOINTS = 2
"""So many have to be complete without a raise: what is between them was then processed once."""
KNOWN_MAX = 10_000
"""Tuples that are known by their values; the oldest are forgotten then, and raise once more."""
IN_A_ROW_MAX = 10
"""So many tuples abandoned, and none processed between them: the code is broken, not the tuples. It
is tried without end then, as with `restart`, so that new code that always raises does not drain a
topology."""


class Kind(Enum):
    """How the effects of a failed attempt are undone."""

    ROLL_BACK = "roll back"
    """By a new object with the state from before the attempt."""
    SAME = "same object"
    """Nothing to undo: a failed call has no effect, by contract, so the object stays."""
    RESTORE = "restore"
    """By a restore of the topology."""


class Host(Protocol):
    """What is needed of the instance's core."""

    instance: ReadyInstance

    @property
    def bolt(self) -> BoltDriver:
        """The driver; another one after the object was recreated."""

    def send(self, messages: list[Frames]) -> None:
        """Put messages on the data connection."""

    def close_component(self) -> None:
        """The last calls of user code."""

    def recreate(self, saved: bytes | None) -> None:
        """Replace the user's object by a new object with the state."""


class Call(Struct):
    """One call of user code that is about no single tuple: a tick, a watermark, on_finish."""

    run: Callable[[BoltDriver], object]
    done: Callable[[], None]
    """It is over, completed or abandoned."""
    where: str
    is_message: bool = False
    """Whether the unit was a message, which is then consumed."""
    failures: int = 0

    @property
    def has_run_tuples(self) -> bool:
        """Whether any tuple was processed."""
        return False

    def attempt(self, driver: BoltDriver) -> None:
        """Make the call."""
        self.run(driver)

    def succeeded(self) -> bool:
        """Record a success; whether the unit is complete."""
        return True

    def blame(self, raised: UserCodeRaised) -> bool:
        """Whether the unit itself failed, not a known part."""
        return True

    def abandon(self, driver: BoltDriver, fault: LetterFault) -> bool:
        """It is left out, and is a letter or an error outside of a tuple; whether it is over."""
        driver.abandon_call(self.where, fault)
        return True


class Rows(Struct):
    """The tuples of a message, some of them at a time."""

    frames: Frames
    done: Callable[[], None]
    first: int = 0
    last: int | None = None
    """End of the range (exclusive); None: all remaining tuples."""
    failures: int = 0
    is_message: bool = True
    rows: int | None = None
    """Number of tuples, once known."""

    @property
    def where(self) -> str:
        """For people."""
        return "a tuple"

    @property
    def has_run_tuples(self) -> bool:
        """Whether any tuple was processed."""
        return self.rows is not None and self.first < self.rows

    def attempt(self, driver: BoltDriver) -> None:
        """Run the current range."""
        self.rows = driver.run_rows(self.frames, self.first, self.last)

    def succeeded(self) -> bool:
        """Record a success; whether the range was the last."""
        return self._go_on(self.last)

    def blame(self, raised: UserCodeRaised) -> bool:
        """Record an exception: earlier tuples run first, then the failing tuple alone; a batch
        is halved. Whether the failing tuple was first and alone."""
        row = self.first if raised.row is None else raised.row
        if row > self.first:
            self.last = row
            return False
        if raised.rows > 1:
            self.last = row + raised.rows // 2
            return False
        if raised.row is not None:
            self.last = row + 1
        return True

    def abandon(self, driver: BoltDriver, fault: LetterFault) -> bool:
        """Skip the first tuple; whether the tuple was the last."""
        driver.skip_rows(self.frames, self.first, self.last, fault)
        return self._go_on(self.last)

    def _go_on(self, at: int | None) -> bool:
        self.failures = 0
        if at is None or (self.rows is not None and at >= self.rows):
            return True
        self.first, self.last = at, None
        return False


Unit = Call | Rows


class Mark(Struct, frozen=True):
    """How all was before an attempt."""

    state: StateBytes | None
    """None: the object stays."""
    totals: Totals
    counted: dict[str, float]
    """Tuples that the component's own metrics count once."""
    watermarks: SourceWatermarks


class Attempts:
    """The careful way to run a bolt; all in the main thread."""

    def __init__(self, host: Host, policy: RetryPolicy, kind: Kind) -> None:
        self._host = host
        self._policy = policy
        self.kind = kind
        self._units: deque[Unit] = deque()
        """The current unit, and units received meanwhile."""
        self.due = 0.0
        """Time of the next attempt."""
        self._abandoned_in_a_row = 0
        self._calm = 0
        """Checkpoints completed since the last raise."""
        self._raised: dict[int, LetterFault] = {}
        """key of a unit -> latest exception and number of failures; removed on success."""
        self._reported: dict[str, None] = {}
        """Windows and timers whose calls are abandoned since the topology was restored last."""

    def begin(self, unit: Unit) -> None:
        """Queue the unit after earlier units."""
        if not self._units:
            self.due = 0.0
        self._units.append(unit)
        self._host.bolt.is_trying = True

    @property
    def unit(self) -> Unit | None:
        """The current unit."""
        return self._units[0] if self._units else None

    @property
    def holds(self) -> bool:
        """Whether the current unit has failed so often that success is unlikely."""
        return bool(self._units) and self._units[0].failures > self._policy.retries

    @property
    def where(self) -> str:
        """What is under way, for people."""
        return self._units[0].where if self._units else ""

    def forget(self) -> None:
        """The topology is restored: what is under way comes again, by other messages."""
        for unit in self._units:
            if unit.is_message:
                unit.done()
        self._units.clear()
        self._reported.clear()

    def drop(self) -> None:
        """Drop the current unit: it is malformed."""
        self._end_if(True, self._units[0])

    @property
    def is_over(self) -> bool:
        """Whether it may be less careful from now on."""
        return self.unit is None and self._calm >= CALM_CHECKPOINTS

    def checkpoint_completed(self) -> None:
        """All earlier input is final and never replayed."""
        self._calm += 1

    def go_on(self, now: float) -> UserCodeRaised | None:
        """Run the next attempt; returns an exception that only a restore of the topology can
        undo."""
        unit = self.unit
        assert unit is not None
        if self.kind is not Kind.ROLL_BACK and isinstance(unit, Rows):
            unit.last = unit.first + 1
        if self._is_abandoned(self._key_of(unit)):
            self._leave_out(unit)
            return None
        raised = self._attempt(unit)
        if isinstance(raised, Abandoned):
            return None  # the main loop has other things to do first
        if raised is None:
            if unit.has_run_tuples:
                self._abandoned_in_a_row = 0
            self._raised.pop(self._key_of(unit), None)
            self._end_if(unit.succeeded(), unit)
            return None
        self._calm = 0
        if self.kind is Kind.RESTORE:
            raised.key = self._key_of(unit)
            return raised
        if unit.blame(raised):
            self._failed(unit, raised, now)
        return None

    def _failed(self, unit: Unit, raised: UserCodeRaised, now: float) -> None:
        unit.failures += 1
        pause = self._pause_secs(unit.failures)
        if pause is not None:
            self.due = now + pause
            return
        if self._host.bolt.options.stops_on_exception:
            self._host.bolt.stop_topology(unit.where)
        self._abandoned_in_a_row += 1
        self._abandon(unit, fault_of(raised.__cause__, unit.failures))

    def _abandon(self, unit: Unit, fault: LetterFault) -> None:
        """A window that raises is open again when its call is undone, and raises with each tick: it
        is abandoned once."""
        is_reported = isinstance(unit, Call) and fault.about in self._reported
        if fault.about and isinstance(unit, Call):
            self._reported[fault.about] = None
            if len(self._reported) > KNOWN_MAX:
                self._reported.pop(next(iter(self._reported)))
        self._end_if(is_reported or unit.abandon(self._host.bolt, fault), unit)

    def _pause_secs(self, failures: int) -> float | None:
        # Letters are kept, and can be sent again.
        is_kept = self._host.bolt.collector.letters is not None
        if self._abandoned_in_a_row >= IN_A_ROW_MAX and not is_kept:
            return replace(self._policy, is_endless=True).pause_secs(failures)
        return self._policy.pause_secs(failures)

    def _end_if(self, is_over: bool, unit: Unit) -> None:
        self.due = 0.0
        if is_over:
            self._units.popleft()
            self._host.bolt.is_trying = bool(self._units)
            unit.done()

    # --- one attempt --------------------------------------------------------------------------

    def _attempt(self, unit: Unit) -> UserCodeRaised | None:
        driver = self._host.bolt
        driver.flush()
        try:
            before = self._mark(driver)
        except Exception as error:
            driver.user_error("pre_save")
            return UserCodeRaised("pre_save", line_of(error))
        withheld: list[list[Frames]] = []
        driver.outbox.send = withheld.append
        driver.attempt_begins(before.totals)
        try:
            unit.attempt(driver)
            driver.flush()
        except UserCodeRaised as raised:
            self._undo(driver, before)
            return raised
        finally:
            driver.outbox.send = self._host.send
            driver.attempt_ended()
        for messages in withheld:  # back-pressure may have begun since
            driver.outbox.admit()
            self._host.send(messages)
        return None

    def _mark(self, driver: BoltDriver) -> Mark:
        state = None
        if self.kind is Kind.ROLL_BACK:
            self._host.instance.adapter.pre_save(BETWEEN_CHECKPOINTS)
            state = self._host.instance.state.deferred_snapshot()
        counted = self._host.instance.context.counted_tuples()
        return Mark(state, driver.totals(), counted, copy.deepcopy(driver.source_watermarks))

    def _undo(self, driver: BoltDriver, before: Mark) -> None:
        driver.outbox.discard()
        if before.state is not None:
            self._host.close_component()  # emits of its last calls do not count either
        driver.set_totals(before.totals)
        driver.source_watermarks = before.watermarks
        self._host.instance.context.restore_totals(before.counted)
        if before.state is None:
            return
        self._host.recreate(as_bytes(before.state))
        successor = self._host.bolt
        successor.follow(driver)
        successor.tell_again(before.watermarks)
        successor.outbox.discard()  # it was sent when the previous object was told

    # --- where only the topology undoes -------------------------------------------------------

    def _key_of(self, unit: Unit) -> int:
        """Identity of a tuple across messages."""
        if self.kind is not Kind.RESTORE:
            return 0
        if isinstance(unit, Call):
            return crc32(unit.where.encode())
        return self._host.bolt.row_key(unit.frames, unit.first)

    def _is_abandoned(self, key: int) -> bool:
        fault = self._raised.get(key)
        return fault is not None and self._policy.pause_secs(fault.attempt) is None

    def _leave_out(self, unit: Unit) -> None:
        """It has raised too often. A tuple may come once more, if others raise."""
        if self._host.bolt.options.stops_on_exception:
            self._host.bolt.stop_topology(unit.where)
        key = self._key_of(unit)
        fault = self._raised.get(key) or fault_of(None)
        if isinstance(unit, Call):
            self._raised.pop(key, None)
        self._abandon(unit, fault)

    def abandons(self, raised: UserCodeRaised) -> bool:
        """Whether what a call raised that is no unit is not worth another restore."""
        if raised.key or not self._is_abandoned(raised.key):
            return False
        self._raised.pop(raised.key)
        return True

    def restore_pause_secs(self, raised: UserCodeRaised) -> float:
        """How long to wait until all are restored, as this was raised."""
        if len(self._raised) >= KNOWN_MAX:
            self._raised.pop(next(iter(self._raised)))
        before = self._raised.get(raised.key)
        failures = 1 if before is None else before.attempt + 1
        self._raised[raised.key] = fault_of(raised.__cause__, failures)
        self._calm = 0
        return pause_secs(self._policy.first_pause_secs, failures)


def kind_of(adapter: EngineComponent, backend: str) -> Kind:
    """How what an attempt of a component has done is undone."""
    component = adapter.users_object
    if isinstance(component, TwoPhaseStatefulComponent):
        module = getattr(getattr(component, "process", None), "__module__", "")
        return Kind.SAME if module.startswith(CONNECTORS) else Kind.RESTORE
    return Kind.RESTORE if _works_on(adapter) or backend != MEMORY else Kind.ROLL_BACK


def _works_on(adapter: EngineComponent) -> bool:
    """Whether it may be at work, in threads, child processes or batches, when a call returns."""
    if getattr(adapter, "acks_later", False):
        return True
    asks = type(adapter).is_idle.__module__
    if asks.endswith(".heronpy_component"):
        return callable(getattr(adapter.users_object, "is_idle", None))
    return not asks.endswith(".storm.component")
