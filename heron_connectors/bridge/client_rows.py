"""The rows of one sink in the client, acked when the client asks for the next row. Pure.

    ROWS ─► waiting ─► given to the client's generator ─► taken (TAKEN to its session)

The numbers of an incarnation of a task rise. After a lost connection the task repeats all rows
whose TAKEN has not arrived; the client recognises repeated rows by their numbers. Waiting rows of a
replaced incarnation are dropped: the tuples of a dead process are not acked, and their spouts emit
them again.
"""

from collections import deque
from collections.abc import Iterable

from msgspec import Struct

from heron_connectors.bridge.frames import EndHello, Part

Task = tuple[int, str]
"""Task and incarnation."""


class WaitingRow(Struct, frozen=True):
    """A row on its way to the client's generator."""

    task: Task
    number: int
    data: bytes


class ClientRows:
    """Rows of one sink. At most `topology.async.capacity` of each of its tasks wait here: a task
    does not send more without TAKEN."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingRow] = deque()
        self._incarnations: dict[int, str] = {}
        self._received: dict[Task, int] = {}
        self._taken: dict[Task, int] = {}
        self._finished: set[int] = set()
        self._tasks = 0
        self.taken_count = self.repeated_count = self.dropped_count = 0

    @property
    def unread(self) -> int:
        """Number of waiting rows."""
        return len(self._waiting)

    @property
    def is_over(self) -> bool:
        """Whether all tasks have finished and all rows are given out."""
        return 0 < self._tasks <= len(self._finished) and not self._waiting

    def attach(self, hello: EndHello) -> None:
        """A task has connected, for the first time or again."""
        task = (hello.task, hello.incarnation)
        self._tasks = hello.tasks
        self._finished = {each for each in self._finished if each != hello.task}
        if self._incarnations.get(hello.task) != hello.incarnation:
            self._replace(hello.task)
        self._incarnations[hello.task] = hello.incarnation
        self._received.setdefault(task, 0)
        self._taken.setdefault(task, 0)

    def _replace(self, task: int) -> None:
        kept = [row for row in self._waiting if row.task[0] != task]
        self.dropped_count += len(self._waiting) - len(kept)
        self._waiting = deque(kept)
        for known in [each for each in self._received if each[0] == task]:
            del self._received[known], self._taken[known]

    def add(self, task: Task, parts: Iterable[Part]) -> list[int]:
        """Rows of a connected task; returns the numbers of rows taken before."""
        again = []
        for number, data in parts:
            if number > self._received[task]:
                self._received[task] = number
                self._waiting.append(WaitingRow(task, number, data))
                continue
            self.repeated_count += 1
            if number <= self._taken[task]:
                again.append(number)
        return again

    def finish(self, task: int) -> None:
        """A task has no more rows."""
        self._finished.add(task)

    def next_row(self) -> WaitingRow | None:
        """The next row for the client, or None."""
        return self._waiting.popleft() if self._waiting else None

    def took(self, row: WaitingRow) -> None:
        """The client has asked for the next row."""
        self.taken_count += 1
        if row.task in self._taken:
            self._taken[row.task] = row.number
