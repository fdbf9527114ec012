"""What a check has found, and how a list of results is shown."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["ok", "absent", "problem"]
WORD_WIDTH = len("problem")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One thing that topologies need."""

    subject: str
    """What was looked at: `Python`, `open files`."""
    status: Status
    """`absent`: an optional part is not installed, or is not configured."""
    found: str
    """What is there, or what is wrong."""
    remedy: str = ""
    """What to do about an absent part or a problem, as a command or in a few words."""


@dataclass(frozen=True, slots=True)
class Section:
    """Findings of one kind, under a heading."""

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
