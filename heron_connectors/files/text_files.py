"""Lines of files: of one that is compressed, of one that grows and is rotated, from where it was.

A file that is followed is known by its inode, as `tail -F` knows it: when its name stands for
another file, it is read to its end, then those that were rotated since, then the one of its name.
One that has become shorter was emptied, and is read from its beginning.
"""

import lzma
import os
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from typing import BinaryIO

from heron_connectors.files.compressed import is_compressed, opened
from heron_core.errors import ComponentError

SKIP_BYTES = 1 << 20
"""Read at once of what was read before, in a file that cannot be positioned."""
OF_UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
NOT_READABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)


class UnreadableFile(ComponentError):
    """A file is not there, or damaged: to go on would leave lines out."""


@dataclass(slots=True)
class Position:
    """How far a file is read."""

    path: str
    line: int = 0
    """Lines read so far, those of the files before it included that had its name."""
    byte: int = 0
    """Where the next one begins, in what is compressed, too."""
    inode: int = 0
    """Of one that is followed: which file that is; 0 for none yet."""


class TextFile:
    """The lines of one file from a position on: every `step`th one, from line `first` (from 0)."""

    def __init__(
        self, position: Position, follows: bool = False, first: int = 0, step: int = 1
    ) -> None:
        self.position = position
        self._follows, self._first, self._step = follows, first, step
        self._file: BinaryIO | None = None
        self._missed = ""

    def next(self) -> bytes | None:
        """The next line without its end; None at the end of what is there now. UnreadableFile."""
        try:
            while (line := self._next()) is not None:
                if (self.position.line - 1) % self._step == self._first:
                    return line.rstrip(b"\r\n")
        except NOT_READABLE as error:
            self.close()
            text = getattr(error, "strerror", None) or str(error)
            raise UnreadableFile(f"{self.position.path} cannot be read: {text}") from None
        return None

    def take_missed(self) -> str:
        """What of the file is gone unread, for people; empty for nothing. It is said once."""
        missed, self._missed = self._missed, ""
        return missed

    def _next(self) -> bytes | None:
        if self._file is None and not self._open():
            return None
        assert self._file is not None, "_open says so"
        line = self._file.readline()
        if not line or (self._follows and not line.endswith(b"\n")):
            if line and not self._is_over():
                self._file.seek(self.position.byte)  # it is still being written
                line = b""
            if not line:
                return None
        if self.position.byte == 0 and line.startswith(OF_UTF_16):
            self.close()
            raise UnreadableFile(
                f"{self.position.path} cannot be read: its beginning is that of UTF-16, whose line"
                " ends are not single bytes: convert it to UTF-8"
            )
        self.position.line += 1
        self.position.byte += len(line)
        return line

    def _open(self) -> bool:
        position, path = self.position, self.position.path
        if self._follows:
            path = self._path_of_inode()
            if not path:
                return False
        # User code of a spout has no other place for a file that stays open.
        self._file = opened(path).__enter__()
        if is_compressed(path):
            left = position.byte
            while left and (data := self._file.read(min(left, SKIP_BYTES))):
                left -= len(data)
        else:
            self._file.seek(position.byte)
        if self._follows:
            position.inode = os.fstat(self._file.fileno()).st_ino
        return True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        """Whoever read it is gone."""
        self.close()

    # --- files that are followed ------------------------------------------------------------------

    def look_again(self) -> None:
        """At the end of what is there: go on with the next file, if this one was rotated, or from
        its beginning, if it was emptied."""
        if self._file is None:
            return
        own = os.fstat(self._file.fileno())
        if own.st_size < self.position.byte:
            self.position.byte = 0
            self._file.seek(0)
        elif self._is_over() and self._file.readline() == b"":
            following = self._after(own)
            if following:
                self.close()
                self.position.inode, self.position.byte = following, 0
        else:
            self._file.seek(self.position.byte)

    def _is_over(self) -> bool:
        """Whether another file has its name, or was rotated since: it is not written any more."""
        assert self._file is not None, "it is open"
        own = os.fstat(self._file.fileno()).st_ino
        try:
            return os.stat(self.position.path).st_ino != own
        except FileNotFoundError:
            return own in [os.stat(each).st_ino for each in rotated(self.position.path)][:-1]

    def _after(self, own: os.stat_result) -> int:
        """The inode of the file behind this one: of the next one that was rotated, or of the one
        that has the name now; 0 if there is none yet."""
        path = self.position.path
        chain = [*rotated(path), *([path] if os.path.exists(path) else [])]
        found = [os.stat(each) for each in chain]
        inodes = [each.st_ino for each in found]
        if own.st_ino in inodes:
            return next(iter(inodes[inodes.index(own.st_ino) + 1 :]), 0)
        later = [each.st_ino for each in found if each.st_mtime_ns > own.st_mtime_ns]
        return next(iter(later or inodes[-1:]), 0)

    def _path_of_inode(self) -> str:
        """Where the file is now; empty if it is not there yet."""
        path, inode = self.position.path, self.position.inode
        is_there = os.path.exists(path)
        if is_there and inode in (0, os.stat(path).st_ino):
            return path
        for each in rotated(path):
            if inode and os.stat(each).st_ino == inode:
                return each
        if inode and is_there:
            self._missed = (
                f"{path}: the file that was read is gone, with what it had behind byte"
                f" {self.position.byte}; the one of its name is read from its beginning"
            )
            self.position.inode = self.position.byte = 0
            return path
        return ""

    def __getstate__(self) -> dict[str, object]:
        """All but the open file."""
        return {**vars(self), "_file": None}


def rotated(path: str) -> list[str]:
    """The files beside it that have its name and something behind it, and are not compressed: in
    the order in which they were written, by their numbers if all have one (.2 before .1)."""
    folder, name = os.path.split(path)
    with os.scandir(folder or ".") as entries:
        beside = [each.name for each in entries if each.is_file()]
    found = [each for each in beside if is_rotation_of(name, each) and not is_compressed(each)]
    endings = [each[len(name) + 1 :] for each in found]
    if all(each.isdecimal() for each in endings):
        found.sort(key=lambda each: -int(each[len(name) + 1 :]))
        return [os.path.join(folder, each) for each in found]
    paths = [os.path.join(folder, each) for each in found]
    return sorted(paths, key=lambda each: (os.stat(each).st_mtime_ns, each))


def is_rotation_of(path: str, other: str) -> bool:
    """Whether another file has its name, a dot or a dash, and something behind that."""
    return len(other) > len(path) + 1 and other.startswith(path) and other[len(path)] in ".-"
