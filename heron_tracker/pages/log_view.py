"""The end of a log file: the lines that fit a search, and those that are new."""

from dataclasses import dataclass, field

LINES_MAX = 2000
"""On the page; a browser scrolls through these at ease."""
PIECE_BYTES = 256 * 1024
"""Of the file's end that is read first."""


@dataclass(slots=True)
class LogTail:
    """Follows one file, of which pieces are read from `offset` on."""

    offset: int = -PIECE_BYTES
    lines: list[str] = field(default_factory=list)
    _rest: str = ""

    def take(self, offset: int, length: int, data: str) -> bool:
        """A piece that was read: `length` bytes at `offset`. Whether there are new lines."""
        if self.offset >= 0 and offset < self.offset:  # the file was begun again
            self.lines, self._rest = [], ""
        self.offset = offset + length
        *whole, self._rest = (self._rest + data).split("\n")
        self.lines = (self.lines + whole)[-LINES_MAX:]
        return bool(whole)

    def matching(self, words: str) -> list[str]:
        """The lines with all of these words, in any case; all lines without any."""
        wanted = words.lower().split()
        if not wanted:
            return self.lines
        return [each for each in self.lines if all(x in each.lower() for x in wanted)]
