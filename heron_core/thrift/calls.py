"""Calls of Thrift's binary protocol: their methods, arguments and answers. Pure.

A message is a frame on a connection: its length in four bytes, then

    80 01 00 KIND | length of the name, name | number of the call | struct

and a struct is a sequence of fields, each its type in a byte, its number in two and its value,
behind the last one a zero. Some clients of Storm 0.9 send an older form of calls, without a
version in front.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from heron_core.thrift.structs import (
    I32,
    STRING,
    Field,
    MalformedMessage,
    NamedField,
    Reader,
    Struct,
    struct_type,
)
from heron_core.thrift.structs import fields as struct_fields

LENGTH_BYTES = 4
VERSION = 0x80010000
"""The kind of the message stands in the last byte."""
VERSION_MASK = 0xFFFF0000
CALL, REPLY, EXCEPTION, ONEWAY = 1, 2, 3, 4
UNKNOWN_METHOD, PROTOCOL_ERROR, INTERNAL_ERROR = 1, 7, 6
"""Kinds of TApplicationException."""
NAME_BYTES_MAX = 200
"""Of a method: Storm's longest has 35."""


class TApplicationException(Struct, Exception):
    """The error of every method: a sentence and its kind."""

    FIELDS = struct_fields((1, "message", STRING), (2, "type", I32))

    def __str__(self) -> str:
        return str(self.message)


class StormException(Struct, Exception):
    """Base of the exceptions of Storm's interface: one sentence."""

    FIELDS = struct_fields((1, "msg", STRING))

    def __str__(self) -> str:
        return str(self.msg)


class AuthorizationException(StormException):
    """The caller may not."""


@dataclass(frozen=True, slots=True)
class ThriftMethod:
    """Arguments, result (None: nothing) and declared exceptions of a method."""

    arguments: type[Struct]
    result: Any = None
    throws: tuple[type[Exception], ...] = ()


@dataclass(frozen=True, slots=True)
class ThriftCall:
    """One call; the arguments stay bytes until the method is known."""

    method: str
    sequence: int
    body: bytes
    kind: int = CALL


@dataclass(frozen=True, slots=True)
class ThriftAnswer:
    """The answer to a call, whose result is still bytes."""

    kind: int
    sequence: int
    body: bytes


def arguments(*named: NamedField) -> type[Struct]:
    """The arguments of a method out of (number, name, type)."""
    return struct_type("arguments", *named)


def framed(message: bytes) -> bytes:
    """The message with its length in front."""
    return struct.pack("!i", len(message)) + message


def call_message(name: str, method: ThriftMethod, sequence: int, *values: Any) -> bytes:
    """A call in the form of a client; `values` are the arguments in order."""
    return _message(name, CALL, sequence, method.arguments(*values).write())


def parse_call(frame: bytes) -> ThriftCall:
    """The call in a frame; MalformedMessage for bytes that are no call."""
    reader = Reader(frame)
    name, kind = _head(reader)
    if kind not in (CALL, ONEWAY):
        raise MalformedMessage(f"a call of the kind {kind} is not expected from a client")
    return ThriftCall(name, reader.number("!i"), reader.rest(), kind)


def parse_answer(frame: bytes) -> ThriftAnswer:
    """The answer in a frame; MalformedMessage for bytes that are no answer."""
    reader = Reader(frame)
    _, kind = _head(reader)
    if kind not in (REPLY, EXCEPTION):
        raise MalformedMessage(f"a message of the kind {kind} is not expected from a server")
    return ThriftAnswer(kind, reader.number("!i"), reader.rest())


def _head(reader: Reader) -> tuple[str, int]:
    """Name and kind of a message."""
    first = reader.number("!I")
    if first & VERSION_MASK == VERSION:
        return _name(reader, reader.number("!i")), first & 0xFF
    if first <= NAME_BYTES_MAX:
        return _name(reader, first), reader.number("!b")
    raise MalformedMessage("the bytes are not a call of Thrift's binary protocol")


def _name(reader: Reader, size: int) -> str:
    if not 0 < size <= NAME_BYTES_MAX:
        raise MalformedMessage("the name of a method has at most 200 bytes")
    return reader.take(size).decode("utf-8", "replace")


def parse_arguments(method: ThriftMethod, call: ThriftCall) -> Mapping[str, Any]:
    """Name -> value; None for arguments that the client has left out."""
    try:
        given: Mapping[str, Any] = vars(method.arguments.read(Reader(call.body)))
    except MalformedMessage as error:
        raise TApplicationException(
            f"the arguments of {call.method} are malformed: {error}", PROTOCOL_ERROR
        ) from None
    return given


def parse_result(method: ThriftMethod, answer: ThriftAnswer) -> Any:
    """Result of a call. Raises an exception that the method declares, or a TApplicationException;
    MalformedMessage for an answer without result and exception."""
    if answer.kind == EXCEPTION:
        raise TApplicationException.read(Reader(answer.body))
    outcome = _outcome_type(method).read(Reader(answer.body))
    for field in outcome.FIELDS:
        value = getattr(outcome, field.name)
        if field.number and value is not None:
            raise value
    if method.result is None:
        return None
    if outcome.success is None:
        raise MalformedMessage("an answer has neither a result nor an error")
    return outcome.success


@cache
def _outcome_type(method: ThriftMethod) -> type[Struct]:
    """Type by which an answer is read."""
    named = [(number, f"error{number}", kind) for number, kind in enumerate(method.throws, 1)]
    if method.result is not None:
        named.append((0, "success", method.result))
    return struct_type("outcome", *named)


def reply(call: ThriftCall, method: ThriftMethod, result: Any) -> bytes:
    """The frame of an answer."""
    declared = () if method.result is None else (Field(0, "success", method.result),)
    return _message(call.method, REPLY, call.sequence, _struct(declared, (result,)))


def refusal(call: ThriftCall, method: ThriftMethod | None, error: Exception) -> bytes:
    """The frame of an error: as the method declares it, otherwise a TApplicationException."""
    throws = method.throws if method is not None else ()
    for number, kind in enumerate(throws, 1):
        if isinstance(error, kind):
            body = _struct((Field(number, "error", kind),), (error,))
            return _message(call.method, REPLY, call.sequence, body)
    if not isinstance(error, TApplicationException):
        error = TApplicationException(str(error) or type(error).__name__, INTERNAL_ERROR)
    return _message(call.method, EXCEPTION, call.sequence, error.write())


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
