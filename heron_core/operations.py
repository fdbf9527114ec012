"""Operations on a topology that runs: what somebody asked for, and how far it has come.

A request is a node of the state store, so it outlives whoever asked: it is carried out, or it has
not begun. Only whoever carries it out changes its state, along NEXT_STATES.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from heron_core.records import replace


class OperationKind(StrEnum):
    """What can be asked for."""

    KILL = "kill"
    RESTART = "restart"
    UPDATE = "update"
    ACTIVATE = "activate"
    DEACTIVATE = "deactivate"
    CHECKPOINT = "checkpoint"
    UPGRADE = "upgrade"
    CANCEL = "cancel"


class OperationState(StrEnum):
    """How far a request has come."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"


NEXT_STATES: Mapping[OperationState, frozenset[OperationState]] = {
    OperationState.PENDING: frozenset({OperationState.RUNNING, OperationState.FAILED}),
    OperationState.RUNNING: frozenset(
        {OperationState.RUNNING, OperationState.DONE, OperationState.FAILED}
    ),
    OperationState.DONE: frozenset(),
    OperationState.FAILED: frozenset(),
}
"""A running request may be begun again: whoever carried it out may have died, and be replaced."""

EXCLUSIVE: Mapping[OperationKind, str] = {
    OperationKind.ACTIVATE: "state",
    OperationKind.DEACTIVATE: "state",
    OperationKind.UPDATE: "update",
    OperationKind.RESTART: "restart",
    OperationKind.UPGRADE: "restart",
    OperationKind.CHECKPOINT: "checkpoint",
}
"""Requests with the same word here are carried out one after the other, in the order in which they
were asked. A kill waits for nothing, not even for another kill, which may have more patience."""


CHANGES = frozenset({OperationKind.UPDATE, OperationKind.UPGRADE})
"""Of these one at a time is carried out: a second one is refused."""
AT, BEGUN = "at", "begun"
"""An argument: the time, in seconds since 1970, that a request is to wait for; and, in its result,
that it has come."""


class Requester(Struct, frozen=True):
    """Who asked."""

    user: str
    host: str
    pid: int

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (pid {self.pid})"


class Operation(Struct, frozen=True):
    """A request, and what became of it."""

    kind: OperationKind
    arguments: Mapping[str, Any]
    requester: Requester
    asked_at: str
    """Local time with its offset, for people."""
    state: OperationState = OperationState.PENDING
    progress: str = ""
    """What is waited for now."""
    notes: tuple[str, ...] = ()
    """What did not go as usual and did not stop it, a line each."""
    reason: str = ""
    """Why it failed."""
    result: Mapping[str, Any] = field(default_factory=dict)
    """What it has come to so far; whoever takes it over goes on from there."""

    @property
    def is_over(self) -> bool:
        """Whether it is done or has failed."""
        return not NEXT_STATES[self.state]

    @property
    def waits(self) -> bool:
        """Whether its time has still to come."""
        return AT in self.arguments and BEGUN not in self.result and not self.is_over

    def running(
        self, progress: str = "", result: Mapping[str, Any] | None = None, note: str = ""
    ) -> "Operation":
        """It is under way."""
        notes = (*self.notes, note) if note else self.notes
        known = {**self.result, **(result or {})}
        return self._moved(OperationState.RUNNING, progress=progress, notes=notes, result=known)

    def done(self, result: Mapping[str, Any]) -> "Operation":
        """It is carried out."""
        return self._moved(OperationState.DONE, progress="", result={**self.result, **result})

    def failed(self, reason: str) -> "Operation":
        """It is aborted."""
        return self._moved(OperationState.FAILED, progress="", reason=reason)

    def _moved(self, state: OperationState, **changes: Any) -> "Operation":
        if state not in NEXT_STATES[self.state]:
            raise ValueError(f"a request in state {self.state} cannot change to {state}")
        return replace(self, state=state, **changes)
