"""Which aggregates there are of the rows of a window, and what is kept of them in between."""

from collections.abc import Mapping
from dataclasses import dataclass

from heron_core.errors import TopologyError

ROWS = "count"
"""Instead of (column, function): how many rows there are."""
_KEPT: Mapping[str, tuple[str, ...]] = {
    "sum": ("sum",),
    "count": ("count",),
    "min": ("min",),
    "max": ("max",),
    "mean": ("sum", "count"),
}
"""What is kept of a group for each function: aggregations of Arrow."""
MERGED_BY = {"sum": "sum", "count": "sum", "min": "min", "max": "max"}

Aggregates = Mapping[str, tuple[str, str] | str]
"""Name of the result -> (column, function), or ROWS."""


@dataclass(frozen=True, slots=True)
class KeptColumn:
    """A column of parts."""

    column: str | None
    """That of the rows that it is made of; None: any."""
    function: str


def kept_columns(aggregates: Aggregates) -> list[KeptColumn]:
    """The columns `a0`, … that these aggregates need; TopologyError for one that is none."""
    columns: list[KeptColumn] = []
    for name, what in aggregates.items():
        if what == ROWS:
            columns.append(KeptColumn(None, "count"))
            continue
        column, function = what if isinstance(what, tuple) and len(what) == 2 else ("", "")
        if not isinstance(column, str) or function not in _KEPT:
            raise TopologyError(
                f"aggregate {name!r} is {what!r}: use (column, function) with one of the "
                f"functions {', '.join(_KEPT)}, or {ROWS!r}"
            )
        columns.extend(KeptColumn(column, each) for each in _KEPT[function])
    return columns
