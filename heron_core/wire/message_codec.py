"""Messages of the control plane as bytes: a msgpack array of the class name, then the fields.

A registration names its engine first: in every protocol, protocol and version stand before the
other fields, and so does the text of a refusal (RegistrationRejected, Superseded). So two engines
of different protocols can still report the difference.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any, get_args

import msgspec

from heron_core.errors import OtherProtocol, ProtocolError
from heron_core.version import PROTOCOL, other_engine
from heron_core.wire import messages
from heron_core.wire.messages import Message

_NESTED = frozenset((dict, list, tuple))
NESTING_MAX = 16
"""Deepest nesting of a message; ours nest 8 deep. A value that nests 1,000 deep can be decoded, but
not when another message wraps it."""
ERROR_CHARACTERS = 200
"""Most characters of an error about a message, which may be as long as the message."""
BEFORE_REGISTRATIONS_SAID_IT = 2
"""The last protocol in which a registration does not name its engine."""

UNKNOWN = "0.1 or older"
VERSION_CHARACTERS = 40
"""Of the version of a stranger, in a line for people."""

_PLAIN = (str, int, float)
_REGISTRATIONS = {
    messages.RegisterInstance.__name__: "an instance",
    messages.RegisterStreamManager.__name__: "a stream manager",
}


class _Head(msgspec.Struct, frozen=True, array_like=True):
    """The beginning of a registration of any protocol; the other fields are unknown."""

    name: str
    protocol: int
    version: str | int


def _plain(value: object) -> Any:
    """A value of a subclass, such as numpy's numbers among a user's metrics, as the plain type."""
    for kind in _PLAIN:
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"a control message takes no {type(value).__name__}")


_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError, ValueError)
"""Errors of msgspec for invalid bytes."""

_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
_decoder = msgspec.msgpack.Decoder(Message)
_head_decoder = msgspec.msgpack.Decoder(_Head)
_OPEN = frozenset(
    kind
    for kind in get_args(Message)
    if any("Any" in str(hint) for hint in kind.__annotations__.values())
)
"""Messages with a field of any JSON."""


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
    return _encoder.encode(message)


class Encoder:
    """Encodes messages; a message to many receivers in a row, such as a plan, is encoded once."""

    def __init__(self) -> None:
        self._message: Message | None = None
        self._data = b""

    def encode(self, message: Message) -> bytes:
        """A message as bytes."""
        if message is not self._message:
            self._data, self._message = encode(message), message
        return self._data


def _check_protocol(data: bytes) -> None:
    """Raise OtherProtocol for a registration that another engine has sent."""
    try:
        head = _head_decoder.decode(data)
    except _UNREADABLE:
        return
    protocol, version = head.protocol, head.version
    if isinstance(version, int):
        protocol, version = BEFORE_REGISTRATIONS_SAID_IT, UNKNOWN
    if head.name in _REGISTRATIONS and protocol != PROTOCOL:
        who = _REGISTRATIONS[head.name]
        raise OtherProtocol(other_engine(who, version[:VERSION_CHARACTERS], protocol))


def decode(data: bytes) -> Any:
    """Bytes as a message (one of `Message`), its fields of their types; ProtocolError otherwise.

    The content of a Json field is for the receiver to check.
    """
    try:
        message = _decoder.decode(data)
    except _UNREADABLE as error:
        _check_protocol(data)
        reason = str(error)[:ERROR_CHARACTERS]
        raise ProtocolError(f"not a control message: {reason}") from error
    if isinstance(message, messages.Registration) and message.protocol != PROTOCOL:
        _check_protocol(data)
    if type(message) in _OPEN and _nests_too_deep(msgspec.structs.astuple(message)):
        name = type(message).__name__
        raise ProtocolError(f"not a control message: {name} nests more than {NESTING_MAX} deep")
    return message
