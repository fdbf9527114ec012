"""Python values that JSON or msgpack cannot say, as ones that they can.

What has no entry here is refused (TypeError), so that nobody takes a value for what it is not.
"""

import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID


def _text(data: Any) -> str:
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError:
        raise TypeError(
            "bytes that are not UTF-8 text (topology.multilang.serializer: msgpack takes any)"
        ) from None


_SAID: tuple[tuple[tuple[type, ...], Callable[[Any], Any]], ...] = (
    ((datetime, date, time), lambda value: value.isoformat()),
    ((timedelta,), timedelta.total_seconds),
    ((set, frozenset), list),
    ((Decimal, UUID, PurePath), str),
    ((Enum,), lambda value: value.value),
    ((bytes, bytearray, memoryview), _text),
)
"""Kinds of values and what is said instead: ISO 8601, seconds, a list (in any order), text."""


def said(value: object) -> Any:
    """What stands for `value`; TypeError naming its type if nothing does."""
    for kinds, say in _SAID:
        if isinstance(value, kinds):
            return say(value)
    kind = type(value)
    raise TypeError(f"a value of type {kind.__module__}.{kind.__qualname__}")


def finite(value: Any) -> Any:
    """`value` with None for each NaN and infinity, as Storm's JSON has it (json-simple)."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [finite(each) for each in value]
    return value
