"""The end of a log file: lines that match a search, and new lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field

LINES_MAX = 2000
"""On the page; a browser scrolls through so many lines at ease."""
PIECE_BYTES = 256 * 1024
"""Of the end of a file, read first."""
FIRST_FILES = ("events.log", "topology-master.log", "scheduler.log")
"""The events of a topology first; a new topology has no events, and no file of events."""


def first_file(files: Sequence[str]) -> str | None:
    """The file to show where the address names no file, a member of `files`; None without files."""
    return next((each for each in FIRST_FILES if each in files), min(files, default=None))


@dataclass(slots=True)
class LogTail:
    """Follows a file by pieces from `offset` on."""

    offset: int = -PIECE_BYTES
    lines: list[str] = field(default_factory=list)
    _rest: str = ""

    def take(self, offset: int, length: int, data: str) -> bool:
        """Add a piece of the file, `length` bytes at `offset`; True if the piece ended a line."""
        if self.offset >= 0 and offset < self.offset:  # the file was begun again
            self.lines, self._rest = [], ""
        self.offset = offset + length
        *whole, self._rest = (self._rest + data).split("\n")
        self.lines = (self.lines + whole)[-LINES_MAX:]
        return bool(whole)

    def matching(self, words: str) -> list[str]:
        """The lines with all words of `words`, in any case; all lines if `words` is empty."""
        wanted = words.lower().split()
        if not wanted:
            return self.lines
        return [each for each in self.lines if all(x in each.lower() for x in wanted)]
