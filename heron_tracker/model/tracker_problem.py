"""One problem of a topology, with its remedy."""

from dataclasses import dataclass
from enum import StrEnum
from re import compile as pattern
from typing import NamedTuple


class ProblemKind(StrEnum):
    """Kinds of problems, the worst first."""

    OVER = "over"
    CANNOT_START = "cannot start"
    DOWN = "down"
    STUCK = "stuck"
    RESTORE = "restore"
    SKEWED = "skewed"
    BOTTLENECK = "bottleneck"
    CRASHED = "crashed"
    MEMORY = "memory"
    UNSETTLED = "unsettled"
    FAILING = "failing"
    CHECKPOINT = "checkpoint"
    LOST = "lost"
    WATERMARK = "watermark"
    SILENT = "silent"
    METRICS = "metrics"


CAUSE_MAX = 80
"""Characters of a label: a text of several lines, or a path, is for the sentence."""

RANKS = {kind: rank for rank, kind in enumerate(ProblemKind)}


class ProblemCause(NamedTuple):
    """Common part of problems in one Prometheus series."""

    kind: str
    component: str = ""
    """Empty for the whole topology."""
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerProblem:
    """One problem."""

    kind: ProblemKind
    component: str
    """Empty for the whole topology."""
    instance: str = ""
    """component[index], for a problem of an instance."""
    what: str
    """The problem, in one clause."""
    remedy: str
    """The remedy, in one clause."""
    cause: str = ""
    """The cause, as a label of a metric: a few constant words without numbers (`label`), because
    each value is a series of Prometheus."""
    weight: float = 0.0
    """Order within a kind: heavier problems first."""

    @property
    def sentence(self) -> str:
        """Both clauses."""
        return f"{self.what}; {self.remedy}"

    @property
    def label(self) -> ProblemCause:
        """The series that counts the problem."""
        return ProblemCause(self.kind.value, self.component, self.cause)

    @property
    def key(self) -> tuple[str, str]:
        """Identity of the problem over time."""
        return (self.kind.value, self.instance or self.component)


_DIGITS = pattern(r"\d+")
_PATH = pattern(r"\S*/\S+")


def label(text: str) -> str:
    """A text as a label: numbers and paths are replaced, because they differ between samples and
    topologies."""
    return _DIGITS.sub("#", _PATH.sub("PATH", " ".join(text.split())))[:CAUSE_MAX]


def error_label(traceback: str) -> str:
    """The class of the exception on a traceback's last line; the message is too variable."""
    lines = traceback.strip().splitlines()
    return lines[-1].partition(":")[0][:CAUSE_MAX] if lines else ""


def ends_of(text: str, most: int) -> str:
    """A text shortened to `most` characters: its start, with the subject, and a longer part of its
    end, with the reason.
    """
    if len(text) <= most:
        return text
    first = most // 3
    return f"{text[:first]} … {text[first + 3 - most :]}"
