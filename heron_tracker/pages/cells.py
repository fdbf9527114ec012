"""Tables as values: text, link and style of cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heron_tracker.model.tracker_problem import ProblemKind

GOOD, BAD, WARNING, QUIET = "good", "bad", "warning", "quiet"
"""Tones of a cell; the style sheet has a colour for each, light and dark."""
TONES: Mapping[ProblemKind, str] = {
    ProblemKind.OVER: BAD,
    ProblemKind.CANNOT_START: BAD,
    ProblemKind.DOWN: BAD,
    ProblemKind.STUCK: BAD,
    ProblemKind.RESTORE: BAD,
    ProblemKind.CRASHED: BAD,
    ProblemKind.SKEWED: WARNING,
    ProblemKind.BOTTLENECK: WARNING,
    ProblemKind.MEMORY: WARNING,
    ProblemKind.UNSETTLED: BAD,
    ProblemKind.FAILING: BAD,
    ProblemKind.CHECKPOINT: WARNING,
    ProblemKind.LOST: WARNING,
    ProblemKind.WATERMARK: WARNING,
    ProblemKind.SILENT: QUIET,
    ProblemKind.METRICS: QUIET,
}


@dataclass(frozen=True, slots=True)
class PageColumn:
    """One column of a table."""

    name: str
    label: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class PageCell:
    """One cell: `value` is the sort key."""

    value: float | str
    text: str = ""
    """What is shown; the value itself if empty."""
    href: str = ""
    tone: str = ""
    share: float | None = None
    """Of a bar behind the text, 0 to 1."""


@dataclass(frozen=True, slots=True)
class PageRow:
    """One row: `key` is constant while the table is shown."""

    key: str
    cells: Mapping[str, PageCell]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A whole table."""

    columns: Sequence[PageColumn]
    rows: Sequence[PageRow] = field(default_factory=tuple)


def as_row(row: PageRow) -> dict[str, Any]:
    """The row in the form of the browser's table; empty cells are left out."""
    fields: dict[str, Any] = {"key": row.key}
    for name, cell in row.cells.items():
        fields[name] = cell.value
        fields[f"{name}.text"] = cell.text or str(cell.value)
        if cell.href:
            fields[f"{name}.href"] = cell.href
        if cell.tone:
            fields[f"{name}.tone"] = cell.tone
        if cell.share is not None:
            fields[f"{name}.width"] = f"{min(max(cell.share, 0), 1):.0%}"
    return fields


def as_column(column: PageColumn) -> dict[str, Any]:
    """The column as the table of the browser takes it."""
    return {
        "name": column.name, "label": column.label, "field": column.name, "sortable": True,
        "align": "right" if column.is_number else "left",
    }  # fmt: skip
