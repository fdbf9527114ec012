"""Clients that send no frames of Thrift's binary protocol, told by their first bytes. Pure.

A client of another Storm version, another protocol of Thrift or another port waits for an answer
in its own form: a closed connection alone names neither the fault nor the remedy.

| a client sends | and gets |
|---|---|
| the binary protocol without frames, of any age | an exception in that form |
| the compact or Apache's JSON protocol, in frames or without | an exception in that form |
| SASL | its status and a sentence |
| HTTP | status 400 and a sentence |
| TLS, or any other bytes | the end of the connection |

The server's log has a line for each.
"""

import json
from dataclasses import dataclass

from heron_core.thrift.calls import (
    EXCEPTION,
    NAME_BYTES_MAX,
    PROTOCOL_ERROR,
    TApplicationException,
    ThriftCall,
    framed,
    refusal,
)
from heron_core.thrift.structs import BINARY

SASL_START = b"\x01\0\0\0"
"""A SASL client's first status, and the beginning of a length below 16 MiB."""
HTTP_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI")
COMPACT_START = b"\x82"
"""First byte of a message in the compact protocol: its id."""
JSON_START = b"[1,"
"""A message in Apache's JSON protocol: a list whose first item is the protocol's version."""
REMEDY = "takes Thrift's binary protocol (TBinaryProtocol) in frames (TFramedTransport)"
_COMPACT_TEXT, _COMPACT_I32 = b"\x18", b"\x15"
"""Heads of field 1, a text, and of the field behind it, a number."""


@dataclass(frozen=True, slots=True)
class ForeignClient:
    """What a client is, and the answer before its connection is closed (may be empty)."""

    kind: str
    answer: bytes = b""
    remedy: str = REMEDY
    """What the server takes, behind the server's name."""

    def line(self, server: str, address: str) -> str:
        """For the server's log: the client's address, the fault and the remedy."""
        return f"{self.kind} at {address} is refused: {server} {self.remedy}"


def oversized(size: int, size_max: int, limit: str) -> ForeignClient:
    """The client that announces a frame of `size` bytes; `limit` names the origin of `size_max`."""
    most = f"takes frames of at most {size_max:,} bytes ({limit})"
    return ForeignClient(f"a client with a frame of {size:,} bytes", remedy=most)


def foreign_client(first: bytes, server: str, http_server: str) -> ForeignClient | None:
    """The client by its first four bytes; None for the length of a frame. `server` serves the
    port, `http_server` is the place for HTTP."""
    if first[:2] == b"\x80\x01":
        return ForeignClient("a Thrift client without TFramedTransport", _in_binary(server))
    if first[:1] == COMPACT_START:
        return ForeignClient("a Thrift client with TCompactProtocol", _in_compact(server))
    if first.startswith(JSON_START):
        return ForeignClient("a Thrift client with TJSONProtocol", _in_json(server))
    if first == SASL_START:
        text = f"{server} takes no SASL: set storm.thrift.transport to SimpleTransportPlugin"
        return ForeignClient("a Thrift client with SASL", b"\x03" + BINARY.write(text.encode()))
    if first in HTTP_METHODS:
        text = f"this port is the Thrift interface of {server}; {http_server} serves HTTP\n"
        answer = b"HTTP/1.0 400 Bad Request\r\n\r\n" + text.encode()
        return ForeignClient("an HTTP client", answer)
    if first[:2] == b"\x16\x03":
        return ForeignClient("a client with TLS")
    return None


def foreign_frame(frame: bytes, server: str) -> ForeignClient:
    """The client by a frame, or what looked like one, that is no call of the binary protocol."""
    if frame.startswith(COMPACT_START):
        return ForeignClient("a Thrift client with TCompactProtocol", framed(_in_compact(server)))
    if frame.startswith(JSON_START):
        return ForeignClient("a Thrift client with TJSONProtocol", framed(_in_json(server)))
    if _is_name(frame):
        return ForeignClient("a Thrift client without TFramedTransport", _in_binary(server))
    return ForeignClient("a client of another protocol")


def _is_name(frame: bytes) -> bool:
    """Whether the bytes are a method's name: without frames and without a version a message begins
    with the length of its name."""
    return len(frame) <= NAME_BYTES_MAX and frame.isalnum()


def _sentence(server: str) -> str:
    return f"{server} {REMEDY}"


def _in_binary(server: str) -> bytes:
    error = TApplicationException(_sentence(server), PROTOCOL_ERROR)
    return refusal(ThriftCall("", 0, b""), None, error)


def _in_compact(server: str) -> bytes:
    """Id, kind and version, number of the call, length of the name, the exception."""
    text = _sentence(server).encode()
    head = COMPACT_START + bytes([EXCEPTION << 5 | 1, 0, 0])
    error = _COMPACT_TEXT + bytes([len(text)]) + text  # below 128 bytes: a length of one byte
    return head + error + _COMPACT_I32 + bytes([PROTOCOL_ERROR << 1, 0])


def _in_json(server: str) -> bytes:
    error = {"1": {"str": _sentence(server)}, "2": {"i32": PROTOCOL_ERROR}}
    return json.dumps([1, "", EXCEPTION, 0, error], separators=(",", ":")).encode()
