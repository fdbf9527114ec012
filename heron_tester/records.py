"""What a tester has seen: emits, deliveries, acks, fails, errors and log lines, in order."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from heron_api.user_errors import users_traceback


@dataclass(frozen=True, slots=True)
class Emitted:
    """One tuple emitted by a component, with or without readers of the stream.

    Example:

        with TopologyTester(Orders) as tester:
            tester.run_spouts()
            assert [each.values for each in tester.emitted("total")] == [[42]]
    """

    values: list[Any]
    component: str
    stream: str
    task: int
    """Of the emitter."""
    anchors: tuple[Any, ...] = ()
    """Input tuples as anchors; empty for a spout."""
    tup_id: Any = None
    """The spout's tuple id; None for a bolt."""
    direct_task: int | None = None
    time: float = 0.0
    """As time.time() said."""


@dataclass(frozen=True, slots=True)
class Received:
    """One input tuple of a bolt's `process`."""

    values: list[Any]
    component: str
    """Of the bolt; where the tuple came from is the source."""
    task: int
    source: str
    stream: str
    source_task: int | None
    time: float


@dataclass(frozen=True, slots=True)
class Settled:
    """A tuple id settled for a spout, or an input tuple acked or failed by a bolt."""

    what: Any
    component: str
    task: int
    acked: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """An exception of user code, or a line logged as an error."""

    component: str
    task: int
    where: str
    """The method that raised, or "log"."""
    error: BaseException | None
    text: str
    """The traceback, or the line."""
    provoked: bool = False
    """The test asked for it."""

    def __str__(self) -> str:
        return f"{self.component}[{self.task}] {self.where}:\n{self.text.rstrip()}"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One log line of a component."""

    component: str
    task: int
    level: str
    text: str


Record = TypeVar("Record", Emitted, Received, Settled, Problem, LogLine)


@dataclass(slots=True)
class Journal:
    """All records of one tester."""

    emitted: list[Emitted] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """Components whose problems the test has asked for."""

    def unseen(self) -> list[Problem]:
        """Exceptions that the test neither asked for nor looked at."""
        return [
            each
            for each in self.problems
            if each.error is not None and not each.provoked and each.component not in self.seen
        ]

    def ends_with(self, error: BaseException, provoked: bool = False) -> bool:
        """Whether the exception was recorded last: an exception may be reported more than once."""
        last = self.problems[-1:]
        return any(each.error is error and (each.provoked or not provoked) for each in last)

    def raised(
        self, component: str, task: int, where: str, error: BaseException, provoked: bool = False
    ) -> None:
        """Take an exception down."""
        text = users_traceback(error)
        self.problems.append(Problem(component, task, where, error, text, provoked))


def records_of(records: Iterable[Record], component: str, task: int | None = None) -> list[Record]:
    """Records of one component, or of one of its tasks."""
    return [
        each
        for each in records
        if each.component == component and (task is None or each.task == task)
    ]


def snapshot(values: Sequence[Any]) -> list[Any]:
    """A copy of the present values, safe from later changes by user code."""
    try:
        return copy.deepcopy(list(values))
    except Exception:  # only its own serializer knows how to copy such a value
        return list(values)
