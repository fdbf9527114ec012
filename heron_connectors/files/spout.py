"""Lines of text files as tuples."""

import os
import time
import zlib
from codecs import BOM_UTF8, lookup
from collections.abc import Mapping
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from heron_api.spout.spout import Spout
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_connectors.files.followed import is_rotation_of, rotated
from heron_connectors.files.text_files import ReadPosition, TextFile, UnreadableFile
from heron_connectors.replay_queue import ReplayQueue, abandon
from heron_connectors.tables.table_files import FileTable
from heron_core import config as keys
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

PATH = "library.file.path"
"""Config key: a file, a folder or a glob pattern, relative to the directory where the topology is
started. Files that end with .gz, .bz2, .xz and .zst are read as what is compressed in them."""
ENCODING = "library.file.encoding"
"""Config key: encoding of the files (utf-8); line ends must be single bytes, as in latin-1."""
FOLLOW = "library.file.follow"
"""Config key: true to go on with lines and files that are added, as `tail -F` does with a file that
is rotated; the spout never finishes then."""
FOLLOW_SECS = "library.file.follow.secs"
"""Config key: how often to look for them (1)."""
STATE_KEY = "heronpy.file_spout"
"""Key of the position in the state."""


class FileSpout(Spout, StatefulComponent):
    """Emits each line of text files, without its end, and finishes. A line that is not of the
    files' encoding is left out, which is an error each time: no character is replaced.

    The instances share the lines of one file, and several files, in order of their names. The id of
    a tuple is its line number, from 1, or (file, line number); a line that fails is emitted again,
    until every line is acked. With ATMOST_ONCE nothing is remembered. With checkpoints it goes on
    at the byte where it was.
    """

    outputs = ["line"]
    path: str | None = None
    encoding = "utf-8"
    follow = False

    @classmethod
    def load_problem(cls, config: Mapping[str, Any], runs_here: bool) -> str | None:
        """Checks before the start: missing files."""
        path = config.get(PATH, cls.path)
        if path is None or not runs_here or config.get(FOLLOW, cls.follow):
            return None
        return None if files_of(str(path)) else f"file not found: {path}"

    def init_state(self, stateful_state: State) -> None:
        """Keep the state."""
        self._state = stateful_state

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """Open the file at the saved position; ComponentError for a missing file."""
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
                f"{context.get_component_id()}: {ENCODING} is {self._encoding!r}, which is not "
                "an encoding of Python"
            ) from None
        if not "a\n".encode(self._encoding).endswith(b"a\n"):
            raise ComponentError(
                f"{context.get_component_id()}: {ENCODING} is {self._encoding!r}, whose line ends"
                " are not single bytes: convert the files to UTF-8"
            )
        self._path, self._index, self._instances = str(path), index, count
        self._follows = bool(config.get(FOLLOW, self.follow))
        self._follow_secs = float(config.get(FOLLOW_SECS, 1.0))
        self._poll_at = 0.0
        self._is_one = not self._follows and os.path.isfile(self._path)
        self._files = [self._file(each) for each in self._mine()]
        self._at = 0
        """Index of the current file in `_files`."""
        self._known = {each.position.path for each in self._files}
        if not self._files and not self._follows and not files_of(self._path):
            raise ComponentError(f"{path} cannot be read: No such file or directory")
        # Under EFFECTIVELY_ONCE the position is sufficient: failed lines are read again.
        mode = config.get(keys.RELIABILITY_MODE)
        self._tracked = mode not in (keys.ATMOST_ONCE, keys.EFFECTIVELY_ONCE)
        self._pending: dict[Any, str] = {}
        self._failed: ReplayQueue[Any] = ReplayQueue.of(config)
        saved = self._state.get(STATE_KEY) if hasattr(self, "_state") else None
        if saved is not None:
            self._restore(saved)

    def _mine(self) -> list[str]:
        """The files of this instance, by their order, or by their names if others may come."""
        found = files_of(self._path)
        if not self._follows:
            return found if self._is_one else found[self._index :: self._instances]
        rotations = {each for each in found for name in found if is_rotation_of(name, each)}
        return [each for each in found if each not in rotations and self._is_mine(each)]

    def _is_mine(self, path: str) -> bool:
        return zlib.crc32(os.fsencode(path)) % self._instances == self._index

    def _file(self, path: str, *position: Any) -> TextFile:
        share = (self._index, self._instances) if self._is_one else (0, 1)
        if self._follows and not position:
            position = (0, 0, self._oldest(path))
        return TextFile(ReadPosition(path, *position), self._follows, *share)

    def _oldest(self, path: str) -> int:
        """Inode of the first file of a followed name: the oldest rotated file, because a
        topology restarted from the beginning may find its first lines in that file; else 0."""
        older = rotated(path)
        return older[0].inode if older else 0

    def _restore(self, saved: dict[str, Any]) -> None:
        files = saved.get("files")
        if files is None:  # in versions for a single file
            files = [[self._path, saved["line"], saved["byte"], 0]]
        for each in self._files:
            each.close()
        self._files = [self._file(*each) for each in files]
        self._known |= {each.position.path for each in self._files} | set(saved.get("known", ()))
        self._pending = {_id_of(number): line for number, line in saved["pending"]}
        self._failed.add(self._pending)

    def pre_save(self, checkpoint_id: Any) -> None:
        """The positions, and earlier lines not yet acked."""
        left = self._files if self._follows else self._files[self._at :]
        for file in left:
            file.remember()
        self._state.put(
            STATE_KEY,
            {
                "files": [list(astuple(each.position)) for each in left],
                "known": sorted(self._known) if self._follows else [],
                "pending": [[number, line] for number, line in self._pending.items()],
            },
        )

    def next_tuple(self) -> None:
        """Emit a failed line, or else the next line."""
        if self._failed and (number := self._failed.take(time.monotonic())) is not None:
            self.emit([self._pending[number]], tup_id=number)
            return
        data = self._next_line()
        if data is None:
            if not self._failed and not self._follows:
                self.finish()
            return
        position = self._files[self._at].position
        line = self._decoded(data, position)
        if self._tracked:
            tup_id = position.line if self._is_one else (position.path, position.line)
            self._pending[tup_id] = line
            self.emit([line], tup_id=tup_id)
        else:
            self.emit([line])

    def _next_line(self) -> bytes | None:
        """The next line of the current file, or of the next file with lines; None if no lines
        are left."""
        for _ in range(len(self._files)):
            if self._at < len(self._files) and (data := self._line_of(self._at)) is not None:
                return data
            if not self._follows and self._at + 1 >= len(self._files):
                break
            self._at = (self._at + 1) % len(self._files)
        if self._follows:
            self._poll()
        return None

    def _line_of(self, at: int) -> bytes | None:
        file = self._files[at]
        data = file.next()
        if missed := file.take_missed():
            self.delegate.record_loss("lines are missed", missed)
        if notice := file.take_notice():
            self.logger.warning(notice)
        if data is None and not self._follows:
            file.close()
        return data

    def _poll(self) -> None:
        """Every second: detect rotated and new files."""
        now = time.monotonic()
        if now < self._poll_at:
            return
        self._poll_at = now + self._follow_secs
        for file in self._files:
            file.poll()
        for path in self._mine():
            if path not in self._known:
                self._files.append(self._file(path))
            self._known.add(path)

    def _decoded(self, data: bytes, position: ReadPosition) -> str:
        """ComponentError for a line that cannot be decoded and is left out."""
        if position.line == 1 and lookup(self._encoding).name == "utf-8":
            data = data.removeprefix(BOM_UTF8)
        try:
            return data.decode(self._encoding)
        except UnicodeDecodeError as error:
            raise ComponentError(
                f"{position.path}: line {position.line} is left out: it is not {error.encoding}"
                f" ({error.reason} at byte {error.start} of it); {ENCODING} names another encoding"
            ) from None

    def handle_exception(self, error: BaseException) -> None:
        """A file that cannot be read ends the process: going on would leave lines out."""
        if isinstance(error, UnreadableFile):
            self.delegate.leave(str(error))

    def ack(self, tup_id: Any) -> None:
        """The line is done."""
        self._pending.pop(tup_id, None)
        self._failed.acked(tup_id)

    def fail(self, tup_id: Any) -> None:
        """Emit the line again, unless it is abandoned."""
        if tup_id in self._pending and (failures := self._failed.failed(tup_id, time.monotonic())):
            line = self._pending.pop(tup_id)
            name = tup_id if isinstance(tup_id, tuple) else f"line {tup_id}"
            abandon(self.delegate, tup_id, [line], failures, name)

    def close(self) -> None:
        """Close the files."""
        for each in getattr(self, "_files", ()):
            each.close()

    def __getstate__(self) -> dict[str, Any]:
        """The position in the files, without the open file."""
        names = ("_files", "_at", "_known", "_pending", "_failed", "_encoding")
        return {name: getattr(self, name) for name in names}


def files_of(path: str) -> list[str]:
    """The files of a path: the file, all files below a folder, or matches of a pattern."""
    return [path] if os.path.isfile(path) else FileTable(path).files()


def _id_of(saved: Any) -> Any:
    """A tuple's id, restored from its saved form."""
    return tuple(saved) if isinstance(saved, list) else saved
