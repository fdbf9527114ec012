r"""Messages as Storm's default has them: JSON text, a line end, the line `end`.

Other output on stdout (a stray print) is separated from the messages and kept as lines, so a print
does not break the stream: a message starts at the first brace of a line, and the next `end`
restores the framing.
"""

import json
import re
from typing import Any

from heron_core.errors import ProtocolError
from heron_frontends.adapters.multilang.protocol import (
    GARBAGE_BYTES_MAX,
    MESSAGE_BYTES_MAX,
    NO_UTF_8,
    Message,
    decoded,
    for_people,
    is_message,
)
from heron_frontends.adapters.multilang.values import finite, said

_END = re.compile(rb"\r?\nend\r?\n")
_END_BYTES = len(b"\r\nend\r\n")
_EMPTY_LINES = frozenset({b"", b"end"})
_DECODER = json.JSONDecoder()
_STRICT = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=said)


def json_text(value: Any) -> str:
    """`value` as JSON; NaN and infinity become null. TypeError or ValueError if it cannot be."""
    try:
        return _STRICT.encode(value)
    except ValueError:  # NaN, or a value that contains itself
        return _STRICT.encode(finite(value))


class JsonCodec:
    """See protocol.Codec."""

    def __init__(self) -> None:
        self.strays: list[str] = []
        self._heads: dict[tuple[str, str, int | None], str] = {}
        self._buffer = bytearray()
        self._garbage_bytes = 0

    def encode(self, message: Any) -> bytes:
        """A message as bytes."""
        return f"{json_text(message)}\nend\n".encode("ascii")

    def encode_tuple(self, key: str, tup: Any) -> bytes:
        """The message that gives `tup` to the child as `key`."""
        source = (tup.component, tup.stream, tup.task)
        head = self._heads.get(source) or self._head(*source)
        return f'{{"id":"{key}",{head}{json_text(tup.values)}}}\nend\n'.encode("ascii")

    def _head(self, component: str, stream: str, task: int | None) -> str:
        """Fields shared by all tuples of one source."""
        fields = json_text({"comp": component, "stream": stream, "task": task})
        head = self._heads[component, stream, task] = f'{fields[1:-1]},"tuple":'
        return head

    def feed(self, data: bytes) -> list[Message]:
        """The messages that end in `data`."""
        buffer = self._buffer
        # An end may have begun in what came before.
        searched = max(0, len(buffer) - _END_BYTES)
        buffer += data
        messages: list[Message] = []
        begin = 0
        while (end := _END.search(buffer, max(begin, searched))) is not None:
            self._take(bytes(buffer[begin : end.start()]), messages)
            begin = end.end()
        del buffer[:begin]
        self._shed()
        if len(buffer) > MESSAGE_BYTES_MAX:
            raise ProtocolError(f"wrote {MESSAGE_BYTES_MAX} bytes without the line `end`")
        return messages

    def _take(self, data: bytes, messages: list[Message]) -> None:
        text = data.decode("utf-8", NO_UTF_8)
        try:
            value = _DECODER.decode(text)
        except (ValueError, RecursionError):
            value = None
        if not is_message(value):
            value = self._among_strays(text)
        if value is not None:
            self._garbage_bytes = 0
            messages.append(decoded(value))

    def _among_strays(self, text: str) -> Message | None:
        """Message among stray lines, if present; the stray lines are kept."""
        begin = 0
        for line in text.splitlines(keepends=True):
            at = begin + max(0, line.find("{"))
            begin += len(line)
            try:
                value, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                continue
            if is_message(value):
                self._stray(text[:at])
                self._stray(text[end:])
                message: Message = value
                return message
        self._stray(text)
        return None

    def _shed(self) -> None:
        """Recognise stray lines at the start of the buffer before their `end` arrives."""
        buffer, begin = self._buffer, 0
        while (end := buffer.find(b"\n", begin)) >= 0:
            line = bytes(buffer[begin:end]).strip()
            if b"{" in line:
                break
            if line not in _EMPTY_LINES:
                self._stray(line.decode("utf-8", "replace"))
            begin = end + 1
        del buffer[:begin]

    def _stray(self, text: str) -> None:
        lines = [line for line in for_people(text).splitlines() if line.strip() not in ("", "end")]
        self.strays += lines
        self._garbage_bytes += sum(map(len, lines))
        if self._garbage_bytes > GARBAGE_BYTES_MAX:
            raise ProtocolError(
                f"wrote {GARBAGE_BYTES_MAX} bytes to stdout that are not a message, in a row"
            )
