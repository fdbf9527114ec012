"""Serdes: functions between values and bytes, by the names of Samza's classes. A user's class has
`to_bytes` and `from_bytes`.

None stays None on both sides: a message without a value is a deletion.
"""

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from heron_api.class_loading import load_class
from heron_core.errors import ComponentError
from heron_core.validation import choices

PACKAGE = "org.apache.samza.serializers."


@dataclass(frozen=True, slots=True)
class Serde:
    """A serde; both functions raise ValueError or TypeError for other values."""

    to_bytes: Callable[[Any], bytes]
    from_bytes: Callable[[bytes], Any]

    def encoded(self, value: Any) -> bytes | None:
        """The bytes of a value; None for None."""
        return None if value is None else self.to_bytes(value)

    def decoded(self, data: bytes | None) -> Any:
        """The value of bytes; None for None."""
        return None if data is None else self.from_bytes(data)


def _number(form: str) -> Serde:
    packer = struct.Struct(form)

    def to_bytes(value: Any) -> bytes:
        try:
            return packer.pack(value)
        except struct.error as error:
            raise ValueError(f"{value!r:.80}: {error}") from None

    def from_bytes(data: bytes) -> Any:
        try:
            return packer.unpack(data)[0]
        except struct.error as error:
            raise ValueError(f"{data!r:.80}: {error}") from None

    return Serde(to_bytes, from_bytes)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _bytes(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{value!r:.80} is not bytes")
    return bytes(value)


def _text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is not a text")
    return value.encode()


BYTES = Serde(_bytes, bytes)
STRING = Serde(_text, bytes.decode)
SERDES = {
    "ByteSerdeFactory": BYTES,
    "StringSerdeFactory": STRING,
    "JsonSerdeFactory": Serde(_json, json.loads),
    "JsonSerdeV2Factory": Serde(_json, json.loads),
    "IntegerSerdeFactory": _number(">i"),
    "LongSerdeFactory": _number(">q"),
    "DoubleSerdeFactory": _number(">d"),
    "UUIDSerdeFactory": Serde(lambda value: value.bytes, lambda data: UUID(bytes=data)),
}
"""Class of Samza -> serde; numbers are big-endian, as in Java's buffers."""
SHORT_NAMES = {"byte": "Byte", "string": "String", "json": "Json", "integer": "Integer",
               "long": "Long", "double": "Double", "uuid": "UUID"}  # fmt: skip
"""Samza's serdes without an entry in the registry."""


def serde_of(name: str, registry: dict[str, str]) -> Serde:
    """The serde of a name; `registry` has the classes of `serializers.registry`.

    ComponentError for an unknown name or class.
    """
    if name not in registry:
        if name in SHORT_NAMES:
            return SERDES[f"{SHORT_NAMES[name]}SerdeFactory"]
        known = (*registry, *SHORT_NAMES)
        raise ComponentError(
            f"serializers.registry.{name}.class is missing; {choices('serdes', name, known)}"
        )
    path = registry[name]
    if path.startswith(PACKAGE):
        short = path.removeprefix(PACKAGE)
        if short not in SERDES:
            raise ComponentError(f"{path} is not supported; {choices('classes', short, SERDES)}")
        return SERDES[short]
    user_class = load_class(path)()
    return Serde(user_class.to_bytes, user_class.from_bytes)
