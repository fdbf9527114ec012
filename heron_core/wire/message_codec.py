"""Messages of the control plane as bytes: a msgpack array of the class name, then the fields.

A registration says first which engine is speaking: its protocol and its version stand before the
other fields, in every protocol, and so does the text of what refuses it (RegistrationRejected,
Superseded). So two engines that do not understand each other can still say so.
"""

import dataclasses
import reprlib
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, get_args, get_type_hints

import msgpack

from heron_core.errors import OtherProtocol, ProtocolError
from heron_core.version import PROTOCOL, other_engine
from heron_core.wire import messages
from heron_core.wire.messages import Json, Message, PauseStatistics

WHOLE_NUMBER_MAX = (1 << 63) - 1
_NESTED = frozenset((dict, tuple))
NESTING_MAX = 16
"""Ours nest 8 deep. What nests 1,000 deep can be decoded, but not when another message wraps it."""
ERROR_CHARACTERS = 200
"""Of what is wrong with a message: it may be as long as the message."""
BEFORE_REGISTRATIONS_SAID_IT = 2
"""The last protocol in which a registration does not say which engine is speaking."""

UNKNOWN = "0.1 or older"
VERSION_CHARACTERS = 40
"""Of the version of a stranger, in a line for people."""

_CLASSES: dict[str, type] = {kind.__name__: kind for kind in get_args(Message)}
_REGISTRATIONS = frozenset(
    kind.__name__ for kind in (messages.RegisterInstance, messages.RegisterStreamManager)
)
_FIELDS = {
    name: tuple(each.name for each in dataclasses.fields(kind)) for name, kind in _CLASSES.items()
}


def _is_whole(value: object) -> bool:
    return type(value) is int and 0 <= value <= WHOLE_NUMBER_MAX


def _are_whole(value: object) -> bool:
    return type(value) is tuple and all(map(_is_whole, value))


def _are_texts(value: object) -> bool:
    return type(value) is tuple and all(type(each) is str for each in value)


def _is_json(value: object) -> bool:
    return type(value) is dict and all(type(key) is str for key in value)


def _is_paused(value: object) -> bool:
    if type(value) is not tuple or len(value) != len(PauseStatistics._fields):
        return False
    causes, *numbers = value
    return _are_whole(causes) and all(type(each) in (float, int) for each in numbers)


def _by_number(is_value: Callable[[object], bool]) -> Callable[[object], bool]:
    def check(value: object) -> bool:
        return type(value) is dict and all(
            _is_whole(key) and is_value(each) for key, each in value.items()
        )

    return check


_CHECKS: dict[Any, Callable[[object], bool]] = {
    int: _is_whole,
    bool: lambda value: type(value) is bool,
    str: lambda value: type(value) is str,
    Json: _is_json,
    tuple[int, ...]: _are_whole,
    tuple[str, ...]: _are_texts,
    Mapping[int, Json]: _by_number(_is_json),
    Mapping[int, PauseStatistics]: _by_number(_is_paused),
}
_FIELD_CHECKS = {
    name: tuple((field, _CHECKS[kind]) for field, kind in get_type_hints(each).items())
    for name, each in _CLASSES.items()
}


def _parts(value: Any) -> Iterable[Any]:
    return chain(value, value.values()) if type(value) is dict else value


def _nests_too_deep(value: tuple[Any, ...]) -> bool:
    level: list[Any] = [value]
    for _ in range(NESTING_MAX):
        # Most are full of numbers: those are looked through without a Python loop.
        nested = [each for each in level if not _NESTED.isdisjoint(map(type, _parts(each)))]
        level = [part for each in nested for part in _parts(each) if type(part) in _NESTED]
        if not level:
            return False
    return True


def encode(message: Message) -> bytes:
    """A message as bytes."""
    name = type(message).__name__
    fields = [getattr(message, field) for field in _FIELDS[name]]
    if name in _REGISTRATIONS:
        fields = [fields[-1], fields[-2], *fields[:-2]]
    data: bytes = msgpack.packb([name, *fields])
    return data


class Encoder:
    """Encodes messages; one that goes to many receivers in a row, such as a plan, only once."""

    def __init__(self) -> None:
        self._message: Message | None = None
        self._data = b""

    def encode(self, message: Message) -> bytes:
        """A message as bytes."""
        if message is not self._message:
            self._data, self._message = encode(message), message
        return self._data


def _of_this_protocol(name: str, fields: list[Any]) -> list[Any]:
    """The fields of a registration in their usual order; OtherProtocol for one that another engine
    has sent, of whose other fields nothing is known."""
    protocol, version, *others = fields
    if type(protocol) is type(version) is int:
        protocol, version = BEFORE_REGISTRATIONS_SAID_IT, UNKNOWN
    if type(protocol) is not int or type(version) is not str:
        raise ProtocolError("a registration without an engine")
    if protocol != PROTOCOL:
        who = "an instance" if name == messages.RegisterInstance.__name__ else "a stream manager"
        raise OtherProtocol(other_engine(who, version[:VERSION_CHARACTERS], protocol))
    return [*others, version, protocol]


def decode(data: bytes) -> Any:
    """Bytes as a message (one of `Message`), its fields of their types; else ProtocolError.

    What is inside of a Json field is for the receiver to check.
    """
    try:
        name, *fields = msgpack.unpackb(data, use_list=False, strict_map_key=False)
        if name in _REGISTRATIONS:
            fields = _of_this_protocol(name, fields)
        message: Message = _CLASSES[name](*fields)
    except OtherProtocol:
        raise
    except Exception as error:
        reason = repr(error)[:ERROR_CHARACTERS]
        raise ProtocolError(f"not a control message: {reason}") from error
    if _nests_too_deep(tuple(fields)):
        raise ProtocolError(f"not a control message: {name} nests more than {NESTING_MAX} deep")
    if len(fields) != len(_FIELD_CHECKS[name]):
        raise ProtocolError(f"not a control message: {name} with {len(fields)} fields")
    for (field, is_valid), value in zip(_FIELD_CHECKS[name], fields, strict=True):
        if not is_valid(value):
            found = reprlib.repr(value)[:ERROR_CHARACTERS]
            raise ProtocolError(f"not a control message: the {field} of {name} is {found}")
    return message
