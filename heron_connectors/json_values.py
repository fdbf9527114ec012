"""Values of tuples as standard JSON, without loss.

JSON lacks NaN, infinities, bytes and sets; Python's json module writes the first two as
non-standard words. A value without JSON form is an error that names the field.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from heron_core.errors import SHORT_CHARACTERS_MAX, shown

_AS_TEXT = (date, time, Decimal, UUID)
"""Types written as text: a reader with the type restores an equal value."""


def object_of(fields: Sequence[str], values: Sequence[Any]) -> bytes:
    """The values by field, as an object; ValueError with the first field without a JSON form."""
    try:
        return _written(dict(zip(fields, values, strict=True)), keys_from=1)
    except (TypeError, ValueError) as error:
        for name, value in zip(fields, values, strict=True):
            document_of(value, f"{name}=")
        raise ValueError(f"{', '.join(fields)}: {error}") from None


def document_of(value: Any, name: str = "") -> bytes:
    """Encode one value; ValueError without a JSON form. `name` starts the message."""
    try:
        return _written(value)
    except UnicodeEncodeError:
        why = "half a character (a lone surrogate) is not text"
    except (TypeError, ValueError, RecursionError) as error:
        why = str(error)
    raise ValueError(f"{name}{shown(value, SHORT_CHARACTERS_MAX)} has no JSON: {why}")


def _written(value: Any, keys_from: int = 0) -> bytes:
    """`keys_from`: the byte behind which an object may have keys that are no texts."""
    found = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain).encode()
    if b"{" in found[keys_from:]:
        _check_keys(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is not a value of JSON")


def _check_keys(value: Any) -> None:
    """ValueError if two keys of an object have equal texts: a reader would keep only one."""
    if isinstance(value, Mapping):
        if len({_key(each) for each in value}) < len(value):
            raise ValueError("two keys have the same text")
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for each in value:
        _check_keys(each)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key)
