"""Completeness of a request in a task. Pure.

Each task that emits tuples of a request counts the tuples sent to each task of the next bolt,
and sends each count when its own input of the request is complete. A task's input is complete
when every source has sent a count, and as many tuples are acked as the counts add up to. The
task with the request's only tuple has no source: the ack of the tuple completes the request. A
last bolt with a finish callback also waits for an id, so that requests without tuples in the
task are finished.

Counts and ids are acked on completion, so the tuple tree of the request in the spout completes
only after every count has arrived; if a tuple fails, the counts fail, and the request with them.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Any

from msgspec import Struct, field


class TupleRole(Enum):
    """Role of a tuple in the coordination."""

    REGULAR = "one of the request"
    NUMBER = "how many a source has sent"
    ID = "the request exists"


class TrackedRequest(Struct):
    """State of one request in a task."""

    has_id: bool
    reports: int = 0
    expected: int = 0
    acked: int = 0
    failed: bool = False
    sent: Counter[int] = field(default_factory=Counter)
    """task -> tuples of the request sent to the task"""
    delayed: list[Any] = field(default_factory=list)
    """Counts and ids to be acked on completion."""

    def is_complete(self, sources: int) -> bool:
        """Whether the request is complete, given the number of counting tasks."""
        if not self.has_id:
            return False
        return sources == 0 or (self.reports == sources and self.acked == self.expected)


class CoordinationShape(Struct, frozen=True):
    """The bolt's neighbours in the coordination."""

    sources: tuple[tuple[str, bool], ...] = ()
    """Components that send counts, and whether one task of a component suffices per request
    (else all)."""
    id_source: tuple[str, str] | None = None
    """Component and stream of the ids of all requests."""

    def role_of(self, component: str, stream: str, number_stream: str) -> TupleRole:
        """Role of a tuple from the component."""
        if (component, stream) == self.id_source:
            return TupleRole.ID
        if self.sources and stream == number_stream:
            return TupleRole.NUMBER
        return TupleRole.REGULAR

    def delays(self, role: TupleRole) -> bool:
        """Whether a tuple of this role is acked when the request is complete."""
        return role is (TupleRole.NUMBER if self.id_source is None else TupleRole.ID)

    def reports(self, tasks_of: Any) -> int:
        """Number of counts expected per request."""
        return sum(1 if single else len(tasks_of(name)) for name, single in self.sources)


def shape_to_json(shape: CoordinationShape) -> dict[str, Any]:
    """For the config of a component."""
    return {"sources": [list(each) for each in shape.sources], "id": shape.id_source}


def shape_of(config: dict[str, Any]) -> CoordinationShape:
    """Parse the config."""
    sources: Iterable[Any] = config["sources"]
    id_source = config["id"]
    return CoordinationShape(
        tuple((str(name), bool(single)) for name, single in sources),
        None if id_source is None else (str(id_source[0]), str(id_source[1])),
    )
