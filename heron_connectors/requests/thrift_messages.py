"""Thrift's binary protocol, as far as Storm's DRPC services need it. Pure: bytes in, values out.

A message is a frame on the connection: its length in four bytes, then

    80 01 00 KIND | length of the name, name | number of the call | struct

and a struct is a sequence of fields, each its type in a byte, its number in two and its value,
behind the last one a zero. What is read may come from anybody, so every length is compared with
what is left, every type has to be known, and structs nest to a limit. (A general library reads a
list of two billion elements of an unknown type, which takes no bytes and minutes.)

A struct is a dict of numbers here: {1: "reach", 2: "a.com"}. A text is read as bytes, because
Thrift has one type for both; `text_of` decodes it.
"""

import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from msgspec import Struct

STRICT = 0x8001_0000
"""Version 1; the kind of the message stands in the last byte."""
VERSION_MASK = 0xFFFF_0000
DEPTH_MAX = 16
"""A call nests two levels."""
LENGTH_BYTES = 4
_SCALARS = {2: ">b", 3: ">b", 4: ">d", 6: ">h", 8: ">i", 10: ">q"}
"""Type of a field -> its form: bool, byte, double, i16, i32, i64."""
_STOP, _I32, _STRING, _STRUCT, _MAP, _SET, _LIST = 0, 8, 11, 12, 13, 14, 15


class MalformedMessage(ValueError):
    """Bytes that are no message of this protocol."""


class MessageKind(IntEnum):
    """What a message is."""

    CALL = 1
    REPLY = 2
    EXCEPTION = 3
    ONEWAY = 4


class ThriftMessage(Struct, frozen=True):
    """One call or reply."""

    method: str
    kind: MessageKind
    number: int
    fields: Mapping[int, Any]


def text_of(value: Any) -> str:
    """A text that was read; MalformedMessage if it is none, or is missing."""
    if not isinstance(value, bytes):
        raise MalformedMessage(f"a text is expected, not {value!r:.60}")
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("a text that is not UTF-8") from None


def number_of(value: Any) -> int:
    """A whole number that was read; MalformedMessage if it is none, or is missing."""
    if type(value) is not int:
        raise MalformedMessage(f"a number is expected, not {value!r:.60}")
    return value


def list_of(value: Any) -> list[Any]:
    """A list that was read; MalformedMessage if it is none, or is missing."""
    if not isinstance(value, list):
        raise MalformedMessage(f"a list is expected, not {value!r:.60}")
    return value


def struct_of(value: Any) -> dict[int, Any]:
    """A struct that was read; MalformedMessage if it is none, or is missing."""
    if not isinstance(value, dict):
        raise MalformedMessage(f"a struct is expected, not {value!r:.60}")
    return value


# --- writing ------------------------------------------------------------------------------------


def encoded(message: ThriftMessage) -> bytes:
    """The message as a frame."""
    body = bytearray()
    body += struct.pack(">I", STRICT | message.kind)
    _write_text(body, message.method)
    body += struct.pack(">i", message.number)
    _write_struct(body, message.fields)
    return struct.pack(">i", len(body)) + bytes(body)


def _write_text(body: bytearray, text: str) -> None:
    raw = text.encode("utf-8", "replace")
    body += struct.pack(">i", len(raw))
    body += raw


def _write_struct(body: bytearray, fields: Mapping[int, Any]) -> None:
    for number, value in fields.items():
        match value:
            case str():
                body += struct.pack(">bh", _STRING, number)
                _write_text(body, value)
            case int():
                body += struct.pack(">bhi", _I32, number, value)
            case dict():
                body += struct.pack(">bh", _STRUCT, number)
                _write_struct(body, value)
            case _:
                body += struct.pack(">bhbi", _LIST, number, _STRUCT, len(value))
                for element in value:
                    _write_struct(body, element)
    body.append(_STOP)


# --- reading ------------------------------------------------------------------------------------


def decoded(frame: bytes) -> ThriftMessage:
    """The message of a frame without its length; MalformedMessage if it is none."""
    reader = _Reader(frame)
    version = reader.unpack(">I")
    if version & VERSION_MASK != STRICT:
        raise MalformedMessage("not version 1 of Thrift's binary protocol")
    try:
        kind = MessageKind(version & 0xFF)
    except ValueError:
        raise MalformedMessage(f"no kind of a message is {version & 0xFF}") from None
    method = text_of(reader.value(_STRING, 0))
    return ThriftMessage(method, kind, reader.unpack(">i"), reader.value(_STRUCT, 0))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def unpack(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise MalformedMessage("a message that ends too early")
        self._at += size
        return self._data[self._at - size : self._at]

    def value(self, kind: int, depth: int) -> Any:
        if kind in _SCALARS:
            return self.unpack(_SCALARS[kind])
        if depth > DEPTH_MAX:
            raise MalformedMessage(f"structs nest deeper than {DEPTH_MAX}")
        match kind:
            case 11:
                return self._take(self.unpack(">i"))
            case 12:
                return self._struct(depth + 1)
            case 14 | 15:
                element = self.unpack(">b")
                return [self.value(element, depth + 1) for _ in range(self._size())]
            case 13:
                key, value = self.unpack(">b"), self.unpack(">b")
                return [
                    (self.value(key, depth + 1), self.value(value, depth + 1))
                    for _ in range(self._size())
                ]
        raise MalformedMessage(f"no type of a field is {kind}")

    def _size(self) -> int:
        """Of a container, whose elements take a byte each, or more."""
        size: int = self.unpack(">i")
        if not 0 <= size <= len(self._data) - self._at:
            raise MalformedMessage("a container that is longer than its message")
        return size

    def _struct(self, depth: int) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        while (kind := self.unpack(">b")) != _STOP:
            number = self.unpack(">h")
            fields[number] = self.value(kind, depth)
        return fields
