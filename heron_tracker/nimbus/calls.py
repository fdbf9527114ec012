"""Calls of Thrift's binary protocol as frames: which method, its arguments, its answer.

Pure. The server frames them: a length in four bytes before each. The older form of a call, without
a version in front, is what some clients of Storm 0.9 send.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heron_core.errors import TopologyError, shown
from heron_tracker.nimbus.structs import StormException
from heronpy_compat.streamparse.structs import (
    BINARY,
    I32,
    STRING,
    Field,
    Reader,
    Struct,
    struct_type,
)
from heronpy_compat.streamparse.structs import fields as struct_fields

VERSION = 0x80010000
VERSION_MASK = 0xFFFF0000
CALL, REPLY, EXCEPTION, ONEWAY = 1, 2, 3, 4
UNKNOWN_METHOD, PROTOCOL_ERROR, INTERNAL_ERROR = 1, 7, 6
"""Kinds of TApplicationException."""
NAME_BYTES_MAX = 200
"""Of a method: Storm's longest has 35."""


class TApplicationException(Struct, Exception):
    """What every method may answer: one sentence, and of which kind it is."""

    FIELDS = struct_fields((1, "message", STRING), (2, "type", I32))

    def __str__(self) -> str:
        return str(self.message)


@dataclass(frozen=True, slots=True)
class ThriftMethod:
    """What a method takes, what it returns (None: nothing) and which exceptions it declares."""

    arguments: type[Struct]
    result: Any = None
    throws: Sequence[type[StormException]] = ()


@dataclass(frozen=True, slots=True)
class ThriftCall:
    """One call: its arguments are still bytes, as they depend on the method."""

    method: str
    sequence: int
    body: bytes


def arguments(*named: tuple[int, str, Any]) -> type[Struct]:
    """The arguments of a method out of (number, name, type)."""
    return struct_type("arguments", *named)


def parse_call(frame: bytes) -> ThriftCall:
    """The call in a frame; TopologyError for bytes that are none."""
    reader = Reader(frame)
    first = reader.number("!I")
    if first & VERSION_MASK == VERSION:
        kind, name = first & 0xFF, _name(reader, reader.number("!i"))
    elif first <= NAME_BYTES_MAX:
        name, kind = _name(reader, first), reader.number("!b")
    else:
        raise TopologyError("these bytes are not a call of Thrift's binary protocol")
    if kind not in (CALL, ONEWAY):
        raise TopologyError(f"a call of the kind {kind} is not expected from a client")
    return ThriftCall(name, reader.number("!i"), reader.rest())


def _name(reader: Reader, size: int) -> str:
    if not 0 < size <= NAME_BYTES_MAX:
        raise TopologyError("the name of a method has at most 200 bytes")
    return reader.take(size).decode("utf-8", "replace")


def parse_arguments(method: ThriftMethod, call: ThriftCall) -> Mapping[str, Any]:
    """Name -> value; None for what the client has left out."""
    try:
        given: Mapping[str, Any] = vars(method.arguments.read(Reader(call.body)))
    except TopologyError as error:
        raise TApplicationException(
            f"the arguments of {call.method} are malformed: {error}", PROTOCOL_ERROR
        ) from None
    return given


def reply(call: ThriftCall, method: ThriftMethod, result: Any) -> bytes:
    """The frame of an answer."""
    declared = () if method.result is None else (Field(0, "success", method.result),)
    return _message(call.method, REPLY, call.sequence, _struct(declared, (result,)))


def refusal(call: ThriftCall, method: ThriftMethod | None, error: Exception) -> bytes:
    """The frame of an error: as the method declares it, else a TApplicationException."""
    throws = method.throws if method is not None else ()
    for number, kind in enumerate(throws, 1):
        if isinstance(error, kind):
            body = _struct((Field(number, "error", kind),), (error,))
            return _message(call.method, REPLY, call.sequence, body)
    if not isinstance(error, TApplicationException):
        error = TApplicationException(str(error) or type(error).__name__, INTERNAL_ERROR)
    return _message(call.method, EXCEPTION, call.sequence, error.write())


def unknown_method(call: ThriftCall, known: Mapping[str, Any]) -> TApplicationException:
    """The error of a method that is not offered."""
    names = ", ".join(sorted(known))
    return TApplicationException(
        f"Nimbus of heronpy has no method {shown(call.method)}, it has: {names}", UNKNOWN_METHOD
    )


def _struct(declared: Sequence[Field], values: Sequence[Any]) -> bytes:
    head = b"".join(
        struct.pack("!bh", each.type.code, each.number) + each.type.write(value)
        for each, value in zip(declared, values, strict=False)
    )
    return head + b"\0"


def _message(method: str, kind: int, sequence: int, body: bytes) -> bytes:
    name = method.encode()
    head = struct.pack("!Ii", VERSION | kind, len(name)) + name + struct.pack("!i", sequence)
    return head + body


def foreign_answer(first: bytes) -> tuple[str, bytes] | None:
    """What a client is that does not send frames, by its first four bytes, and what it is answered
    before it is left; None for the length of a frame."""
    if first[:2] == b"\x80\x01":
        error = TApplicationException(
            "Nimbus takes framed messages (TFramedTransport)", PROTOCOL_ERROR
        )
        return "a Thrift client without TFramedTransport", _message("", EXCEPTION, 0, error.write())
    if first == b"\x01\0\0\0":
        text = b"this Nimbus takes no SASL: set storm.thrift.transport to SimpleTransportPlugin"
        return "a Thrift client with SASL", b"\x03" + BINARY.write(text)
    if first in _HTTP:
        text = b"this port is Nimbus' Thrift interface; `heronpy ui` serves HTTP\n"
        return "an HTTP client", b"HTTP/1.0 400 Bad Request\r\n\r\n" + text
    if first[:2] == b"\x16\x03":
        return "a client with TLS", b""
    return None


_HTTP = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI")
