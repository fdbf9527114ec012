"""Lines of a text file as tuples."""

import os
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from heron_core.errors import ComponentError
from heronpy_compat.api.spout.spout import Spout

if TYPE_CHECKING:
    from heronpy_compat.api.topology_context import TopologyContext

PATH = "library.file.path"
"""Config key: the file, relative to the directory where the topology is started."""


class FileSpout(Spout):
    """Emits each line of a text file (UTF-8, without its end) and finishes.

    The instances share the lines. The id of a tuple is its line number, from 1; a line that fails
    is emitted again, until every line is acked. With ATMOST_ONCE nothing is remembered.
    """

    outputs = ["line"]
    path: str | None = None

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """What can be told before it starts: its file is missing."""
        path = config.get(PATH, cls.path)
        if path is None or not runs_here or os.path.exists(str(path)):
            return None
        return f"there is no file {path}"

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Open the file; ComponentError if there is none."""
        path = config.get(PATH, self.path)
        if path is None:
            raise ComponentError(
                f"{context.get_component_id()}: no file to read: set its property 'path' or {PATH}"
            )
        tasks = context.get_component_tasks(context.get_component_id())
        self._lines = _share(_opened(str(path)), tasks.index(context.get_task_id()), len(tasks))
        self._tracked = config.get("topology.reliability.mode") != "ATMOST_ONCE"
        self._pending: dict[int, str] = {}
        self._failed: deque[int] = deque()

    def next_tuple(self) -> None:
        """Emit a failed line, or else the next one."""
        if self._failed:
            number = self._failed.popleft()
            self.emit([self._pending[number]], tup_id=number)
            return
        number, line = next(self._lines, (0, ""))
        if not number:
            self.finish()
        elif self._tracked:
            self._pending[number] = line
            self.emit([line], tup_id=number)
        else:
            self.emit([line])

    def ack(self, tup_id: Any) -> None:
        """The line is done."""
        self._pending.pop(tup_id, None)

    def fail(self, tup_id: Any) -> None:
        """Emit the line again."""
        if tup_id in self._pending:
            self._failed.append(tup_id)


def _opened(path: str) -> TextIO:
    try:
        return open(path, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ComponentError(f"{path} cannot be read: {error.strerror}") from None


def _share(file: TextIO, first: int, step: int) -> Iterator[tuple[int, str]]:
    """(number, line) of every `step`th line from `first`; numbers count from 1."""
    with file:
        for number, line in islice(enumerate(file, 1), first, None, step):
            yield number, line.rstrip("\r\n")
