"""Properties of a whole CSV file, determined before parsing: valid UTF-8, and an open quote at
the end. One pass over the bytes, from quote to quote."""

import lzma
import zlib
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from heron_connectors.files.compressed import opened

UTF8 = "utf-8"
READ_BYTES = 1 << 20
FILES_MAX = 1024
"""Of so many files the properties are remembered."""
TAIL_BYTES = 80
"""Of the value of an open quote, kept to be known again."""


@dataclass(frozen=True, slots=True)
class OpenQuote:
    """An unclosed quote: the rest of the file is its value."""

    length: int
    """Size of the value in bytes of UTF-8, or of the file if the file's bytes are parsed."""
    beginning: bytes

    def is_of(self, value: bytes | None) -> bool:
        """Whether a value starts with the quote."""
        return (
            value is not None
            and len(value) == self.length
            and value.startswith(self.beginning[: len(value)])
        )


@dataclass(frozen=True, slots=True)
class CsvProperties:
    """Properties of a file."""

    is_utf8: bool
    open_quote: OpenQuote | None


def csv_properties(path: str, encoding: str | None, delimiter: str, quote: str) -> CsvProperties:
    """Properties of an unchanged file. `encoding`: None if the file's bytes are parsed directly;
    OSError and ValueError."""
    from os import stat

    found = stat(path)
    return _csv_properties(path, found.st_mtime_ns, found.st_size, encoding, delimiter, quote)


@lru_cache(maxsize=FILES_MAX)
def _csv_properties(
    path: str, changed_ns: int, size: int, encoding: str | None, delimiter: str, quote: str
) -> CsvProperties:
    quotes = _Quotes(delimiter.encode(), quote.encode()) if quote else None
    check = getincrementaldecoder(UTF8)()
    is_utf8 = True
    for data in _blocks(path, encoding):
        if quotes is not None:
            quotes.feed(data)
        if is_utf8:
            try:
                check.decode(data)
            except UnicodeDecodeError:
                is_utf8 = False
    return CsvProperties(is_utf8, None if quotes is None else quotes.open_quote())


def _blocks(path: str, encoding: str | None) -> Iterator[bytes]:
    decoder = None if encoding is None else getincrementaldecoder(encoding)()
    try:
        with opened(path) as file:
            while data := file.read(READ_BYTES):
                yield data if decoder is None else decoder.decode(data).encode(UTF8)
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise ValueError(f"the compressed data are damaged: {error}") from None


class _Quotes:
    """Follows a file from quote to quote, as Arrow's parser does: one that does not stand at the
    beginning of a field is a character like others, and two in a quoted field are one."""

    def __init__(self, delimiter: bytes, quote: bytes) -> None:
        self._quote = quote
        self._before = (delimiter, b"\n", b"\r", b"")
        self._begins = True
        self._is_open = False
        self._may_end = False
        """Whether the newest byte is a quote in a quoted field: its end, or half of one."""
        self._last = b""
        self._value = bytearray()
        self._length = 0

    def feed(self, data: bytes) -> None:
        """The next bytes."""
        at, self._begins = len(BOM_UTF8) * (self._begins and data.startswith(BOM_UTF8)), False
        before_first = at
        if self._may_end:
            self._may_end = False
            at = self._after_quote(data, 0)
        while at < len(data):
            quote = data.find(self._quote, at)
            if self._is_open:
                self._add(data[at : quote if quote >= 0 else len(data)])
            if quote < 0:
                break
            at = quote + 1
            if not self._is_open:
                last = data[quote - 1 : quote] if quote > before_first else self._last
                self._is_open = last in self._before
                self._value.clear()
                self._length = 0
            elif at == len(data):
                self._may_end = True
            else:
                at = self._after_quote(data, at)
        self._last = data[-1:]

    def _after_quote(self, data: bytes, at: int) -> int:
        if data[at : at + 1] != self._quote:
            self._is_open = False
            return at
        self._add(self._quote)
        return at + 1

    def _add(self, some: bytes) -> None:
        self._length += len(some)
        self._value += some[: max(0, TAIL_BYTES - len(self._value))]

    def open_quote(self) -> OpenQuote | None:
        """At the end of the file."""
        if not self._is_open or self._may_end:
            return None
        return OpenQuote(self._length, bytes(self._value))
