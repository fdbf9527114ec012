"""Values of Postgres, parsed from the text output of its types without loss; a value without
Python equivalent is `Unrepresentable`. Pure.

The reading session uses `SETTINGS`, which makes the texts unambiguous.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

SETTINGS = {
    "client_encoding": "UTF8",
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "xmloption": "content",
}
"""Of the session. With extra_float_digits above 0 a text has all digits of a number."""

Parse = Callable[[str], Any]


class Unrepresentable(ValueError):
    """A value that Python does not have; the text says why."""


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """What pg_type says of a type."""

    oid: int
    kind: str
    """b (base), c (composite), d (domain), e (enum), r (range), m (multirange)."""
    element: int
    """Of an array: the type of its elements; else 0."""
    base: int
    """Base type of a domain; else 0."""
    delimiter: str = ","
    """Between two elements of an array."""


def _date(text: str) -> date:
    _check_time(text)
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Unrepresentable(f"{text} is beyond the year 9999") from None


def _check_time(text: str) -> None:
    if text.endswith("infinity"):
        raise Unrepresentable(f"{text} is outside the range of Python's dates")
    if text.endswith(" BC"):
        raise Unrepresentable(f"{text}: Python has no date before the year 1")


def _timestamp(text: str) -> datetime:
    _check_time(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise Unrepresentable(f"{text} is beyond the year 9999") from None


def _instant(text: str) -> datetime:
    return _timestamp(text).astimezone(UTC)


def _time_of_day(text: str) -> time:
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise Unrepresentable(f"{text} is outside the range of Python's times") from None


_INTERVAL = re.compile(
    r"(?:(?P<years>[-+]?\d+) years? ?)?(?:(?P<months>[-+]?\d+) mons? ?)?"
    r"(?:(?P<days>[-+]?\d+) days? ?)?"
    r"(?:(?P<sign>[-+])?(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)(?:\.(?P<part>\d{1,6}))?)?"
)


def _interval(text: str) -> timedelta:
    match = _INTERVAL.fullmatch(text)
    if match is None or not text:
        raise Unrepresentable(f"{text} is outside the range of Python's durations")
    if match["years"] or match["months"]:
        raise Unrepresentable(f"{text}: months and years do not have a fixed length")
    part = int((match["part"] or "").ljust(6, "0"))
    seconds = (int(match["hours"] or 0) * 60 + int(match["minutes"] or 0)) * 60
    length = timedelta(seconds=seconds + int(match["seconds"] or 0), microseconds=part)
    try:
        return timedelta(days=int(match["days"] or 0)) + (
            -length if match["sign"] == "-" else length
        )
    except OverflowError:
        raise Unrepresentable(f"{text} is more than a billion days") from None


def _bytes(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise Unrepresentable("a bytea that is not in hex")
    return bytes.fromhex(text[2:])


def _document(text: str) -> Any:
    """JSON, whose numbers with a fraction are doubles, or decimals where no double is the same."""
    try:
        return json.loads(text, parse_float=_fraction, object_pairs_hook=_object)
    except RecursionError:
        raise Unrepresentable("JSON that is nested too deeply") from None


def _fraction(text: str) -> float | Decimal:
    number, exact = float(text), Decimal(text)
    return number if Decimal(repr(number)) == exact else exact


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unrepresentable("an object in the JSON has a duplicate key")
    return found


def _text(text: str) -> str:
    return text


def _truth(text: str) -> bool:
    return {"t": True, "f": False}[text]


_PLAIN: Mapping[int, Parse] = {
    16: _truth, 17: _bytes, 20: int, 21: int, 23: int, 26: int, 25: _text, 114: _document,
    700: float, 701: float, 1042: _text, 1043: _text, 1082: _date, 1083: _time_of_day,
    1114: _timestamp, 1184: _instant, 1186: _interval, 1266: _time_of_day, 1700: Decimal,
    2950: UUID, 3802: _document,
}  # fmt: skip
"""By the oids of src/include/catalog/pg_type.dat; all others are their text."""
_PLAIN_ARRAYS: Mapping[int, int] = {
    1000: 16, 1001: 17, 1005: 21, 1007: 23, 1009: 25, 1014: 1042, 1015: 1043, 1016: 20, 1021: 700,
    1022: 701, 1028: 26, 1115: 1114, 1182: 1082, 1183: 1083, 1185: 1184, 1187: 1186, 1231: 1700,
    1270: 1266, 199: 114, 2951: 2950, 3807: 3802,
}  # fmt: skip
NESTING_MAX = 8
"""Of domains over arrays over domains, for one that the catalog would go round in."""
DIMENSIONS_MAX = 6
"""Postgres' own limit (MAXDIM)."""


class Types:
    """Which values the texts of a type are; types of users have to be made known before."""

    def __init__(self) -> None:
        self._infos: dict[int, TypeInfo] = {}
        self._parsers: dict[int, Parse] = {}

    def unknown(self, oids: set[int]) -> set[int]:
        """Types to look up in the catalog, and their component types."""
        wanted = set(oids)
        for oid in oids:
            info = self._infos.get(oid)
            wanted |= set() if info is None else {info.element, info.base}
        return {
            type_oid
            for type_oid in wanted - {0}
            if type_oid not in self._infos
            and type_oid not in _PLAIN
            and type_oid not in _PLAIN_ARRAYS
        }

    def learn(self, info: TypeInfo) -> None:
        """What the catalog says."""
        self._infos[info.oid] = info
        self._parsers.clear()

    def complete(self, oids: set[int], ask: Callable[[set[int]], Sequence[TypeInfo]]) -> None:
        """Register types and their component types; `ask` queries the catalog."""
        while unknown := self.unknown(oids):
            found = ask(unknown)
            for each in found:
                self.learn(each)
            if not found:
                return  # a dropped type: its values are rejected
            oids = {each.oid for each in found}

    def forget(self) -> None:
        """A type may have changed."""
        self._infos.clear()
        self._parsers.clear()

    def value(self, oid: int, text: str) -> Any:
        """The Python value of a text; Unrepresentable for a value without a Python form."""
        parse = self._parsers.get(oid)
        if parse is None:
            parse = self._parsers[oid] = self._parser(oid, 0)
        try:
            return parse(text)
        except Unrepresentable:
            raise
        except (ValueError, KeyError, ArithmeticError):
            raise Unrepresentable(
                f"{text[:60]!r} is not a value of the type with the oid {oid}"
            ) from None

    def _parser(self, oid: int, depth: int) -> Parse:
        if oid in _PLAIN:
            return _PLAIN[oid]
        if oid in _PLAIN_ARRAYS:
            return partial(array, parse=_PLAIN[_PLAIN_ARRAYS[oid]], delimiter=",")
        info = self._infos.get(oid)
        if info is None or depth > NESTING_MAX:
            return partial(_of_unknown, oid)
        if info.kind == "d":
            return self._parser(info.base, depth + 1)
        if info.element:
            parse = self._parser(info.element, depth + 1)
            return partial(array, parse=parse, delimiter=info.delimiter)
        return _text


def _of_unknown(oid: int, text: str) -> Any:
    raise Unrepresentable(f"the type with the oid {oid} is not in the catalog any more")


def array(text: str, parse: Parse, delimiter: str) -> Any:
    """A list of an array's text; Unrepresentable for an array whose first index is not 1."""
    if text.startswith("["):
        raise Unrepresentable(f"{text[:60]}: a list must start at its first element")
    found, at = _list(text, 0, parse, delimiter, 1)
    if at != len(text):
        raise Unrepresentable(f"{text[:60]!r} is not an array")
    return found


def _list(text: str, at: int, parse: Parse, delimiter: str, depth: int) -> tuple[list[Any], int]:
    """The list whose brace is at that place, and where the text goes on behind it."""
    items: list[Any] = []
    if text[at : at + 1] != "{" or depth > DIMENSIONS_MAX:
        raise Unrepresentable(f"{text[:60]!r} is not an array")
    at += 1
    while text[at : at + 1] != "}":
        if text[at : at + 1] == "{":
            item, at = _list(text, at, parse, delimiter, depth + 1)
        else:
            item, at = _item(text, at, parse, delimiter)
        items.append(item)
        if text[at : at + 1] == delimiter:
            at += 1
        elif text[at : at + 1] != "}":
            raise Unrepresentable(f"{text[:60]!r} is not an array")
    return items, at + 1


_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def _item(text: str, at: int, parse: Parse, delimiter: str) -> tuple[Any, int]:
    if (quoted := _QUOTED.match(text, at)) is not None:
        return parse(_ESCAPED.sub(r"\1", quoted[1])), quoted.end()
    ends = [end for each in (delimiter, "}") if (end := text.find(each, at)) >= 0]
    end = min(ends, default=len(text))
    word = text[at:end]
    return (None if word == "NULL" else parse(word)), end
