"""Lines of a text file as tuples."""

import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat.api.spout.spout import Spout
from heronpy_compat.api.state.state import State
from heronpy_compat.api.state.stateful_component import StatefulComponent
from heronpy_compat.connectors.replay_queue import ReplayQueue, given_up

if TYPE_CHECKING:
    from heronpy_compat.api.topology_context import TopologyContext

PATH = "library.file.path"
"""Config key: the file, relative to the directory where the topology is started."""
ENCODING = "library.file.encoding"
"""Config key: the file's (utf-8): one whose line ends are single bytes, such as latin-1."""
STATE_KEY = "heronpy.file_spout"
"""Under it the state has the position."""


class FileSpout(Spout, StatefulComponent):
    """Emits each line of a text file, without its end, and finishes. A line that is not of the
    file's encoding is left out, which is an error each time: no character is replaced.

    The instances share the lines. The id of a tuple is its line number, from 1; a line that fails
    is emitted again, until every line is acked. With ATMOST_ONCE nothing is remembered. With
    checkpoints it goes on at the byte where it was.
    """

    outputs = ["line"]
    path: str | None = None
    encoding = "utf-8"

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """What can be told before it starts: its file is missing."""
        path = config.get(PATH, cls.path)
        if path is None or not runs_here or os.path.exists(str(path)):
            return None
        return f"there is no file {path}"

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Open the file where it was left; ComponentError if there is none."""
        path = config.get(PATH, self.path)
        if path is None:
            raise ComponentError(
                f"{context.get_component_id()}: no file to read: set its property 'path' or {PATH}"
            )
        tasks = context.get_component_tasks(context.get_component_id())
        index, count = tasks.index(context.get_task_id()), len(tasks)
        self._encoding = config.get(ENCODING, self.encoding)
        try:
            "".encode(self._encoding)
        except LookupError:
            raise ComponentError(
                f"{context.get_component_id()}: {ENCODING} is {self._encoding!r}, which is no"
                " encoding that Python has"
            ) from None
        self._lines = _Lines(str(path), index, count)
        # Under EFFECTIVELY_ONCE the position says it all: what fails then comes from there.
        mode = config.get(keys.RELIABILITY_MODE)
        self._tracked = mode not in (keys.ATMOST_ONCE, keys.EFFECTIVELY_ONCE)
        self._pending: dict[int, str] = {}
        self._failed: ReplayQueue[int] = ReplayQueue.of(config)
        saved = self._state.get(STATE_KEY) if hasattr(self, "_state") else None
        if saved is not None:
            self._restore(saved)

    def _restore(self, saved: dict[str, Any]) -> None:
        self._lines.seek(saved["line"], saved["byte"])
        self._pending = dict(saved["pending"])
        self._failed.add(self._pending)

    def pre_save(self, checkpoint_id: Any) -> None:
        """The position, and the lines before it that are not acked."""
        self._state.put(
            STATE_KEY,
            {
                "line": self._lines.number,
                "byte": self._lines.position,
                "pending": [[number, line] for number, line in self._pending.items()],
            },
        )

    def next_tuple(self) -> None:
        """Emit a failed line, or else the next one."""
        if self._failed and (number := self._failed.take(time.monotonic())) is not None:
            self.emit([self._pending[number]], tup_id=number)
            return
        line = self._next_line()
        if line is None:
            if not self._failed:
                self.finish()
        elif self._tracked:
            self._pending[self._lines.number] = line
            self.emit([line], tup_id=self._lines.number)
        else:
            self.emit([line])

    def _next_line(self) -> str | None:
        """None at the end; ComponentError for a line that is no text, which is left out."""
        data = self._lines.next()
        if data is None:
            return None
        try:
            return data.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise ComponentError(
                f"{self._lines.path}: line {self._lines.number} is left out: it is no"
                f" {error.encoding} ({error.reason} at byte {error.start} of it); {ENCODING} names"
                " another encoding"
            ) from None

    def ack(self, tup_id: Any) -> None:
        """The line is done."""
        self._pending.pop(tup_id, None)
        self._failed.acked(tup_id)

    def fail(self, tup_id: Any) -> None:
        """Emit the line again, unless it is given up."""
        if tup_id in self._pending and (failures := self._failed.failed(tup_id, time.monotonic())):
            self._pending.pop(tup_id)
            self.delegate.record_error(*given_up(f"line {tup_id}", failures))

    def __getstate__(self) -> dict[str, Any]:
        """Where it is; the file is opened again."""
        return {
            name: getattr(self, name) for name in ("_lines", "_pending", "_failed", "_encoding")
        }


class _Lines:
    """Every `step`th line of a file, from line `first` (from 0) on."""

    def __init__(self, path: str, first: int, step: int) -> None:
        self.path, self._first, self._step = path, first, step
        self.number = 0
        """Of the line that was read last, from 1."""
        self.position = 0
        """In bytes: where the next one begins."""
        self._lines: Iterator[bytes] | None = None
        self._opened().close()  # so that a file that cannot be read is told now

    def _opened(self) -> BinaryIO:
        try:
            return open(self.path, "rb")
        except OSError as error:
            raise ComponentError(f"{self.path} cannot be read: {error.strerror}") from None

    def seek(self, number: int, position: int) -> None:
        """Go on behind line `number`, which ends there."""
        self._lines = None
        self.number, self.position = number, position

    def next(self) -> bytes | None:
        """The next one of ours, without its end; None at the end of the file."""
        if self._lines is None:
            self._lines = self._read()
        return next(self._lines, None)

    def _read(self) -> Iterator[bytes]:
        with self._opened() as file:
            file.seek(self.position)
            for line in file:
                self.number += 1
                self.position += len(line)
                if (self.number - 1) % self._step == self._first:
                    yield line.rstrip(b"\r\n")

    def __getstate__(self) -> dict[str, Any]:
        """All but the open file."""
        return {**vars(self), "_lines": None}
