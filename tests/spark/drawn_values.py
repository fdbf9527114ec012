"""Types of columns and values, drawn from a seed; and the fate of a value in a column.

`draw_type` takes any type allowed for a stream, `draw_value` a value of the type, edges more often
than not, and `draw_misfit` a value outside. `as_column` gives, in plain Python without Arrow, a
value after its way through a column; `shown` makes values comparable, types and all.
"""

import re
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
DECIMALS = ((10, 0), (10, 2), (38, 0), (38, 18), (5, 5), (1, 0))
PLAIN = (
    *BITS, "float", "double", "decimal", *(f"decimal({p},{s})" for p, s in DECIMALS),
    "string", "binary", "boolean", "date", "timestamp", "timestamp_ntz",
)  # fmt: skip
DEPTH_MAX = 2
NULL_SHARE = 0.15
TEXTS = (
    "", "007", "a\0b", "größe", 'x,"y";\t', "a\r\nb", "\u2028\x85", "e\u0301", "\u202eabc",
    "\ufeff", "😀", "\U0010ffff", "nan", "null", " ", "\x7f\x1b[0m", "ß" * 300,
)  # fmt: skip
BINARIES = (b"", b"\xff\x00\n", bytes(range(256)), b"\xed\xa0\x80")
ZONES = (
    UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=12)),
    timezone(timedelta(hours=14)), timezone(timedelta(minutes=-1)),
)  # fmt: skip
TIMES = (
    datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1, 1, 2),
    datetime(9999, 12, 30, 23, 59, 59, 999_999), datetime(2013, 3, 10, 2, 30, 0, 1),
    datetime(2024, 11, 3, 1, 30), datetime(2024, 11, 3, 1, 30, fold=1), datetime(1582, 10, 10),
)  # fmt: skip
"""Including a time skipped by New York's clocks, and a repeated one."""
SINGLE = struct.Struct("<f")


def draw_type(random: Random, depth: int = 0) -> str:
    """Any type; arrays, maps and structs of others, down to DEPTH_MAX."""
    kind = random.choice((*PLAIN, "array", "map", "struct", "struct"))
    if kind not in ("array", "map", "struct"):
        return kind
    if depth == DEPTH_MAX:
        return random.choice(PLAIN)
    if kind == "array":
        return f"array<{draw_type(random, depth + 1)}>"
    if kind == "map":
        return f"map<{random.choice(('string', 'int', 'date'))},{draw_type(random, depth + 1)}>"
    fields = (f"{name}:{draw_type(random, depth + 1)}" for name in "abc"[: random.randint(1, 3)])
    return f"struct<{','.join(fields)}>"


def parts_of(kind: str) -> tuple[str, list[str], list[str]]:
    name, _, rest = kind.partition("<")
    if not rest:
        return kind, [], []
    parts, level = [""], 0
    for letter in rest[:-1]:
        level += (letter in "<(") - (letter in ">)")
        if letter == "," and not level:
            parts.append("")
        else:
            parts[-1] += letter
    if name != "struct":
        return name, [], parts
    pairs = [each.split(":", 1) for each in parts]
    return name, [each for each, _ in pairs], [each for _, each in pairs]


def draw_value(random: Random, kind: str, *, nullable: bool = True) -> Any:
    """A value of the type, or None."""
    if nullable and random.random() < NULL_SHARE:
        return None
    name, fields, parts = parts_of(kind)
    if name == "array":
        made = [draw_value(random, parts[0]) for _ in range(random.randint(0, 3))]
        return tuple(made) if random.random() < 0.2 else made
    if name == "map":
        keys = [draw_value(random, parts[0], nullable=False) for _ in range(random.randint(0, 3))]
        return {key: draw_value(random, parts[1]) for key in keys}
    if name == "struct":
        made = [draw_value(random, each) for each in parts]
        if random.random() < 0.2:
            return tuple(made)
        kept = [pair for pair in zip(fields, made, strict=True) if random.random() < 0.9]
        return dict(kept)
    return _plain_value(random, name)


def _plain_value(random: Random, kind: str) -> Any:
    if kind in BITS:
        most = (1 << BITS[kind] - 1) - 1
        return random.choice((0, 1, -1, most, -most - 1, random.randint(-most, most)))
    if kind.startswith("decimal"):
        return _decimal(random, *precision_of(kind))
    return _DRAWS[kind](random)


def precision_of(kind: str) -> tuple[int, int]:
    """Of a decimal: digits in all, and behind the point."""
    numbers = [int(each) for each in re.findall(r"\d+", kind)]
    return (numbers[0], numbers[1]) if numbers else (10, 0)


def _decimal(random: Random, precision: int, scale: int) -> Any:
    most = 10**precision - 1
    unscaled = random.choice((0, 1, -1, most, -most, random.randint(-most, most)))
    value = Decimal(unscaled).scaleb(-scale) if precision < 28 else _scaled(unscaled, scale)
    if scale == 0 and random.random() < 0.3:
        return int(value)
    return Decimal("-0.0") if random.random() < 0.05 else value


def _scaled(unscaled: int, scale: int) -> Decimal:
    """Without the context, which rounds to 28 digits."""
    sign, digits, _ = Decimal(unscaled).as_tuple()
    return Decimal((sign, digits, -scale))


def _aware(random: Random) -> datetime:
    return random.choice(TIMES).replace(tzinfo=random.choice(ZONES))


def _time(random: Random) -> datetime:
    return _aware(random) if random.random() < 0.5 else random.choice(TIMES)


_DRAWS: dict[str, Callable[[Random], Any]] = {
    "float": lambda random: random.choice(
        (0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.1, 1e-45, 3.4e38, 7)
    ),
    "double": lambda random: random.choice(
        (0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.1, 5e-324, 1.8e308 / 2, 7, 2**60)
    ),
    "string": lambda random: random.choice(TEXTS),
    "binary": lambda random: random.choice((*BINARIES, bytearray(b"x\xff"))),
    "boolean": lambda random: random.random() < 0.5,
    "date": lambda random: random.choice(
        (date.min, date.max, date(1970, 1, 1), date(1582, 10, 10), date(2024, 2, 29))
    ),
    "timestamp": _time,
    "timestamp_ntz": _time,
}


def draw_misfit(random: Random, kind: str) -> Any:
    """A value outside of the type."""
    name, fields, parts = parts_of(kind)
    if name == "array":
        return random.choice(([draw_misfit(random, parts[0])], "text", {1: 2}))
    if name == "map":
        return random.choice(([1], {object: None}, {"x": draw_misfit(random, parts[1])}))
    if name == "struct":
        first = {fields[0]: draw_misfit(random, parts[0])}
        return random.choice((first, {"unknown": 1}, [None] * (len(fields) + 1), 7))
    if name in BITS:
        return random.choice((1 << BITS[name] - 1, True, 1.0, "1"))
    if name.startswith("decimal"):
        precision, scale = precision_of(name)
        behind = Decimal((0, (1,), -scale - 1))
        others = (Decimal("NaN"), Decimal("Infinity"), 1.5, "1", 10 ** (precision - scale), behind)
        return random.choice(others)
    return random.choice(_MISFITS[name])


_MISFITS: dict[str, tuple[Any, ...]] = {
    "float": ("1", True, 1e39, Decimal(1), 10**400),
    "double": ("1", True, Decimal(1), 10**400),
    "string": (1, b"x", "half \ud83d"),
    "binary": ("x", [1]),
    "boolean": (1, 0, "true"),
    "date": (datetime(2024, 1, 1), "2024-01-01", 1),
    "timestamp": (date(2024, 1, 1), "2024-01-01", 1),
    "timestamp_ntz": (date(2024, 1, 1), "2024-01-01", 1),
}


# --- what becomes of a value ----------------------------------------------------------------------


def as_column(value: Any, kind: str) -> Any:
    """The tuple's form of a fitting value after a column of the type."""
    if value is None:
        return None
    name, fields, parts = parts_of(kind)
    if name == "array":
        return [as_column(each, parts[0]) for each in value]
    if name == "map":
        return {as_column(key, parts[0]): as_column(each, parts[1]) for key, each in value.items()}
    if name == "struct":
        given = dict(zip(fields, value, strict=True)) if isinstance(value, tuple) else value
        pairs = zip(fields, parts, strict=True)
        return {field: as_column(given.get(field), each) for field, each in pairs}
    if name.startswith("decimal"):
        return _in_scale(Decimal(value), precision_of(name)[1])
    return _COLUMNS.get(name, lambda same: same)(value)


def _in_scale(value: Decimal, scale: int) -> Decimal:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    shift = exponent + scale
    text = "".join(map(str, digits))
    text = text + "0" * shift if shift >= 0 else text[:shift] or "0"
    return _scaled(int(text) * (-1 if sign else 1), scale)


def _in_utc(value: datetime) -> datetime:
    zoned = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return zoned.replace(fold=0)


_COLUMNS: dict[str, Callable[[Any], Any]] = {
    "float": lambda value: SINGLE.unpack(SINGLE.pack(value))[0],
    "double": float,
    "binary": bytes,
    "timestamp": _in_utc,
    "timestamp_ntz": lambda value: (
        value if value.tzinfo is None else value.astimezone(UTC)
    ).replace(tzinfo=None, fold=0),
}


def as_tuple(value: Any) -> Any:
    """A value after its way in a tuple: equal, except a bytearray as bytes."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, dict):
        return {key: as_tuple(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(as_tuple, value))
    return value


def shown(value: Any) -> str:
    """A value as text, equal exactly for equal types and values, at each depth."""
    if isinstance(value, Mapping):
        pairs = sorted(f"{shown(key)}: {shown(each)}" for key, each in value.items())
        return f"{type(value).__name__}{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{', '.join(map(shown, value))}]"
    if isinstance(value, datetime):
        return f"{value.isoformat()} {value.utcoffset()} {value.fold}"
    return f"{type(value).__name__} {value!r}"
