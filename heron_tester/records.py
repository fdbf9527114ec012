"""What a tester has seen: emits, deliveries, acks, fails, errors and log lines, in order."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from heron_api.user_errors import users_traceback


@dataclass(frozen=True, slots=True)
class Emitted:
    """One tuple that a component emitted, whether or not anybody reads its stream."""

    values: list[Any]
    component: str
    stream: str
    task: int
    """Of the emitter."""
    anchors: tuple[Any, ...] = ()
    """The input tuples it is anchored to; a spout's has none."""
    tup_id: Any = None
    """What the spout gave; a bolt's has none."""
    direct_task: int | None = None
    time: float = 0.0
    """As time.time() said."""


@dataclass(frozen=True, slots=True)
class Received:
    """One tuple as a bolt's `process` got it."""

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
    """A tuple id that a spout was told of, or an input tuple that a bolt acked or failed."""

    what: Any
    component: str
    task: int
    acked: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """An exception of user code, or a line that it logged as an error."""

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
    """One line that a component logged."""

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
        """Whether this exception was just taken down: it is reported more than once."""
        last = self.problems[-1:]
        return any(each.error is error and (each.provoked or not provoked) for each in last)

    def raised(
        self, component: str, task: int, where: str, error: BaseException, provoked: bool = False
    ) -> None:
        """Take an exception down."""
        text = users_traceback(error)
        self.problems.append(Problem(component, task, where, error, text, provoked))


def records_of(records: Iterable[Record], component: str, task: int | None = None) -> list[Record]:
    """Those of one component, or of one of its tasks."""
    return [
        each
        for each in records
        if each.component == component and (task is None or each.task == task)
    ]


def snapshot(values: Sequence[Any]) -> list[Any]:
    """The values as they are now, whatever user code does to them later."""
    try:
        return copy.deepcopy(list(values))
    except Exception:  # only its own serializer knows how to copy such a value
        return list(values)
