"""When a task has all tuples of a request. Pure.

Each task that emits tuples of a request counts how many went to each task of the next bolt, and
tells that task the number when it has all of the request itself. A task has all of a request when
every source has told its number, and as many tuples were acked as these numbers are together. The
task that gets the request's only tuple has no source: it has all when that one is acked. A last
bolt that finishes each request asks for an id as well, so that it finishes the requests of which no
tuple comes to it.

What is kept until then is acked then, so that the tree of the request's tuple in the spout is
complete only when every number has come; if a tuple fails, these fail, and the request with them.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Any

from msgspec import Struct, field


class TupleRole(Enum):
    """What a tuple is to the coordination."""

    REGULAR = "one of the request"
    NUMBER = "how many a source has sent"
    ID = "the request exists"


class TrackedRequest(Struct):
    """What a task knows of one request."""

    has_id: bool
    reports: int = 0
    expected: int = 0
    acked: int = 0
    failed: bool = False
    sent: Counter[int] = field(default_factory=Counter)
    """task -> tuples of the request that it was sent"""
    delayed: list[Any] = field(default_factory=list)
    """Numbers and ids that are acked at the end."""

    def is_complete(self, sources: int) -> bool:
        """Whether all of the request is here, with so many tasks that tell numbers."""
        if not self.has_id:
            return False
        return sources == 0 or (self.reports == sources and self.acked == self.expected)


class CoordinationShape(Struct, frozen=True):
    """How a bolt stands among its neighbours."""

    sources: tuple[tuple[str, bool], ...] = ()
    """Components that tell numbers, and whether one task of it does for each request (else all)."""
    id_source: tuple[str, str] | None = None
    """Component and stream of the ids of all requests."""

    def role_of(self, component: str, stream: str, number_stream: str) -> TupleRole:
        """Of a tuple that comes from there."""
        if (component, stream) == self.id_source:
            return TupleRole.ID
        if self.sources and stream == number_stream:
            return TupleRole.NUMBER
        return TupleRole.REGULAR

    def delays(self, role: TupleRole) -> bool:
        """Whether a tuple of this role is acked when the request is complete."""
        return role is (TupleRole.NUMBER if self.id_source is None else TupleRole.ID)

    def reports(self, tasks_of: Any) -> int:
        """How many numbers come for each request."""
        return sum(1 if single else len(tasks_of(name)) for name, single in self.sources)


def shape_to_json(shape: CoordinationShape) -> dict[str, Any]:
    """For the config of a component."""
    return {"sources": [list(each) for each in shape.sources], "id": shape.id_source}


def shape_of(config: dict[str, Any]) -> CoordinationShape:
    """Of what a config has."""
    sources: Iterable[Any] = config["sources"]
    id_source = config["id"]
    return CoordinationShape(
        tuple((str(name), bool(single)) for name, single in sources),
        None if id_source is None else (str(id_source[0]), str(id_source[1])),
    )
