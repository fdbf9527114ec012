"""Encoding of messages from a process to its supervisor on the status pipe. Pure.

A status pipe is a stream of bytes from a process to its starter:

    0                          heartbeat: the process is alive
    1                          reload: the plan has changed, read the state store
    2, length (4 bytes), JSON  message: the plan has changed to the plan in the JSON
    3                          up: the process works
    any other byte             text with the reason why the process ends

A killed process may leave the pipe at any byte: an incomplete message does not count.
"""

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core.errors import ProtocolError

HEARTBEAT = b"\0"
RELOAD = b"\1"
MESSAGE = b"\2"
UP = b"\3"
PACKING = "packing"
"""Key of a message: the present packing plan of a stream manager."""
MESSAGE_LENGTH = struct.Struct("!I")
HEARTBEAT_SECS = 0.5
"""Shortest time between two heartbeats; more frequent calls send nothing."""
STATUS_PIPE_BYTES = 65536
"""Capacity of a pipe, and largest result of one read."""
REASON_BYTES_MAX = 4096
"""Longest reason of an end; below a pipe's capacity, so a write of a reason never blocks."""
MESSAGE_BYTES_MAX = 16 << 20
"""Longest message: a packing plan of a hundred thousand instances."""

_HEADER_BYTES = len(MESSAGE) + MESSAGE_LENGTH.size
_CONTROL_BYTES = HEARTBEAT + RELOAD + MESSAGE + UP
_TO_SPACES = bytes.maketrans(_CONTROL_BYTES, b" " * len(_CONTROL_BYTES))
_PIECE = re.compile(b"\0+|\1+|\2|\3+|[^\0\1\2\3]+")


def encode_reason(text: str) -> bytes:
    """Bytes of a reason for an end; a longer text is cut."""
    return text.encode("utf-8", "replace").translate(_TO_SPACES)[:REASON_BYTES_MAX]


def encode_message(data: Mapping[str, Any]) -> bytes:
    """Bytes of a message; ProtocolError above the limit of readers."""
    body = json.dumps(data).encode()
    if len(body) > MESSAGE_BYTES_MAX:
        raise ProtocolError(f"a message of {len(body)} bytes, of at most {MESSAGE_BYTES_MAX}")
    return MESSAGE + MESSAGE_LENGTH.pack(len(body)) + body


@dataclass(frozen=True, slots=True)
class PlanNotice:
    """Notice of a changed plan."""

    message: Mapping[str, Any] | None
    """Content of the message about the plan; None for a notice without the plan."""


@dataclass(slots=True)
class StatusReader:
    """Decodes the bytes of one process, from reads of any sizes."""

    _unread: bytes = b""
    """Beginning of an incomplete message."""
    _reason: bytes = b""
    is_up: bool = False
    """Whether the process has reported its work."""

    @property
    def reason(self) -> str:
        """The process's reason for its end, in one line."""
        return " ".join(self._reason.decode("utf-8", "replace").split())

    def feed(self, data: bytes) -> list[PlanNotice]:
        """Take in the bytes of a read; returns the notices about the plan.

        ProtocolError for bytes of a foreign process."""
        data, self._unread = self._unread + data, b""
        notices: list[PlanNotice] = []
        at = 0
        while (piece := _PIECE.match(data, at)) is not None:
            at = piece.end()
            if piece.group().startswith(MESSAGE):
                end = self._message_end(data, piece.start())
                if end is None:
                    self._unread = data[piece.start() :]
                    break
                notices.append(_decoded(data[piece.start() + _HEADER_BYTES : end]))
                at = end
            elif piece.group().startswith(RELOAD):
                notices.append(PlanNotice(None))
            elif piece.group().startswith(UP):
                self.is_up = True
            elif not piece.group().startswith(HEARTBEAT):
                self._reason = (self._reason + piece.group())[-REASON_BYTES_MAX:]
        return notices

    @staticmethod
    def _message_end(data: bytes, start: int) -> int | None:
        """Index behind the message that starts at `start`; None for an incomplete message."""
        if len(data) < start + _HEADER_BYTES:
            return None
        (length,) = MESSAGE_LENGTH.unpack_from(data, start + len(MESSAGE))
        if length > MESSAGE_BYTES_MAX:
            raise ProtocolError(f"a message of {length} bytes, of at most {MESSAGE_BYTES_MAX}")
        end = start + _HEADER_BYTES + int(length)
        return end if end <= len(data) else None


def _decoded(body: bytes) -> PlanNotice:
    try:
        message = json.loads(body)
    except ValueError as error:
        raise ProtocolError(f"message is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError("message is not a JSON object")
    return PlanNotice(message)
