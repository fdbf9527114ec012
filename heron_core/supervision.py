"""What a process says to its supervisor on its status pipe: encoded and decoded here. Pure.

A status pipe is a stream of bytes from a process to whoever started it:

    0                          heartbeat: the process is alive
    1                          reload: the plan has changed, read it where it is kept
    2, length (4 bytes), JSON  message: the plan has changed, and this is it
    3                          up: the process does what it is for
    any other byte             text that says why the process ends

A process that is killed leaves the pipe at any byte: a message that is not complete is no message.
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
"""Key of a message: the packing plan by which a stream manager works now."""
MESSAGE_LENGTH = struct.Struct("!I")
HEARTBEAT_SECS = 0.5
"""Between two heartbeats at least: a process may ask for one as often as it likes."""
STATUS_PIPE_BYTES = 65536
"""All that a pipe may hold, and so the most that one read can return."""
REASON_BYTES_MAX = 4096
"""What a process may say about its end; a pipe holds more, so writing it never blocks."""
MESSAGE_BYTES_MAX = 16 << 20
"""A packing plan of a hundred thousand instances; whoever says more has lost its senses."""

_HEADER_BYTES = len(MESSAGE) + MESSAGE_LENGTH.size
_CONTROL_BYTES = HEARTBEAT + RELOAD + MESSAGE + UP
_TO_SPACES = bytes.maketrans(_CONTROL_BYTES, b" " * len(_CONTROL_BYTES))
_PIECE = re.compile(b"\0+|\1+|\2|\3+|[^\0\1\2\3]+")


def encode_reason(text: str) -> bytes:
    """Why a process ends; what is too long is cut."""
    return text.encode("utf-8", "replace").translate(_TO_SPACES)[:REASON_BYTES_MAX]


def encode_message(data: Mapping[str, Any]) -> bytes:
    """A message; ProtocolError if it is larger than any reader takes."""
    body = json.dumps(data).encode()
    if len(body) > MESSAGE_BYTES_MAX:
        raise ProtocolError(f"a message of {len(body)} bytes, of at most {MESSAGE_BYTES_MAX}")
    return MESSAGE + MESSAGE_LENGTH.pack(len(body)) + body


@dataclass(frozen=True, slots=True)
class PlanNotice:
    """A process says that the plan has changed."""

    message: Mapping[str, Any] | None
    """What it says about the plan; None: only that it is another one."""


@dataclass(slots=True)
class StatusReader:
    """Decodes the bytes of one process, however they are cut into reads."""

    _unread: bytes = b""
    """The beginning of a message whose rest is on its way."""
    _reason: bytes = b""
    is_up: bool = False
    """Whether it has said that it does what it is for."""

    @property
    def reason(self) -> str:
        """What the process has said about its end, in one line."""
        return " ".join(self._reason.decode("utf-8", "replace").split())

    def feed(self, data: bytes) -> list[PlanNotice]:
        """Take in what was read; returns what it says about the plan.

        ProtocolError for what no process of ours sends.
        """
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
        """Where the message ends that starts there; None if that has not come yet."""
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
