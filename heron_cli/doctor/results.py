"""Results of checks and their display."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["ok", "absent", "problem"]
WORD_WIDTH = len("problem")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result for one requirement."""

    subject: str
    """The subject: `Python`, `open files`."""
    status: Status
    """`absent`: an optional part is not installed, or is not configured."""
    found: str
    """The detected value, or the problem."""
    remedy: str = ""
    """Remedy for an absent part or a problem, as a command or in a few words."""


@dataclass(frozen=True, slots=True)
class Section:
    """Results of one kind, under a heading."""

    title: str
    results: Sequence[CheckResult]


def problems(sections: Iterable[Section]) -> int:
    """The number of problems."""
    return sum(each.status == "problem" for section in sections for each in section.results)


def lines(section: Section) -> list[str]:
    """A section for the terminal."""
    return [section.title, *map(_line, section.results), ""]


def as_json(sections: Iterable[Section]) -> list[dict[str, Any]]:
    """All results for another program: section, subject, status, found, remedy."""
    return [
        {"section": section.title, **asdict(each)}
        for section in sections
        for each in section.results
    ]


def _line(each: CheckResult) -> str:
    remedy = f": {each.remedy}" if each.remedy else ""
    return f"  {each.status:<{WORD_WIDTH}}  {each.subject}: {each.found}{remedy}"
