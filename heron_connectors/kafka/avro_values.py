"""Values of tuples as Avro has them: each is held as it is, or refused. Pure.

Avro's writers convert without a word: 1.5 becomes the int 1, 2**40 an int of 32 bits, a datetime
loses what is below a millisecond. So a schema is made into a function that hands the writer only
values which the schema holds, names the branch of a union, and raises a ValueError for all others.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from heron_core.errors import shown
from heron_core.field_types import fits_of

Written = Callable[[Any], Any]
"""A value -> argument of the Avro writer; ValueError if the schema cannot hold the value."""
Names = dict[str, Any]
"""The named types of a schema, by their full names."""

NAMED = ("record", "error", "enum", "fixed")
PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
UNION_ORDER = ("local-timestamp-millis", "local-timestamp-micros", "int", "long", "double", "float")
"""Branches of a union tried first, in order: an int stays an int, a float keeps 64 bits, a naive
time stays naive."""


def kind_of(schema: Any) -> str:
    """The name of a type: `long`, `record`, `union`; for a named type, the name."""
    if isinstance(schema, list):
        return "union"
    return kind_of(schema["type"]) if isinstance(schema, dict) else str(schema)


def logical_of(schema: Any) -> str:
    """The logical type; an empty text for none."""
    return str(schema.get("logicalType", "")) if isinstance(schema, dict) else ""


def names_of(schema: Any) -> Names:
    """All named types defined in a parsed schema (with full names)."""
    return {each["name"]: each for each in _parts(schema) if kind_of(each) in NAMED}


def _parts(schema: Any) -> Iterator[Any]:
    if isinstance(schema, list):
        for branch in schema:
            yield from _parts(branch)
    elif isinstance(schema, dict):
        yield schema
        for key in ("items", "values"):
            yield from _parts(schema.get(key))
        for field in schema.get("fields", ()):
            yield from _parts(field["type"])
        if isinstance(schema["type"], (dict, list)):
            yield from _parts(schema["type"])


def resolved(schema: Any, names: Names) -> Any:
    """Resolve a type: a name to its definition, {"type": {…}} to the inner type."""
    if isinstance(schema, str):
        return names.get(schema, schema)
    if isinstance(schema, dict) and isinstance(schema["type"], (dict, list)):
        return resolved(schema["type"], names)
    if isinstance(schema, dict) and schema["type"] in names and schema["type"] not in PRIMITIVES:
        return names[schema["type"]]
    return schema


def writer_of(schema: Any) -> Written:
    """What a parsed schema makes of values."""
    return _SchemaCompiler(names_of(schema)).written(schema)


class _SchemaCompiler:
    """One schema; a type that has itself inside is looked up when a value comes."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._made: dict[str, Written] = {}

    def written(self, schema: Any) -> Written:
        schema = resolved(schema, self._names)
        kind = kind_of(schema)
        if kind in NAMED:
            return self._named(schema, kind)
        if kind == "union":
            return self._union(schema)
        if kind == "array":
            return _array(self.written(schema["items"]))
        if kind == "map":
            return _map(self.written(schema["values"]))
        return _plain(schema, kind)

    def _named(self, schema: Any, kind: str) -> Written:
        name = schema["name"]
        if name not in self._made:
            writers = self._made

            def later(value: Any) -> Any:
                """Converter of a nested type."""
                return writers[name](value)

            writers[name] = later
            is_record = kind in ("record", "error")
            writers[name] = self._record(schema) if is_record else _named_plain(schema)
        return self._made[name]

    def _record(self, schema: Any) -> Written:
        fields = {each["name"]: self.written(each["type"]) for each in schema["fields"]}
        optional = {each["name"] for each in schema["fields"] if "default" in each}
        return lambda value: _record(value, fields, optional)

    def _union(self, schema: Sequence[Any]) -> Written:
        branches = [resolved(each, self._names) for each in schema if kind_of(each) != "null"]
        first = sorted(branches, key=_rank_in_union)
        written = [(branch_name(each), self.written(each), each) for each in first]
        is_nullable = len(branches) < len(schema)
        return lambda value: _branch(value, written, is_nullable)


def branch_name(schema: Any) -> str:
    """What Avro's writer calls a branch of a union."""
    return str(schema["name"]) if kind_of(schema) in NAMED else kind_of(schema)


def _rank_in_union(schema: Any) -> int:
    for each in (logical_of(schema), kind_of(schema)):
        if each in UNION_ORDER:
            return UNION_ORDER.index(each)
    return len(UNION_ORDER)


def _branch(value: Any, branches: Sequence[tuple[str, Written, Any]], is_nullable: bool) -> Any:
    """The branch that holds the value; for a record, first a branch with equal fields."""
    if value is None and is_nullable:
        return None
    why = ""
    for name, written, _ in sorted(branches, key=lambda each: _differs(value, each[2])):
        try:
            encoded = written(value)
        except ValueError as error:
            why = str(error)
        else:
            return name, encoded
    raise ValueError(
        why if len(branches) == 1 else f"{shown(value)} matches none of the union's types"
    )


def _differs(value: Any, schema: Any) -> bool:
    if not isinstance(value, Mapping) or kind_of(schema) != "record":
        return False
    return value.keys() != {each["name"] for each in schema["fields"]}


# --- values with parts ----------------------------------------------------------------------------


def inside(name: str, written: Written, value: Any) -> Any:
    """What becomes of a part; the message of an error begins with its name."""
    try:
        return written(value)
    except ValueError as error:
        text = str(error)
        joined = text if text.startswith((".", "[")) else f": {text}"
        raise ValueError(f"{name}{joined}") from None


def _array(item: Written) -> Written:
    def written(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{shown(value)} is not a list")
        return [inside(f"[{at}]", item, each) for at, each in enumerate(value)]

    return written


def _map(item: Written) -> Written:
    key = _plain("string", "string")

    def written(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise ValueError(f"{shown(value)} is not a map")
        return {key(name): inside(f"[{name!r}]", item, each) for name, each in value.items()}

    return written


def _record(value: Any, fields: Mapping[str, Written], optional: set[str]) -> Any:
    """By names, or in order; a field with a default may be left out."""
    if isinstance(value, (list, tuple)) and len(value) == len(fields):
        value = dict(zip(fields, value, strict=True))
    if not isinstance(value, Mapping):
        raise ValueError(f"{shown(value)} is not a record with {', '.join(fields)}")
    if more := [each for each in value if each not in fields]:
        raise ValueError(f"the schema has no field {more[0]!r}")
    if less := [each for each in fields if each not in value and each not in optional]:
        raise ValueError(f"the field {less[0]!r} is missing, and has no default in the schema")
    return {name: inside(f".{name}", fields[name], each) for name, each in value.items()}


# --- values without parts -------------------------------------------------------------------------


def _checked(fits: Callable[[Any], bool], what: str) -> Written:
    def written(value: Any) -> Any:
        if value is None or not fits(value):
            raise ValueError(f"{shown(value)} is not {what}")
        return value

    return written


def _null(value: Any) -> None:
    if value is not None:
        raise ValueError(f"{shown(value)} is not null")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _single(value: Any) -> float:
    """A number that 32 bits have, but for the digits of a fraction."""
    return float(_checked(fits_of("float"), "a float of 32 bits")(value))


def _double(value: Any) -> float:
    return float(_checked(fits_of("double"), "a double")(value))


def _binary(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray)):
        raise ValueError(f"{shown(value)} is not bytes")
    return bytes(value)


def _instant(unit_micros: int) -> Written:
    """A datetime without a zone is one of UTC, as everywhere here."""

    def written(value: Any) -> datetime:
        moment = _moment(value, unit_micros)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    return written


def _local(unit_micros: int) -> Written:
    def written(value: Any) -> datetime:
        moment = _moment(value, unit_micros)
        if moment.tzinfo is not None:
            raise ValueError(f"{shown(value)} has a time zone, and the schema's times have none")
        return moment

    return written


def _moment(value: Any, unit_micros: int) -> datetime:
    if not isinstance(value, datetime):
        raise ValueError(f"{shown(value)} is not a datetime")
    if value.microsecond % unit_micros:
        raise ValueError(f"{value.isoformat()} has microseconds, and the schema has milliseconds")
    return value


def _time(unit_micros: int) -> Written:
    def written(value: Any) -> time:
        if not isinstance(value, time) or value.tzinfo is not None:
            raise ValueError(f"{shown(value)} is not a time of a day without a zone")
        if value.microsecond % unit_micros:
            raise ValueError(f"{value} has microseconds, and the schema has milliseconds")
        return value

    return written


def _uuid(value: Any) -> UUID:
    if isinstance(value, UUID):
        return value
    try:
        found = UUID(value)
    except (AttributeError, TypeError, ValueError):
        found = None
    if found is None or str(found) != value:
        raise ValueError(f"{shown(value)} is not a UUID")
    return found


def decimal_digits(schema: Any) -> tuple[int, int]:
    """(precision, scale) of a decimal."""
    return int(schema["precision"]), int(schema.get("scale", 0))


def _decimal(schema: Any) -> Written:
    precision, scale = decimal_digits(schema)
    what = f"a decimal of {precision} digits, {scale} of them behind the point"

    def written(value: Any) -> Decimal:
        is_whole = _is_whole(value)
        if not (is_whole or (isinstance(value, Decimal) and value.is_finite())):
            raise ValueError(f"{shown(value)} is not {what}")
        number = Decimal(value)
        _, digits, exponent = number.as_tuple()
        text = "".join(map(str, digits)).rstrip("0")
        behind = len(text) - len(digits) - int(exponent)
        before = len(digits) + int(exponent)
        if text and (behind > scale or before > precision - scale):
            raise ValueError(f"{shown(value)} is not {what}")
        return _scaled(digits if text else (0,), int(exponent) if text else 0, number, scale)

    return written


def _scaled(digits: Sequence[int], exponent: int, number: Decimal, scale: int) -> Decimal:
    """The same number with so many digits behind the point, whatever Python's context says."""
    unscaled = int("".join(map(str, digits)))
    shift = exponent + scale
    unscaled = unscaled * 10**shift if shift >= 0 else unscaled // 10**-shift
    return Decimal((int(number.is_signed() and unscaled != 0), _digits(unscaled), -scale))


def _digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(number)))


_PLAIN: Mapping[str, Written] = {
    "null": _null,
    "boolean": _checked(fits_of("boolean"), "a boolean"),
    "int": _checked(fits_of("int"), "an int of 32 bits"),
    "long": _checked(fits_of("bigint"), "a long of 64 bits"),
    "float": _single,
    "double": _double,
    "bytes": _binary,
    "string": _checked(fits_of("string"), "a text"),
}
_LOGICAL: Mapping[tuple[str, str], Written] = {
    ("int", "date"): _checked(
        lambda value: isinstance(value, date) and not isinstance(value, datetime), "a date"
    ),
    ("int", "time-millis"): _time(1000),
    ("long", "time-micros"): _time(1),
    ("long", "timestamp-millis"): _instant(1000),
    ("long", "timestamp-micros"): _instant(1),
    ("long", "local-timestamp-millis"): _local(1000),
    ("long", "local-timestamp-micros"): _local(1),
    ("string", "uuid"): _uuid,
}
"""Unknown logical types, also on decimals, are treated as their base type."""


def _plain(schema: Any, kind: str) -> Written:
    if kind == "bytes" and logical_of(schema) == "decimal":
        return _decimal(schema)
    written = _LOGICAL.get((kind, logical_of(schema))) or _PLAIN.get(kind)
    if written is None:
        raise ValueError(f"{kind!r} is not a type of Avro")
    return written


def _named_plain(schema: Any) -> Written:
    if kind_of(schema) == "enum":
        symbols = tuple(schema["symbols"])
        return _checked(lambda value: value in symbols, f"one of {', '.join(symbols)}")
    if logical_of(schema) == "decimal":
        return _decimal(schema)
    size = int(schema["size"])
    return _checked(
        lambda value: isinstance(value, (bytes, bytearray)) and len(value) == size, f"{size} bytes"
    )
