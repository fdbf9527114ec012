"""Lines of files from a saved position: compressed files, and followed files with rotation.

A followed file is identified by inode and content (followed.py). When the name moves to a new
file, the old file is read to its end, then files rotated since, then the file with the name. A
file whose earlier content is missing was truncated, or reuses the inode: a copy of the old
content is read to its end, then the file from its start.
"""

import lzma
import os
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from typing import BinaryIO

from heron_connectors.files.compressed import is_compressed, opened
from heron_connectors.files.followed import (
    FileMark,
    Generation,
    following,
    generation,
    generations,
    mark_of,
    rotated,
)
from heron_core.errors import ComponentError

SKIP_BYTES = 1 << 20
"""Bytes per read while skipping to a position, in a file without seek."""
OF_UTF_16 = (BOM_UTF16_LE, BOM_UTF16_BE)
NOT_READABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)


class UnreadableFile(ComponentError):
    """A file is not there, or damaged: to go on would leave lines out."""


@dataclass(slots=True)
class ReadPosition:
    """How far a file is read."""

    path: str
    line: int = 0
    """Lines read so far, including earlier files of the name."""
    byte: int = 0
    """Offset of the next line, for compressed files in the uncompressed text."""
    inode: int = 0
    """Identity of a followed file; 0 before the first file."""
    mark_byte: int = 0
    """Last known size of the file in bytes, compressed if the file is."""
    mark: str = ""
    """A hash of them (followed.py)."""
    changed_ns: int = 0
    """When it was last written, as far as is known."""


class TextFile:
    """The lines of one file from a position on: every `step`th one, from line `first` (from 0)."""

    def __init__(
        self, position: ReadPosition, follows: bool = False, first: int = 0, step: int = 1
    ) -> None:
        self.position = position
        self._follows, self._first, self._step = follows, first, step
        self._file: BinaryIO | None = None
        self._missed = self._notice = ""
        self._is_at_end = False
        """Whether the newest attempt has found nothing behind the position."""
        self._seen: Generation | None = None
        """Status of the file at its last end or check."""
        self._cut: Generation | None = None
        """Status of a compressed file that ended within a compressed block."""
        self._is_gone = False
        """Whether the newest look has not found the file that is read under any name."""

    def next(self) -> bytes | None:
        """The next line without its line end; None at the current end. UnreadableFile."""
        try:
            while (line := self._next()) is not None:
                if (self.position.line - 1) % self._step == self._first:
                    return line.rstrip(b"\r\n")
        except NOT_READABLE as error:
            if self._waits_for_more(error):
                return None
            self.close()
            text = getattr(error, "strerror", None) or str(error)
            raise UnreadableFile(f"{self.position.path} cannot be read: {text}") from None
        return None

    def take_missed(self) -> str:
        """Description of lost lines, for people; empty without a loss. Each loss is
        reported once.
        """
        missed, self._missed = self._missed, ""
        return missed

    def take_notice(self) -> str:
        """Description of a change that is not a known loss; reported once."""
        notice, self._notice = self._notice, ""
        return notice

    def _next(self) -> bytes | None:
        if self._file is None and not self._open():
            return None
        assert self._file is not None, "_open says so"
        if self._follows and not self._may_read():
            return None
        line = self._file.readline()
        if not line or (self._follows and not line.endswith(b"\n")):
            if line and self._next_generation() is None:
                self._file.seek(self.position.byte)  # it is still being written
                line = b""
            if not line:
                self._is_at_end = self._follows
                return None
        self._is_at_end = False
        if self.position.byte == 0 and line.startswith(OF_UTF_16):
            self.close()
            raise UnreadableFile(
                f"{self.position.path} is UTF-16 (by its first bytes), whose line ends are not "
                "single bytes: convert the file to UTF-8"
            )
        self.position.line += 1
        self.position.byte += len(line)
        return line

    def _open(self) -> bool:
        position, path = self.position, self.position.path
        if self._follows:
            path = self._path_now()
            if not path:
                return False
        # A spout has no `with` block for a file that stays open.
        self._file = opened(path).__enter__()
        if self._follows and position.inode not in (0, self._own().inode):
            self.close()  # it was renamed just now
            return False
        if self._is_compressed:
            left = position.byte
            while left and (data := self._file.read(min(left, SKIP_BYTES))):
                left -= len(data)
        else:
            self._file.seek(position.byte)
        if self._follows:
            position.inode = self._own().inode
            self._is_at_end, self._seen, self._cut = False, None, None
        return True

    @property
    def _is_compressed(self) -> bool:
        return is_compressed(self.position.path)

    def _waits_for_more(self, error: Exception) -> bool:
        """Whether a file is followed, and was renamed just now, or is compressed and still written:
        then it is opened again when it has grown."""
        if not self._follows or not isinstance(error, (FileNotFoundError, EOFError)):
            return False
        if isinstance(error, EOFError):
            self.remember()
            self._cut = self._seen
            self._notice = f"{self.position.path} is incomplete: waiting for the rest"
        self.close()
        return True

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __del__(self) -> None:
        """Close the file of a reader that was dropped without `close`."""
        self.close()

    # --- files that are followed ------------------------------------------------------------------

    def poll(self) -> None:
        """At the current end: continue with the next file after a rotation, or after a
        truncation with a copy or from the start."""
        if self._file is None or not self._is_at_end:
            return
        before = self._seen
        if not self.remember():
            self._begin_again()
        elif self._is_compressed and self._seen != before:
            self.close()  # a second compressed stream follows, which needs a new decompressor
        elif (following_file := self._next_generation()) is not None:
            self._go_on(following_file)
        else:
            self._is_at_end = self._seen == before
            self._search()

    def _search(self) -> None:
        """Mark the file as gone after two searches without any name: a rename is over by then."""
        found = generations(self.position.path)
        if found is not None:
            self._is_gone = self._own().inode not in [each.inode for each in found]

    def remember(self) -> bool:
        """Record size and hash of the open file, for later identification. False if earlier
        content is missing."""
        if self._file is None or not self._follows:
            return True
        own, position = self._own(), self.position
        if own.size < self._least_size() or not self._mark().fits(self._file.fileno()):
            return False
        self._seen = own
        mark = mark_of(self._file.fileno(), own.size)
        position.mark_byte, position.mark = mark.byte, mark.hash
        position.changed_ns = own.changed_ns
        return True

    def _least_size(self) -> int:
        """Bytes that a file with the content read so far has at least; 0 if compressed."""
        return 0 if self._is_compressed else self.position.byte

    def _mark(self) -> FileMark:
        return FileMark(self.position.mark_byte, self.position.mark)

    def _own(self) -> Generation:
        """The file that is open."""
        assert self._file is not None, "it is open"
        found = os.fstat(self._file.fileno())
        return Generation(self.position.path, found.st_ino, found.st_size, found.st_mtime_ns)

    def _may_read(self) -> bool:
        """Whether a line may be read now: bytes after the position must belong to the lines before
        it. Otherwise the next poll decides.
        """
        if self._is_at_end and self._is_compressed:
            return False
        if self._own() == self._seen:
            return not self._is_at_end
        if self.remember():
            return True
        self._is_at_end = True
        return False

    def _begin_again(self) -> None:
        own, position = self._own(), self.position
        self.close()
        copy = self._copy(own.inode)
        if copy is not None:
            position.inode = copy.inode
            return
        unread = 0 if self._seen is None else self._seen.size - position.byte
        text = f"{position.path} was truncated: reading from its start"
        if unread > 0 and not self._is_compressed:
            self._missed = f"{text}: at least {unread} bytes were not read"
        else:
            self._notice = text
        self._begin(own.inode)

    def _begin(self, inode: int) -> None:
        """Read a file from its beginning next."""
        position = self.position
        position.inode, position.byte, position.changed_ns = inode, 0, 0
        position.mark_byte, position.mark = 0, ""
        self._seen, self._cut, self._is_gone = None, None, False

    def _copy(self, but: int = 0) -> Generation | None:
        """A sibling with the content read so far: a copy, the newest first."""
        mark = self._mark()
        if not mark.byte:
            return None
        beside = [*reversed(rotated(self.position.path)), generation(self.position.path)]
        found = (each for each in beside if each is not None and each.inode != but)
        return next((each for each in found if mark.fits_file(each.path)), None)

    def _next_generation(self) -> Generation | None:
        """The next file, if the current file is finished: the file with the name counts once it
        has content, because the writer may still use the current file until then."""
        known_generations, own = generations(self.position.path), self._own()
        if known_generations is None:
            return None
        next_file, is_there = following(known_generations, own.inode, own.changed_ns)
        if next_file is None or not (is_there or self._is_gone):
            return None
        is_begun = next_file.size or next_file.path != self.position.path
        return next_file if is_begun else None

    def _go_on(self, next_file: Generation) -> None:
        assert self._file is not None, "it is open"
        if self._file.readline() == b"":  # finished earlier
            self.close()
            self._begin(next_file.inode)
        else:
            self._file.seek(self.position.byte)
            self._is_at_end = False

    def _path_now(self) -> str:
        """Present path of the file; empty if missing."""
        position, mark = self.position, self._mark()
        current = generation(position.path)
        if self._cut is not None and current == self._cut:
            return ""
        if current is not None and position.inode == 0:
            return position.path
        beside = [*([current] if current else []), *rotated(position.path)]
        for candidate in beside if position.inode else ():
            if candidate.inode == position.inode and mark.fits_file(candidate.path):
                return candidate.path
        if position.inode == 0 or not beside:
            return ""
        if (copy := self._copy()) is not None:
            position.inode = copy.inode
            return copy.path
        return self._path_behind_a_gap(beside)

    def _path_behind_a_gap(self, beside: list[Generation]) -> str:
        position = self.position
        self._missed = (
            f"{position.path}: the file was removed or truncated, with its data after byte "
            f"{position.byte}; the next file is read from its start"
        )
        in_order = [*beside[1:], beside[0]] if beside[0].path == position.path else beside
        later = [each for each in in_order if 0 < position.changed_ns < each.changed_ns]
        first = (later or in_order[-1:])[0]
        self._begin(first.inode)
        return first.path

    def __getstate__(self) -> dict[str, object]:
        """All but the open file."""
        self.remember()
        return {**vars(self), "_file": None}
