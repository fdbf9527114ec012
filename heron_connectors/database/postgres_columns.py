"""Columns of Postgres. Postgres rounds, shifts, cuts or parses values to fit a column's type: a
value that would change is rejected."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from heron_connectors.database.columns import (
    HALF_A_CHARACTER,
    DatabaseColumn,
    is_half_a_character,
)
from heron_connectors.json_values import document_of
from heron_core.field_types import built

_COLUMNS = """
SELECT a.attname,
  format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END,
              CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END),
  (a.attnotnull OR t.typnotnull) AND NOT a.atthasdef AND a.attidentity = ''
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KIND = re.compile(r"([a-z ]+?)(?:\((\d+)(?:,(-?\d+))?\))?( with(?:out)? time zone)?")
_BITS = {"smallint": 16, "integer": 32, "bigint": 64}
SINGLE_MOST = 3.4028235677973366e38
"""From here on a number is infinite in 32 bits."""
MICROSECOND_DIGITS = 6
_DECLARED = {
    "boolean": "boolean", "tinyint": "smallint", "byte": "smallint", "smallint": "smallint",
    "short": "smallint", "int": "integer", "integer": "integer", "bigint": "bigint",
    "long": "bigint", "float": "real", "double": "double precision", "string": "text",
    "binary": "bytea", "date": "date", "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}  # fmt: skip
_JSON = ("json", "jsonb")
Numbers = tuple[int | None, int | None]
"""Those in brackets behind a type's name."""


class Postgres:
    """See `Dialect`."""

    def columns(self, cursor: Any, table: str) -> list[DatabaseColumn]:
        """The columns of a table; empty without a table."""
        cursor.execute(_COLUMNS, [table])
        return [DatabaseColumn(*found) for found in cursor.fetchall()]

    def key(self, name: str) -> str:
        """Without quotes a name is kept in small letters."""
        return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()

    def problem(self, column: DatabaseColumn, value: Any) -> str:
        """Why a column would change or refuse a value; empty if it would not."""
        return _problem(column.kind, value)

    def value(self, column: DatabaseColumn, value: Any) -> Any:
        """JSON as text; a text is passed unchanged."""
        is_document = column.kind in _JSON and not isinstance(value, str)
        return document_of(value).decode() if is_document and value is not None else value

    def kind_of(self, declared: str | None, values: Sequence[Any]) -> str | None:
        """The type of a new column."""
        if declared is not None:
            return built(declared, _Kinds())
        return next((kind for each in values if (kind := _kind_of_value(each))), None)


class _Kinds:
    """Makes the type that Postgres has for a declared one."""

    def plain(self, name: str, numbers: Sequence[int]) -> str:
        if name == "decimal":
            precision, scale = (*numbers, *(10, 0)[len(numbers) :])
            return f"numeric({precision},{scale})"
        return _DECLARED[name]

    def array(self, item: str) -> str:
        return "jsonb" if item == "jsonb" or item.endswith("[]") else f"{item}[]"

    def map(self, key: str, item: str) -> str:
        return "jsonb"

    def struct(self, fields: dict[str, str]) -> str:
        return "jsonb"


def _kind_of_value(value: Any) -> str | None:
    if isinstance(value, datetime):
        return f"timestamp {'without' if value.tzinfo is None else 'with'} time zone"
    if isinstance(value, list):
        kinds = {kind for each in value if (kind := _kind_of_value(each))}
        if len(kinds) != 1:
            return None
        return "jsonb" if _nests(value) else f"{kinds.pop()}[]"
    kinds_of: Sequence[tuple[type, str]] = (
        (bool, "boolean"), (int, "bigint"), (float, "double precision"), (str, "text"),
        (bytes, "bytea"), (date, "date"), (time, "time without time zone"), (Decimal, "numeric"),
        (timedelta, "interval"), (UUID, "uuid"), (dict, "jsonb"),
    )  # fmt: skip
    return next((kind for each, kind in kinds_of if isinstance(value, each)), None)


def _nests(value: Sequence[Any]) -> bool:
    return any(isinstance(each, (list, tuple, dict)) for each in value)


def _problem(kind: str, value: Any) -> str:
    if kind.endswith("[]"):
        return _problem_of_array(kind.removesuffix("[]"), value)
    found = _KIND.fullmatch(kind)
    check = None if found is None else _CHECKS.get(f"{found[1]}{found[4] or ''}")
    if found is None or check is None:
        return _of_others(kind, value)
    numbers = tuple(None if each is None else int(each) for each in found.group(2, 3))
    return check(kind, value, numbers)


def _problem_of_array(kind: str, value: Any) -> str:
    if not isinstance(value, list) or _nests(value):
        return f"the column is {kind}[], and it is {_a(value)}{' of others' * _is_list(value)}"
    return next((why for each in value if each is not None and (why := _problem(kind, each))), "")


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _of_others(kind: str, value: Any) -> str:
    """Enums, networks, ranges and types of one's own: the database parses their text."""
    return _text(kind, value, (None, None)) if isinstance(value, str) else ""


def _integer(kind: str, value: Any, numbers: Numbers) -> str:
    if not isinstance(value, int) or isinstance(value, bool):
        return _other(kind, value)
    most = 1 << _BITS[kind] - 1
    return "" if -most <= value < most else f"the column is {kind}"


def _single(kind: str, value: Any, numbers: Numbers) -> str:
    if why := _double(kind, value, numbers):
        return why
    is_finite = abs(value) != float("inf")
    return f"the column is {kind}" if is_finite and abs(value) >= SINGLE_MOST else ""


def _double(kind: str, value: Any, numbers: Numbers) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _other(kind, value)
    if isinstance(value, int) and (abs(value) > 1 << 1000 or int(float(value)) != value):
        return f"the column is {kind}, with 53 bits for a number"
    return ""


def _numeric(kind: str, value: Any, numbers: Numbers) -> str:
    precision, scale = numbers
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return _other(kind, value)
    value = Decimal(value)
    if not value.is_finite():
        is_kept = value.is_qnan() or (value.is_infinite() and precision is None)
        return "" if is_kept else f"the column is {kind}"
    if precision is None:
        return ""
    whole = precision - (scale or 0)
    fits = value == 0 or value.adjusted() < whole
    return "" if fits and _digits_behind(value) <= (scale or 0) else f"the column is {kind}"


def _digits_behind(value: Decimal) -> int:
    """Of the fraction, without zeros at its end."""
    exponent = value.as_tuple().exponent
    if value == 0 or not isinstance(exponent, int):
        return 0
    digits = "".join(map(str, value.as_tuple().digits))
    return -exponent - (len(digits) - len(digits.rstrip("0")))


def _text(kind: str, value: Any, numbers: Numbers) -> str:
    if not isinstance(value, str):
        return _other(kind, value)
    if "\0" in value:
        return "Postgres has no NUL in a text"
    if is_half_a_character(value):
        return HALF_A_CHARACTER
    is_long = numbers[0] is not None and len(value) > numbers[0]
    return f"the column is {kind}, and it has {len(value)} characters" if is_long else ""


def _time(kind: str, value: Any, numbers: Numbers) -> str:
    wanted = datetime if kind.startswith("timestamp") else time
    if not isinstance(value, wanted):
        return _other(kind, value)
    if (value.tzinfo is not None) != kind.endswith("with time zone"):
        has = "no time zone" if value.tzinfo is None else "a time zone"
        return f"the column is {kind}, and it has {has}"
    digits = MICROSECOND_DIGITS if numbers[0] is None else numbers[0]
    is_cut = value.microsecond % 10 ** (MICROSECOND_DIGITS - digits)
    return f"the column is {kind}" if is_cut else ""


def _json(kind: str, value: Any, numbers: Numbers) -> str:
    try:
        text = value if isinstance(value, str) else document_of(value).decode()
        found = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        return f"the column is {kind}: {error}"
    if is_half_a_character(text):
        return HALF_A_CHARACTER
    return "jsonb has no NUL in a text" if kind == "jsonb" and "\0" in _texts_in(found) else ""


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _texts_in(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        value = [*value, *value.values()]
    return "".join(map(_texts_in, value)) if isinstance(value, list) else ""


def _only(*types: type, but: tuple[type, ...] = ()) -> Callable[[str, Any, Numbers], str]:
    def check(kind: str, value: Any, numbers: Numbers) -> str:
        fits = isinstance(value, types) and not isinstance(value, but)
        return "" if fits else _other(kind, value)

    return check


def _other(kind: str, value: Any) -> str:
    return f"the column is {kind}, and it is {_a(value)}: row_of(tup) of a subclass decides"


def _a(value: Any) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


_CHECKS: Mapping[str, Callable[[str, Any, Any], str]] = {
    **dict.fromkeys(_BITS, _integer),
    "real": _single,
    "double precision": _double,
    "numeric": _numeric,
    **dict.fromkeys(("text", "character varying", "character"), _text),
    **{
        f"{name} {zone} time zone": _time
        for name in ("timestamp", "time")
        for zone in ("with", "without")
    },
    "boolean": _only(bool),
    "bytea": _only(bytes, bytearray, memoryview),
    "date": _only(date, but=(datetime,)),
    "interval": _only(timedelta),
    "uuid": _only(UUID),
    **dict.fromkeys(_JSON, _json),
}
