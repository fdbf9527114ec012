"""Restore of a checkpoint: instances with their state, members, unknown processes.

Whenever the plan gets a new epoch, all instances are restored from the newest completed
checkpoint. Until all have reported their state as restored, emits and processing are blocked
(Restore.members is None). Then the plan names the processes with restored state, and only the
members continue. A later process, started after a failure, lacks state of the moment: so all are
restored once more. Any report of a non-member shows the situation: too late, restored, or unable
to restore.

The newest checkpoint is always used: on completion, sinks commit their data, and a restore of an
older checkpoint would commit again. If its states are unavailable, all wait and retry, without
limit, until the store is back or an operator intervenes (`heronpy restore`, which makes an older
checkpoint the newest).

TRANSITIONS is the table of the states, which docs/ARCHITECTURE.md draws. A `wanted` restore
waits for the registrations of all stream managers in any state, and starts with their plan.
"""

from collections.abc import Set
from enum import Enum
from typing import assert_never

from heron_core.plans import Restore
from heron_core.records import replace
from heron_core.transitions import MachineState, Transitions
from heron_core.wire.messages import Restored, RestoreFailed, RestoreTrouble

TRIES = 3
"""Failures in a row after which a restore is reported as a problem; fewer may be transient."""
RETRY_SECS = 0.5
"""Pause after the first failure, doubled after each further failure."""
RETRY_SECS_MAX = 5.0
"""A store that is back is not noticed later; each try resets every instance, so not earlier."""


class RestoreState(MachineState):
    """How far the restore is with which the newest plan begins."""

    RESTORING = "instances take the states of the checkpoint, all wait"
    BACKING_OFF = "an instance could not have its state, all wait for the next try"
    RELEASED = "data flows"


TRANSITIONS = Transitions(
    "a restore",
    begins={
        RestoreState.RESTORING: "the topology starts, or a master takes over during a restore",
        RestoreState.RELEASED: "a master takes over while data flows",
    },
    after={
        RestoreState.RESTORING: {
            RestoreState.RELEASED: "all instances have their states",
            RestoreState.BACKING_OFF: "an instance cannot restore its state",
            RestoreState.RESTORING: "a new epoch: once more, with the newest checkpoint",
        },
        RestoreState.BACKING_OFF: {
            RestoreState.RESTORING: "the pause is over, or a new epoch for another reason",
            RestoreState.RELEASED: "all instances have their states after all",
        },
        RestoreState.RELEASED: {
            RestoreState.RESTORING: (
                "a new epoch: a process was replaced, the plan is switched, or `heronpy restore`"
            ),
        },
    },
)


class RestoreProgress(Enum):
    """What an instance's answer changes."""

    NOTHING = "nothing"
    RELEASED = "released"
    """All have the state: they may go on."""
    REPLACED = "replaced"
    """A process has come that has no state of this moment: all are to be restored."""
    FAILED = "failed"
    """A state cannot be restored: the first failure, or one with a new reason."""


class Recovery:
    """The restore with which the newest plan begins."""

    def __init__(self, restore: Restore | None) -> None:
        """`restore`: of a previous master's stored plan."""
        self.restore = restore or Restore(0)
        self.state = TRANSITIONS.begin(
            RestoreState.RESTORING if self.restore.members is None else RestoreState.RELEASED
        )
        self.restored: dict[int, int] = {}
        """task -> incarnation, for processes with restored state"""
        self.wanted = ""
        """Why all are to be restored, as soon as there is a plan for that; empty if they are
        not."""
        self.tries = 0
        """Failed attempts in a row."""
        self.trouble = RestoreTrouble.AWAY
        """Kind of the last failure of a restore."""
        self._reason = ""
        self._retry_at: float | None = None

    @property
    def failure(self) -> str:
        """Reason of the last failure after TRIES failures in a row; empty before."""
        return self._reason if self.tries >= TRIES else ""

    @property
    def failure_of_try(self) -> str:
        """Why the present try does not go well; empty as long as it may."""
        return self._reason if self.state is RestoreState.BACKING_OFF else ""

    @property
    def is_released(self) -> bool:
        """Whether data flows."""
        return self.state is RestoreState.RELEASED

    def _enter(self, to: RestoreState) -> None:
        """The only way from one state to another."""
        self.state = TRANSITIONS.follow(self.state, to)

    def begin(self, newest: int) -> Restore:
        """A new epoch begins, with the newest completed checkpoint."""
        if newest != self.restore.checkpoint:
            self.tries = 0
        self._enter(RestoreState.RESTORING)
        self.restore, self.restored = Restore(newest), {}
        self.wanted, self._retry_at = "", None
        return self.restore

    def take(
        self, message: Restored | RestoreFailed, epoch: int, tasks: Set[int], now: float
    ) -> RestoreProgress:
        """An instance's process reports whether its state is restored, for a plan of `epoch`
        with the tasks."""
        if message.task not in tasks:
            return RestoreProgress.NOTHING
        match message:
            case Restored():
                return self._take_restored(message, epoch, tasks)
            case RestoreFailed():
                return self._take_failure(message, epoch, now)
            case _:
                assert_never(message)

    def _take_restored(self, message: Restored, epoch: int, tasks: Set[int]) -> RestoreProgress:
        task, who = message.task, message.incarnation
        members = self.restore.members
        if members is not None:
            is_replaced = message.epoch in (0, epoch) and members.get(task) != who
            return RestoreProgress.REPLACED if is_replaced else RestoreProgress.NOTHING
        if message.epoch != epoch:
            return RestoreProgress.NOTHING
        self.restored[task] = who
        if self.restored.keys() < tasks:
            return RestoreProgress.NOTHING
        self._enter(RestoreState.RELEASED)
        self.restore = replace(self.restore, members=dict(self.restored))
        self._retry_at = None
        return RestoreProgress.RELEASED

    def _take_failure(self, message: RestoreFailed, epoch: int, now: float) -> RestoreProgress:
        if message.epoch != epoch:
            return RestoreProgress.NOTHING
        if self.state is RestoreState.RELEASED:
            return RestoreProgress.REPLACED
        self.restored.pop(message.task, None)  # of an earlier process
        if self.state is RestoreState.BACKING_OFF:
            return RestoreProgress.NOTHING
        self._enter(RestoreState.BACKING_OFF)
        trouble = _trouble_of(message)
        is_news = not self.tries or trouble is not self.trouble
        self.tries += 1
        self._reason, self.trouble = message.reason, trouble
        self._retry_at = now + min(RETRY_SECS_MAX, RETRY_SECS * 2.0 ** min(self.tries - 1, 10))
        return RestoreProgress.FAILED if is_news else RestoreProgress.NOTHING

    def take_tries(self) -> int:
        """How many tries have failed, of a restore that is done."""
        tries, self.tries = self.tries, 0
        return tries

    def is_retry_due(self, now: float) -> bool:
        """Whether all are to try again, after some could not have their state."""
        return self._retry_at is not None and now >= self._retry_at

    def validate(self, tasks: Set[int], newest: int) -> None:
        """AssertionError if something holds that never may; `newest`: of the completed ones."""
        assert self.restored.keys() <= tasks, "a stranger has the state"
        members = self.restore.members
        assert members is None or members.keys() == tasks, "members that do not match the plan"
        assert (members is None) is not self.is_released, f"{self.state.name}, members: {members}"
        is_backing_off = self.state is RestoreState.BACKING_OFF
        assert is_backing_off is not (self._retry_at is None), (
            f"{self.state.name}: {self._retry_at}"
        )
        if not self.wanted:
            at = self.restore.checkpoint
            assert at <= newest, f"all started from checkpoint {at}, but the newest is {newest}"
            assert not self.restored or members is not None or at == newest, (
                f"checkpoint {at} is being restored, and {newest} is complete"
            )


def _trouble_of(message: RestoreFailed) -> RestoreTrouble:
    try:
        return RestoreTrouble(message.trouble)
    except ValueError:  # whoever has the key may send any message
        return RestoreTrouble.AWAY
