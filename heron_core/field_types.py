"""Types of fields in SQL notation (`bigint`, `array<string>`), and the check of values.

Declared types of a stream are checked on each emit; None fits every type. The names are Spark's,
so a stream's declaration is also the schema of its DataFrame.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Generic, Protocol, TypeVar

from heron_core.errors import SHORT_CHARACTERS_MAX, shown

Fits = Callable[[Any], bool]
Built = TypeVar("Built")

_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z_0-9]*|\d+|[<>(),:])")
_BITS = {
    "tinyint": 8, "byte": 8, "smallint": 16, "short": 16,
    "int": 32, "integer": 32, "bigint": 64, "long": 64,
}  # fmt: skip
DECIMAL = (10, 0)
"""Precision and scale of `decimal`, as in SQL."""
PRECISION_MAX = 38
"""Of decimals in Spark, Arrow's decimal128 and Delta."""
_SINGLE = struct.Struct("<f")
NESTING_MAX = 20
"""Far beyond any table's; it bounds the recursion."""


class UnknownType(ValueError):
    """An invalid type, with the reason."""


def _integer(bits: int) -> Fits:
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1

    def fits(value: Any) -> bool:
        is_integer = type(value) is int or (isinstance(value, Integral) and not _is_bool(value))
        return is_integer and least <= value <= most

    return fits


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if type(value) is float:
        return True
    return isinstance(value, Real) and not _is_bool(value) and _fits_float(value)


def _fits_float(value: Any) -> bool:
    """Whether a number is finite as a float, and an integer unchanged."""
    try:
        stored = float(value)
    except OverflowError:  # an int of hundreds of digits
        return False
    return stored == value or not isinstance(value, Integral)


def _is_single(value: Any) -> bool:
    """As `_is_number`, and it is no infinity only because it was stored in 32 bits."""
    if not _is_number(value):
        return False
    try:
        stored = _SINGLE.unpack(_SINGLE.pack(value))[0]
    except (OverflowError, struct.error):
        return False
    return stored == value or not isinstance(value, Integral)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and (value.isascii() or _has_utf8(value))


def _has_utf8(text: str) -> bool:
    """Whether a text is valid Unicode: half of a surrogate pair cannot be stored in tables or
    files."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_date(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _decimal(precision: int = DECIMAL[0], scale: int = DECIMAL[1]) -> Fits:
    """So many digits in all, so many of them behind the point; neither NaN nor an infinity."""

    def fits(value: Any) -> bool:
        if isinstance(value, int):
            return not _is_bool(value) and abs(value) < 10 ** (precision - scale)
        if not isinstance(value, Decimal) or not value.is_finite():
            return False
        _, digits, exponent = value.as_tuple()
        zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
        assert isinstance(exponent, int)
        is_zero = zeros == len(digits)
        behind, before = -exponent - zeros, len(digits) + exponent
        return is_zero or (behind <= scale and before <= precision - scale)

    return fits


_PLAIN: dict[str, Fits] = {
    **{name: _integer(bits) for name, bits in _BITS.items()},
    "string": _is_text,
    "boolean": _is_bool,
    "float": _is_single,
    "real": _is_single,
    "double": _is_number,
    "binary": lambda value: isinstance(value, (bytes, bytearray)),
    "date": _is_date,
    "timestamp": lambda value: isinstance(value, datetime),
    "timestamp_ntz": lambda value: isinstance(value, datetime),
    "decimal": _decimal(),
}


class TypeBuilder(Protocol[Built]):
    """Builder of a parsed type: its parts come first."""

    def plain(self, name: str, numbers: Sequence[int]) -> Built:
        """A type without parts; `numbers` are the numbers in brackets after its name."""

    def array(self, item: Built) -> Built:
        """array<item>"""

    def map(self, key: Built, item: Built) -> Built:
        """map<key, item>"""

    def struct(self, fields: dict[str, Built]) -> Built:
        """struct<name: type, …>"""


@lru_cache(maxsize=256)
def fits_of(text: str) -> Fits:
    """Whether a non-None value fits the type in `text`; UnknownType."""
    return built(text, _FitsBuilder())


def built(text: str, builder: TypeBuilder[Built]) -> Built:
    """Result of `builder` for the type in `text`; UnknownType."""
    parser = _Parser(text, builder)
    found = parser.type(0)
    parser.expect("")
    return found


class _FitsBuilder:
    """Makes the check of a value."""

    def plain(self, name: str, numbers: Sequence[int]) -> Fits:
        return _decimal(*numbers) if numbers else _PLAIN[name]

    def array(self, item: Fits) -> Fits:
        fits = _nullable(item)
        return lambda value: _is_list(value) and all(map(fits, value))

    def map(self, key: Fits, item: Fits) -> Fits:
        fits = _nullable(item)
        return lambda value: (
            isinstance(value, Mapping) and all(map(key, value)) and all(map(fits, value.values()))
        )

    def struct(self, fields: dict[str, Fits]) -> Fits:
        nullable = {name: _nullable(fits) for name, fits in fields.items()}
        return lambda value: _fits_struct(value, nullable)


class _Parser(Generic[Built]):
    """Recursive descent over the tokens of one type."""

    def __init__(self, text: str, builder: TypeBuilder[Built]) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._builder = builder

    def type(self, depth: int) -> Built:
        """Parse one type."""
        name = self._take().lower()
        if depth > NESTING_MAX:
            raise UnknownType(f"{self._text!r} is nested more than {NESTING_MAX} deep")
        if name == "array":
            return self._array(depth)
        if name == "map":
            return self._map(depth)
        if name == "struct":
            return self._struct(depth)
        if name not in _PLAIN:
            known = ", ".join([*_PLAIN, "array<…>", "map<…>", "struct<…>"])
            raise UnknownType(f"{self._text!r} is not a type; the types are {known}")
        numbers = self._numbers() if name == "decimal" and self._next == "(" else []
        self._check_decimal(numbers)
        return self._builder.plain(name, numbers)

    def _check_decimal(self, numbers: Sequence[int]) -> None:
        precision, scale = (*numbers, *DECIMAL[len(numbers) :])[:2]
        if len(numbers) > len(DECIMAL) or not scale <= precision <= PRECISION_MAX or not precision:
            raise UnknownType(
                f"{self._text!r} is not a type: decimal(precision, scale) has a precision of"
                f" 1 to {PRECISION_MAX} digits, and at most as many behind the point"
            )

    def expect(self, token: str) -> None:
        """Consume the token, "" being the end."""
        if self._take() != token:
            raise UnknownType(f"{self._text!r} is not a type: {token or 'its end'!r} is missing")

    @property
    def _next(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def _take(self) -> str:
        return self._tokens.pop() if self._tokens else ""

    def _numbers(self) -> list[int]:
        """(precision, scale)"""
        numbers = []
        self.expect("(")
        while self._next not in (")", ""):
            token = self._take()
            if token.isdigit():
                numbers.append(int(token))
        self.expect(")")
        return numbers

    def _array(self, depth: int) -> Built:
        self.expect("<")
        item = self.type(depth + 1)
        self.expect(">")
        return self._builder.array(item)

    def _map(self, depth: int) -> Built:
        self.expect("<")
        key = self.type(depth + 1)
        self.expect(",")
        item = self.type(depth + 1)
        self.expect(">")
        return self._builder.map(key, item)

    def _struct(self, depth: int) -> Built:
        fields: dict[str, Built] = {}
        separator = "<"
        while True:
            self.expect(separator)
            name = self._take()
            self.expect(":")
            fields[name] = self.type(depth + 1)
            separator = ","
            if self._next != ",":
                break
        self.expect(">")
        return self._builder.struct(fields)


def _tokens(text: str) -> list[str]:
    """The tokens, the first one last."""
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise UnknownType(
                f"{text!r} is not a type: {text[position:].strip()[:1]!r} is not in any"
            )
        tokens.append(match[1])
        position = match.end()
    return tokens[::-1]


def _nullable(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _fits_struct(value: Any, fields: Mapping[str, Fits]) -> bool:
    if isinstance(value, Mapping):
        return value.keys() <= fields.keys() and all(fields[each](value[each]) for each in value)
    values: Sequence[Any] = value if _is_list(value) else ()
    if not _is_list(value) or len(values) != len(fields):
        return False
    return all(fits(each) for fits, each in zip(fields.values(), values, strict=True))


class FieldChecks:
    """Checks the values of one stream's tuples."""

    def __init__(
        self, component: str, stream: str, fields: Sequence[str], types: Sequence[str]
    ) -> None:
        self._where = f"{component}.{stream}"
        self._checks = tuple(
            (name, text, fits_of(text)) for name, text in zip(fields, types, strict=True)
        )

    def check(self, values: Sequence[Any]) -> None:
        """TypeError that names the first field whose value does not fit."""
        for value, (name, text, fits) in zip(values, self._checks, strict=True):
            if value is not None and not fits(value):
                raise TypeError(
                    f"{self._where}: field {name!r} is declared as {text}, but got a "
                    f"{type(value).__name__}: {shown(value, SHORT_CHARACTERS_MAX)}"
                )


def declared_types(label: str, fields: Mapping[Any, Any]) -> tuple[str, ...]:
    """The types of `{field: type}` as outputs declare them; TypeError for what is no type."""
    for name, text in fields.items():
        if not isinstance(text, str):
            raise TypeError(f"{label}: the type of field {name!r} must be a string, not {text!r}")
        try:
            fits_of(text)
        except UnknownType as error:
            raise TypeError(f"{label}: field {name!r}: {error}") from None
    return tuple(" ".join(text.split()) for text in fields.values())
