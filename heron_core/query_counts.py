"""What has become of live queries: counted by a topology master since it began, and by each stream
manager and instance, for the questions about one key that clients send there."""

from collections.abc import Iterable, Mapping
from typing import Self

from msgspec import Struct, structs

from heron_core.wire.query_messages import QueryOutcome

MEANINGS = {
    "asked": "Queries taken; each ends as one of the next seven, or is under way",
    "answered": "Answered by all instances",
    "refused": "For a state that does not exist, or cannot be queried",
    "restarting": "An instance had no state at the time: it was starting, or being restored",
    "too_large": "The answer was above the limit",
    "failed": "Failed because an instance could not read its state",
    "moved": "The component was scaled meanwhile",
    "timed_out": "An instance had not answered in time",
    "overloaded": "Not taken, because 64 were in flight",
    "late": "Late answers, for queries that had ended",
}
"""Name -> what is counted."""
COUNTED = {
    QueryOutcome.ANSWERED: "answered",
    QueryOutcome.STATELESS: "refused",
    QueryOutcome.UNKNOWN: "refused",
    QueryOutcome.OTHER_KIND: "refused",
    QueryOutcome.RESTARTING: "restarting",
    QueryOutcome.TOO_LARGE: "too_large",
    QueryOutcome.FAILED: "failed",
}
"""Outcome of a question to one instance -> its count."""


class QueryCounts(Struct):
    """See MEANINGS."""

    asked: int = 0
    answered: int = 0
    refused: int = 0
    restarting: int = 0
    too_large: int = 0
    failed: int = 0
    moved: int = 0
    timed_out: int = 0
    overloaded: int = 0
    late: int = 0

    def count(self, name: str) -> None:
        """One more of this name."""
        setattr(self, name, getattr(self, name) + 1)

    def with_those_of(self, others: Iterable[Mapping[str, int]]) -> Self:
        """The sums with counts by name; names that are not of MEANINGS are ignored."""
        everyone = [structs.asdict(self), *others]
        return type(self)(
            **{name: sum(each.get(name, 0) for each in everyone) for name in MEANINGS}
        )

    def by_name(self) -> dict[str, int]:
        """Those that are not 0."""
        return {name: number for name, number in structs.asdict(self).items() if number}
