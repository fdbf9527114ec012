"""State under at-least-once delivery: each instance saves its state periodically.

The states are not aligned to one moment of the topology. A bolt's state is saved when due. A
spout's state is valid only after all earlier emits are acked: otherwise a successor would skip
unprocessed tuples, which would be lost.
"""

from collections.abc import Callable, Set
from typing import Protocol

from heron_core.errors import HeronError
from heron_core.flight_records import RecordKind
from heron_core.state.file_snapshot import StateBytes
from heron_instance.events import Instruction, SaveState
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.spout import SpoutDriver
from heron_instance.runtime.environment import NewestStateStore
from heron_instance.runtime.factory import ReadyInstance

NOT_SAVED = "its state cannot be serialised (the log of the instance says why)"
_NOTHING: Set[int] = frozenset()


class PeriodicSavingHost(Protocol):
    """Required parts of the instance's core."""

    instance: ReadyInstance
    driver: ComponentDriver

    def enqueue(self, instruction: Instruction) -> None:
        """Carry out the instruction before the next step of the main loop."""


class PeriodicSaving:
    """Schedule of an instance's saves; all methods except `is_due` run in the main thread."""

    def __init__(
        self, host: PeriodicSavingHost, newest: NewestStateStore, interval_secs: float, now: float
    ) -> None:
        self._host = host
        self._number = newest.latest
        self._interval_secs = interval_secs
        self._next_at = now + interval_secs
        self._waiting: tuple[int, StateBytes] | None = None
        """A spout's state that waits for the acks of covered tuples."""
        self._roots: Set[int] = _NOTHING
        """Roots of the covered tuples."""
        self._failed = 0
        """Number of failed tuples at the time of the saved state."""
        self._awaited: tuple[int, Callable[[str], None]] | None = None
        """Number of the requested state, and the receiver of a failure reason."""
        self.rests = False
        """The process is not in a plan yet, or may be ended by an update: a successor must not
        start from its state."""

    def is_due(self, now: float) -> bool:
        """Whether work is due; from any thread."""
        return not self.rests and (self._waiting is not None or now >= self._next_at)

    def save(self, now: float) -> None:
        """Save the state, or check whether a saved state has become valid."""
        if self.rests:
            return
        if self._waiting is not None:
            self._poll_waiting()
        elif now >= self._next_at:
            self._next_at = now + self._interval_secs
            self._take()

    def _poll_waiting(self) -> None:
        driver, waiting = self._host.driver, self._waiting
        assert isinstance(driver, SpoutDriver)
        if driver.metrics.failed != self._failed:
            self._waiting = None  # replayed later, which the state does not include
        elif waiting is not None and not self._roots & driver.collector.pending.keys():
            self._waiting = None
            self._host.enqueue(SaveState(*waiting))

    def _take(self) -> None:
        driver = self._host.driver
        taken = self._taken()
        if taken is None:
            return
        pending = driver.collector.pending.keys() if isinstance(driver, SpoutDriver) else _NOTHING
        if pending:
            self._waiting, self._roots, self._failed = taken, set(pending), driver.metrics.failed
        else:
            self._host.enqueue(SaveState(*taken))

    def next_number(self) -> int:
        """A number not used by earlier states of the task."""
        self._number += 1
        return self._number

    def _taken(self) -> tuple[int, StateBytes] | None:
        """The state with its number; None if the save fails."""
        instance, number = self._host.instance, self.next_number()
        try:
            instance.adapter.pre_save(str(number))
            state = instance.state.deferred_snapshot()
        except Exception:
            self._host.driver.user_error("saving the state")
            return None
        if self._host.driver.recorder is not None:
            self._host.driver.recorder.saved(number, state)
        return number, state

    def last(self) -> tuple[int, StateBytes] | None:
        """At a graceful end: the state for the successor; None if the previous saved state is to be
        used."""
        driver = self._host.driver
        is_pending = isinstance(driver, SpoutDriver) and bool(driver.collector.pending)
        return None if is_pending or self.rests else self._taken()

    def save_now(self, then: Callable[[str], None]) -> None:
        """Save a state at once; `then` receives the reason of a failure, or an empty text."""
        self._waiting = None
        taken = self._taken()
        if taken is None:
            then(NOT_SAVED)
            return
        self._awaited = taken[0], then
        self._host.enqueue(SaveState(*taken))

    def reported(self, number: int, failure: str) -> None:
        """A state is saved, or could not be."""
        driver, awaited = self._host.driver, self._awaited
        if awaited is not None and awaited[0] == number:
            self._awaited = None
            awaited[1](failure)
        try:
            if failure:
                raise HeronError(failure)
            if driver.recorder is not None:
                driver.recorder.step(RecordKind.COMPLETED, number=number)
            self._host.instance.adapter.post_save(str(number))
        except HeronError as error:
            driver.record_error(f"its state {number} is not saved", str(error))
        except Exception:
            driver.user_raised("post_save")


def made_saving(
    host: PeriodicSavingHost, newest: NewestStateStore | None, now: float
) -> PeriodicSaving | None:
    """None for a component without periodic saves."""
    if newest is None or not host.instance.saves_itself:
        return None
    return PeriodicSaving(host, newest, host.driver.options.checkpoint_interval_secs, now)
