"""Thrift structs as plain Python classes: named fields, equal by value, written in Thrift's binary
form (Apache Thrift specification, thrift-binary-protocol.md).

Input may come from any sender, so every length is compared with the bytes left, every type has to
be known, and skipped fields nest to a limit. (A general library reads a list of two billion
elements of an unknown type, which takes no bytes and minutes.)
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from heron_core.errors import TopologyError, shown

_STOP = 0
_SIZES = {2: 1, 3: 1, 4: 8, 6: 2, 8: 4, 10: 8}
"""Code of a type whose values have one size -> bytes of a value."""
_TEXT, _STRUCT, _MAP, _SET, _LIST = 11, 12, 13, 14, 15
_LAYOUTS: dict[str, struct.Struct] = {}
"""Format of a number -> its struct."""
_DEPTH_MAX = 50
"""Deepest nesting of skipped fields: Storm's deepest struct has six levels."""


class MalformedMessage(TopologyError):
    """Bytes that do not follow the interface."""


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
    errors: str = "strict"
    """Treatment of half a character in a text that is written, as for `str.encode`."""

    def write(self, value: Any) -> bytes:
        """The value's bytes."""
        raw = value.encode("utf-8", self.errors) if isinstance(value, str) else value
        return struct.pack("!i", len(raw)) + raw

    def read(self, data: "Reader") -> Any:
        """The next value."""
        raw = data.take(data.number("!i"))
        try:
            return raw.decode() if self.text else raw
        except UnicodeDecodeError:
            raise MalformedMessage(f"the text {shown(raw)} is not UTF-8") from None


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
        code, number = data.number("!b"), data.count()
        if number and code != self.item.code:
            raise MalformedMessage("a list has items of another type than in Storm's interface")
        return [self.item.read(data) for _ in range(number)]


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
        codes, number = (data.number("!b"), data.number("!b")), data.count()
        if number and codes != (self.key.code, self.value.code):
            raise MalformedMessage("a map has entries of another type than in Storm's interface")
        return {self.key.read(data): self.value.read(data) for _ in range(number)}


BOOL = Plain(2, "!?")
DOUBLE = Plain(4, "!d")
I32 = Plain(8, "!i")
I64 = Plain(10, "!q")
STRING = Bytes(True)
BINARY = Bytes(False)


class Reader:
    """Bytes that are read from the front; MalformedMessage if they end too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        taken = self._data[self._position : self._position + size]
        if size < 0 or len(taken) < size:
            raise MalformedMessage("not a Thrift struct of Storm: the bytes end too soon")
        self._position += size
        return taken

    def number(self, form: str) -> int:
        """The next number in a `struct` format."""
        layout = _LAYOUTS.get(form) or _LAYOUTS.setdefault(form, struct.Struct(form))
        value: int = layout.unpack(self.take(layout.size))[0]
        return value

    def rest(self) -> bytes:
        """All bytes left."""
        return self.take(len(self._data) - self._position)

    def count(self) -> int:
        """Number of the following items, each of one byte at least; MalformedMessage for more than
        fit."""
        number = self.number("!i")
        if not 0 <= number <= len(self._data) - self._position:
            raise MalformedMessage("not a Thrift struct of Storm: the bytes end too soon")
        return number

    def skip(self, code: int, depth: int = 0) -> None:
        """Pass over a value of a type: of a field that a newer Storm has."""
        if depth > _DEPTH_MAX:
            raise MalformedMessage("an unknown field is nested too deeply")
        if code in _SIZES:
            self.take(_SIZES[code])
        elif code == _TEXT:
            self.take(self.number("!i"))
        elif code == _STRUCT:
            while inner := self.number("!b"):
                self.take(2)
                self.skip(inner, depth + 1)
        elif code in (_MAP, _SET, _LIST):
            self._skip_items(2 if code == _MAP else 1, depth)
        else:
            raise MalformedMessage(f"not a Thrift struct of Storm: unknown type code {code}")

    def _skip_items(self, types: int, depth: int) -> None:
        codes = [self.number("!b") for _ in range(types)]
        for _ in range(self.count()):
            for code in codes:
                self.skip(code, depth + 1)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct: number on the wire, name and type."""

    number: int
    name: str
    type: Any
    is_required: bool = False
    """Whether bytes without the field are malformed."""


NamedField = tuple[int, str, Any] | tuple[int, str, Any, bool]


def fields(*named: NamedField) -> tuple[Field, ...]:
    """A struct's fields from (number, name, type), and perhaps whether the field is required."""
    return tuple(Field(*each) for each in named)


class Struct:
    """Base of Thrift structs; a field that is None is absent."""

    FIELDS: ClassVar[Sequence[Field]] = ()
    code: ClassVar[int] = 12
    _by_number: ClassVar[dict[int, Field]] = {}
    _absent: ClassVar[dict[str, Any]] = {}
    """Name -> None."""
    _required: ClassVar[Sequence[str]] = ()

    def __init_subclass__(cls) -> None:
        cls._by_number = {field.number: field for field in cls.FIELDS}
        cls._absent = {field.name: None for field in cls.FIELDS}
        cls._required = [field.name for field in cls.FIELDS if field.is_required]

    def __init__(self, *values: Any, **named: Any) -> None:
        """The fields in order or by name; TypeError for an unknown name."""
        names = self._absent
        given = dict(zip(names, values, strict=False))
        unknown = [name for name in named if name not in names or name in given]
        if unknown or len(values) > len(names):
            what = ", ".join(unknown) or f"{len(values)} values"
            raise TypeError(
                f"{type(self).__name__} cannot take {what}; its fields: {', '.join(names)}"
            )
        vars(self).update(names | given | named)

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
        except (struct.error, UnicodeEncodeError):
            raise TopologyError(
                f"{type(self).__name__}.{field.name} cannot be {value!r} in Storm's interface"
            ) from None
        return found

    @classmethod
    def read(cls, data: Reader) -> Any:
        """The next struct, without fields that only a newer Storm has; MalformedMessage if one of
        its own fields has another type, or a required field is absent."""
        known = cls._by_number
        values = cls._absent.copy()
        while code := data.number("!b"):
            field = known.get(data.number("!h"))
            if field is None:
                data.skip(code)
                continue
            if field.type.code != code:
                raise MalformedMessage(f"the bytes are not a {cls.__name__} of Storm's interface")
            values[field.name] = field.type.read(data)
        for name in cls._required:
            if values[name] is None:
                raise MalformedMessage(f"{name} is missing")
        instance = cls.__new__(cls)
        vars(instance).update(values)
        return instance


def struct_type(name: str, *named: NamedField) -> type[Struct]:
    """A struct class from (number, name, type)."""
    return type(name, (Struct,), {"FIELDS": fields(*named)})
