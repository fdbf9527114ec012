"""Operations on a running topology: requests and their progress.

A request is a node of the state store, so it outlives its command: a request is carried out, or has
not started. Only the process that carries out a request changes its state, along NEXT_STATES.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

from msgspec import Struct, field

from heron_core.records import replace


class OperationKind(StrEnum):
    """Kind of a request."""

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
"""A running request may be restarted: its process may have died and been replaced."""

EXCLUSIVE: Mapping[OperationKind, str] = {
    OperationKind.ACTIVATE: "state",
    OperationKind.DEACTIVATE: "state",
    OperationKind.UPDATE: "update",
    OperationKind.RESTART: "restart",
    OperationKind.UPGRADE: "restart",
    OperationKind.CHECKPOINT: "checkpoint",
}
"""Requests with equal words are carried out in turn, in order of creation. A kill never waits, not
even for a kill with a longer timeout.
"""


CHANGES = frozenset({OperationKind.UPDATE, OperationKind.UPGRADE})
"""Kinds with one operation at a time: a second request is rejected."""
AT, BEGUN = "at", "begun"
"""An argument: time of a scheduled request, in seconds since 1970; and, in its result, the
arrival of the time."""


REQUESTER = "requester"
"""In the execution state: the Requester of the submit."""


class Way(StrEnum):
    """Interface of a request."""

    COMMAND = "command"
    """A command of `heronpy`."""
    REST = "REST"
    PAGE = "page"
    THRIFT = "Thrift"
    """Storm's Nimbus interface."""
    AUTOSCALER = "autoscaler"


class Requester(Struct, frozen=True):
    """The user of a request, its process, and the channel of its arrival."""

    omitted: ClassVar[tuple[str, ...]] = ("address", "way")

    user: str
    host: str
    pid: int
    """Process of the request: a command, or the service that took the request from a client."""
    address: str = ""
    """The client's address: of a REST client or a browser, or where a command's ssh session comes
    from; empty on this machine's own terminal."""
    way: str = Way.COMMAND
    """A Way."""

    def __str__(self) -> str:
        by = "" if self.way == Way.COMMAND else f" by {self.way}"
        address = f" from {self.address}" if self.address else ""
        return f"{self.user}{address}{by} on {self.host} (pid {self.pid})"


class Operation(Struct, frozen=True):
    """A request and its result."""

    kind: OperationKind
    arguments: Mapping[str, Any]
    requester: Requester
    asked_at: str
    """Local time with its offset, for people."""
    state: OperationState = OperationState.PENDING
    progress: str = ""
    """What the operation waits for now."""
    notes: tuple[str, ...] = ()
    """Notes on deviations that did not stop the operation, one line each."""
    reason: str = ""
    """Reason of a failure."""
    result: Mapping[str, Any] = field(default_factory=dict)
    """Progress, from which another process continues."""

    @property
    def is_over(self) -> bool:
        """Whether the request is done or has failed."""
        return not NEXT_STATES[self.state]

    @property
    def waits(self) -> bool:
        """Whether the time of the request has still to come."""
        return AT in self.arguments and BEGUN not in self.result and not self.is_over

    def running(
        self, progress: str = "", result: Mapping[str, Any] | None = None, note: str = ""
    ) -> "Operation":
        """The request in state RUNNING, with new progress and results. ValueError if finished."""
        notes = (*self.notes, note) if note else self.notes
        known = {**self.result, **(result or {})}
        return self._moved(OperationState.RUNNING, progress=progress, notes=notes, result=known)

    def done(self, result: Mapping[str, Any]) -> "Operation":
        """The request in state DONE, with its results."""
        return self._moved(OperationState.DONE, progress="", result={**self.result, **result})

    def failed(self, reason: str) -> "Operation":
        """The request in state FAILED, with its reason."""
        return self._moved(OperationState.FAILED, progress="", reason=reason)

    def _moved(self, state: OperationState, **changes: Any) -> "Operation":
        if state not in NEXT_STATES[self.state]:
            raise ValueError(f"a request in state {self.state} cannot change to {state}")
        return replace(self, state=state, **changes)
