"""Avro schemas for the types declared by a stream, and compatibility of schemas. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from heron_connectors.kafka.avro_values import (
    Names,
    decimal_digits,
    kind_of,
    logical_of,
    names_of,
    resolved,
)
from heron_core.field_types import DECIMAL, built

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NO_NAME = re.compile(r"[^A-Za-z0-9_]")
_PLAIN: Mapping[str, Any] = {
    **dict.fromkeys(("tinyint", "byte", "smallint", "short", "int", "integer"), "int"),
    **dict.fromkeys(("bigint", "long"), "long"),
    **dict.fromkeys(("float", "real"), "float"),
    "string": "string",
    "boolean": "boolean",
    "double": "double",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
}
_WIDER: Mapping[str, tuple[str, ...]] = {
    "int": ("int", "long", "double"),
    "long": ("long",),
    "float": ("float", "double"),
    "string": ("string", "enum"),
    "enum": ("enum", "string"),
    "bytes": ("bytes", "fixed"),
    "fixed": ("fixed", "bytes"),
}
"""Type -> types that can hold its values; values of enum and fixed are checked per row."""
_TIMES = ("timestamp", "local-timestamp", "time")


def name_for(text: str) -> str:
    """A topic's name, say, as the name of a record."""
    found = _NO_NAME.sub("_", text)
    return found if _NAME.match(found) else f"_{found}"


def schema_for(name: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """A record for fields of declared types, each of which may be null; ValueError for a field that
    Avro cannot have, with the cure."""
    return {"type": "record", "name": name, "fields": _fields(name, _types_of(name, fields))}


def schema_of_type(name: str, declared: str) -> Any:
    """Schema of a declared type without null; `name` is used for nested types."""
    return _named(built(declared, _AvroBuilder()), name)


def _types_of(name: str, fields: Mapping[str, str]) -> dict[str, Any]:
    return {field: built(declared, _AvroBuilder()) for field, declared in fields.items()}


def _fields(name: str, types: Mapping[str, Any]) -> list[dict[str, Any]]:
    for field in types:
        if not _NAME.match(field):
            raise ValueError(f"Avro has no field called {field!r}: rename it, or give a schema")
    return [
        {"name": field, "type": ["null", _named(each, f"{name}_{field}")], "default": None}
        for field, each in types.items()
    ]


def _named(schema: Any, name: str) -> Any:
    """The type, with nested records named after their position: names must be unique."""
    kind = kind_of(schema)
    if kind == "array":
        return {"type": "array", "items": ["null", _named(schema["items"], name)]}
    if kind == "map":
        return {"type": "map", "values": ["null", _named(schema["values"], name)]}
    if kind == "record":
        return {"type": "record", "name": name, "fields": _fields(name, schema["fields"])}
    return schema


class _AvroBuilder:
    """Types as Avro has them; fields of a record by their names, and records without one."""

    def plain(self, name: str, numbers: Sequence[int]) -> Any:
        if name != "decimal":
            return _PLAIN[name]
        precision, scale = (*numbers, *DECIMAL[len(numbers) :])[:2]
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}

    def array(self, item: Any) -> Any:
        return {"type": "array", "items": item}

    def map(self, key: Any, item: Any) -> Any:
        if key != "string":
            raise ValueError("keys of Avro maps must be texts")
        return {"type": "map", "values": item}

    def struct(self, fields: dict[str, Any]) -> Any:
        return {"type": "record", "fields": fields}


# --- whether a schema holds what another one has --------------------------------------------------


def holds(outer: Any, inner: Any) -> bool:
    """Whether values of the parsed schema `inner` are values of `outer`, each as it is; null, and
    what depends on the value (bytes in a fixed), is left to the value."""
    return _Pair(names_of(outer), names_of(inner)).holds(outer, inner)


def called(schema: Any) -> str:
    """A type for a message."""
    if isinstance(schema, list):
        return " or ".join(called(each) for each in schema if each != "null")
    if logical_of(schema) == "decimal":
        precision, scale = decimal_digits(schema)
        return f"decimal({precision},{scale})"
    if kind_of(schema) in ("array", "map"):
        return f"{kind_of(schema)} of {called(schema.get('items', schema.get('values')))}"
    named = schema.get("name", "") if isinstance(schema, dict) else ""
    return logical_of(schema) or f"{kind_of(schema)} {named}".rstrip()


class _Pair:
    def __init__(self, outer: Names, inner: Names) -> None:
        self._outer, self._inner = outer, inner

    def holds(self, outer: Any, inner: Any) -> bool:
        outer, inner = resolved(outer, self._outer), resolved(inner, self._inner)
        if isinstance(inner, list):
            return all(self.holds(outer, each) for each in inner if kind_of(each) != "null")
        if isinstance(outer, list):
            return any(self.holds(each, inner) for each in outer if kind_of(each) != "null")
        kinds = kind_of(outer), kind_of(inner)
        if kinds == ("array", "array"):
            return self.holds(outer["items"], inner["items"])
        if kinds == ("map", "map"):
            return self.holds(outer["values"], inner["values"])
        if kinds == ("record", "record"):
            return self._holds_record(outer["fields"], inner["fields"])
        return _holds_plain(outer, inner)

    def _holds_record(self, outer: Sequence[Any], inner: Sequence[Any]) -> bool:
        there = {each["name"]: each for each in outer}
        missing = there.keys() - {each["name"] for each in inner}
        return all("default" in there[each] for each in missing) and all(
            each["name"] in there and self.holds(there[each["name"]]["type"], each["type"])
            for each in inner
        )


def _holds_plain(outer: Any, inner: Any) -> bool:
    outer_kind, inner_kind = kind_of(outer), kind_of(inner)
    logical = logical_of(outer), logical_of(inner)
    if logical == ("decimal", "decimal"):
        (digits, behind), (inner_digits, inner_behind) = map(decimal_digits, (outer, inner))
        return behind >= inner_behind and digits - behind >= inner_digits - inner_behind
    times = [each.rpartition("-")[0] for each in logical]
    if times[0] in _TIMES or times[1] in _TIMES:
        return times[0] == times[1]
    if "date" in logical or "decimal" in logical:
        return logical[0] == logical[1]
    if logical[1] == "uuid":  # a text as an object of Python
        return logical[0] == "uuid"
    return outer_kind in _WIDER.get(inner_kind, (inner_kind,))
