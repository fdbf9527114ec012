"""Thrift structs as plain Python classes: named fields, equal by value, written in Thrift's binary
form (Apache Thrift specification, thrift-binary-protocol.md)."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from heron_core.errors import TopologyError

_STOP = 0


@dataclass(frozen=True, slots=True)
class Plain:
    """A type whose values are packed by `struct`."""

    code: int
    format: str

    def write(self, value: Any) -> bytes:
        """The value's bytes."""
        return struct.pack(self.format, value)

    def read(self, data: "Reader") -> Any:
        """The next value."""
        return struct.unpack(self.format, data.take(struct.calcsize(self.format)))[0]


@dataclass(frozen=True, slots=True)
class Bytes:
    """A length and as many bytes; `text` for strings."""

    text: bool
    code: int = 11

    def write(self, value: Any) -> bytes:
        """The value's bytes."""
        raw = value.encode() if isinstance(value, str) else value
        return struct.pack("!i", len(raw)) + raw

    def read(self, data: "Reader") -> Any:
        """The next value."""
        raw = data.take(data.number("!i"))
        return raw.decode() if self.text else raw


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one type."""

    item: Any
    code: int = 15

    def write(self, value: Any) -> bytes:
        """The value's bytes."""
        head = struct.pack("!bi", self.item.code, len(value))
        return head + b"".join(self.item.write(each) for each in value)

    def read(self, data: "Reader") -> Any:
        """The next value."""
        data.take(1)
        return [self.item.read(data) for _ in range(data.number("!i"))]


@dataclass(frozen=True, slots=True)
class MapOf:
    """A dict from one type to another."""

    key: Any
    value: Any
    code: int = 13

    def write(self, value: Any) -> bytes:
        """The value's bytes."""
        head = struct.pack("!bbi", self.key.code, self.value.code, len(value))
        return head + b"".join(
            self.key.write(key) + self.value.write(each) for key, each in value.items()
        )

    def read(self, data: "Reader") -> Any:
        """The next value."""
        data.take(2)
        return {self.key.read(data): self.value.read(data) for _ in range(data.number("!i"))}


BOOL = Plain(2, "!?")
DOUBLE = Plain(4, "!d")
I32 = Plain(8, "!i")
I64 = Plain(10, "!q")
STRING = Bytes(True)
BINARY = Bytes(False)


class Reader:
    """Bytes that are read from the front; TopologyError when they end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        taken = self._data[self._position : self._position + size]
        if size < 0 or len(taken) < size:
            raise TopologyError("these bytes are not a Storm topology: they end too soon")
        self._position += size
        return taken

    def number(self, form: str) -> int:
        """The next number in a `struct` format."""
        found: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return found


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct: its number on the wire, its name and type."""

    number: int
    name: str
    type: Any


def fields(*named: tuple[int, str, Any]) -> tuple[Field, ...]:
    """A struct's fields out of (number, name, type)."""
    return tuple(Field(*each) for each in named)


class Struct:
    """Base of Thrift structs; a field that is None is not there."""

    FIELDS: ClassVar[Sequence[Field]] = ()
    code: ClassVar[int] = 12

    def __init__(self, *values: Any, **named: Any) -> None:
        """The fields in order or by name; TypeError for a name that is none of them."""
        names = [field.name for field in self.FIELDS]
        given = dict(zip(names, values, strict=False))
        unknown = [name for name in named if name not in names or name in given]
        if unknown or len(values) > len(names):
            what = ", ".join(unknown) or f"{len(values)} values"
            raise TypeError(
                f"{type(self).__name__} cannot take {what}; its fields: {', '.join(names)}"
            )
        given.update(named)
        for field in self.FIELDS:
            setattr(self, field.name, given.get(field.name))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __repr__(self) -> str:
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in self.FIELDS)
        return f"{type(self).__name__}({shown})"

    def __eq__(self, other: object) -> bool:
        related = isinstance(other, type(self)) or isinstance(self, type(other))
        return related and vars(self) == vars(other)

    # Structs change, so what is hashed is which one it is, as with thriftpy2.
    __hash__ = object.__hash__

    def write(self) -> bytes:
        """The struct in Thrift's binary form; TopologyError for a value that does not fit."""
        return b"".join(self._parts())

    def _parts(self) -> Iterable[bytes]:
        for each in self.FIELDS:
            value = getattr(self, each.name)
            if value is not None:
                yield struct.pack("!bh", each.type.code, each.number) + self._written(each, value)
        yield bytes([_STOP])

    def _written(self, field: Field, value: Any) -> bytes:
        try:
            found: bytes = field.type.write(value)
        except struct.error:
            raise TopologyError(
                f"{type(self).__name__}.{field.name} cannot be {value!r} in Storm's interface"
            ) from None
        return found

    @classmethod
    def read(cls, data: Reader) -> Any:
        """The next struct; TopologyError if there is another."""
        known = {each.number: each for each in cls.FIELDS}
        values: dict[str, Any] = {}
        while code := data.number("!b"):
            field = known.get(data.number("!h"))
            if field is None or field.type.code != code:
                raise TopologyError(f"these bytes are not a {cls.__name__} of Storm's interface")
            values[field.name] = field.type.read(data)
        return cls(**values)
