"""State in a topology that runs at least once: each instance saves its own, now and then.

No barrier joins these states to one moment of the topology. A bolt's is what it is when it is due.
A spout's counts only when all that it had emitted until then is acked: else its successor would go
on behind tuples that nobody has processed, and nobody would emit them again.
"""

from collections.abc import Set
from typing import Protocol

from heron_core.errors import HeronError
from heron_core.state.file_snapshot import StateBytes
from heron_core.wire.messages import CheckpointFailed, CheckpointStored
from heron_instance.control_core import Identity
from heron_instance.events import Instruction, SaveState, SendControl
from heron_instance.input.driver import ComponentDriver
from heron_instance.input.spout import SpoutDriver
from heron_instance.runtime.environment import NewestState
from heron_instance.runtime.factory import Instance

NOT_SAVED = "it cannot be serialised (the log of the instance says why)"
_NOTHING: Set[int] = frozenset()


class Host(Protocol):
    """What is needed of the instance's core."""

    identity: Identity
    instance: Instance
    driver: ComponentDriver

    def do_first(self, instruction: Instruction) -> None:
        """Carry this out before the next step of the main loop."""


class PeriodicSaving:
    """When an instance saves its state; all but `is_due` in the main thread."""

    def __init__(self, host: Host, newest: NewestState, interval_secs: float, now: float) -> None:
        self._host = host
        self._number = newest.latest
        self._interval_secs = interval_secs
        self._next_at = now + interval_secs
        self._held: tuple[int, StateBytes] | None = None
        """A spout's, that waits for the acks of what it covers."""
        self._roots: Set[int] = _NOTHING
        """What these are."""
        self._failed = 0
        """How many tuples had failed when it was taken."""
        self._update: tuple[int, int] | None = None
        """The number of the state that an update waits for, and that of the update."""
        self._rests = False
        """An update may end this process, and then the newest state is its successor's."""

    def is_due(self, now: float) -> bool:
        """Whether there is something to do; from any thread."""
        return not self._rests and (self._held is not None or now >= self._next_at)

    def save(self, now: float) -> None:
        """Take the state, or look whether the one that was taken counts by now."""
        if self._rests:
            return
        if self._held is not None:
            self._look_at_held()
        elif now >= self._next_at:
            self._next_at = now + self._interval_secs
            self._take()

    def _look_at_held(self) -> None:
        driver, held = self._host.driver, self._held
        assert isinstance(driver, SpoutDriver)
        if driver.metrics.failed != self._failed:
            self._held = None  # it will be emitted again, which this state knows nothing of
        elif held is not None and not self._roots & driver.collector.pending.keys():
            self._held = None
            self._host.do_first(SaveState(*held))

    def _take(self) -> None:
        driver = self._host.driver
        taken = self._taken()
        if taken is None:
            return
        pending = driver.collector.pending.keys() if isinstance(driver, SpoutDriver) else _NOTHING
        if pending:
            self._held, self._roots, self._failed = taken, set(pending), driver.metrics.failed
        else:
            self._host.do_first(SaveState(*taken))

    def _taken(self) -> tuple[int, StateBytes] | None:
        """The state with its number; None if it cannot be saved."""
        instance = self._host.instance
        self._number += 1
        try:
            instance.adapter.pre_save(str(self._number))
            return self._number, instance.state.deferred_snapshot()
        except Exception:
            self._host.driver.user_error("saving the state")
            return None

    def last(self) -> tuple[int, StateBytes] | None:
        """At an end in good order: the state that a successor is to begin with; None if it is to be
        the one before."""
        driver = self._host.driver
        is_pending = isinstance(driver, SpoutDriver) and bool(driver.collector.pending)
        return None if is_pending or self._rests else self._taken()

    def save_for_update(self, update: int) -> None:
        """The topology is scaled, and nothing is in flight: whoever goes on elsewhere with this
        task begins with the state of now. No other is saved until there is another plan."""
        driver = self._host.driver
        if isinstance(driver, SpoutDriver) and driver.collector.pending:
            return  # their acks are on the way; the master asks again
        self._held, self._rests = None, False
        taken = self.last()
        if taken is None:
            self._tell(CheckpointFailed(self._host.identity.task, update, NOT_SAVED))
            return
        self._update, self._rests = (taken[0], update), True
        self._host.do_first(SaveState(*taken))

    def go_on(self) -> None:
        """This process stays: there is another plan."""
        self._rests = False

    def _tell(self, answer: CheckpointFailed | CheckpointStored) -> None:
        self._host.do_first(SendControl(answer))

    def reported(self, number: int, failure: str) -> None:
        """A state is saved, or could not be."""
        driver, task = self._host.driver, self._host.identity.task
        if self._update is not None and self._update[0] == number:
            update, self._update = self._update[1], None
            failed = CheckpointFailed(task, update, failure)
            self._tell(failed if failure else CheckpointStored(task, update, 0))
        try:
            if failure:
                raise HeronError(failure)
            self._host.instance.adapter.post_save(str(number))
        except HeronError as error:
            driver.record_error(f"its state {number} is not saved", str(error))
        except Exception:
            driver.user_raised("post_save")
