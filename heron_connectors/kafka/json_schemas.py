"""JSON Schema (draft 7) of a stream's declared types, and conversion of values to JSON. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from heron_core.field_types import built

DRAFT = "http://json-schema.org/draft-07/schema#"
_WHOLE = {
    name: {"type": "integer", "minimum": -(1 << bits - 1), "maximum": (1 << bits - 1) - 1}
    for bits, names in ((8, ("tinyint", "byte")), (16, ("smallint", "short")),
                        (32, ("int", "integer")), (64, ("bigint", "long")))
    for name in names
}  # fmt: skip
_PLAIN: Mapping[str, Any] = {
    **_WHOLE,
    **{name: {"type": "number"} for name in ("float", "real", "double")},
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    # Times with and without a zone in ISO 8601; decimals with all digits.
    **{name: {"type": "string"} for name in ("timestamp", "timestamp_ntz", "decimal")},
}


def json_schema_for(title: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """An object for fields of declared types, each of which may be null; ValueError for a type that
    JSON does not have."""
    types = {field: built(declared, _SchemaBuilder()) for field, declared in fields.items()}
    return {"$schema": DRAFT, "title": title, **_object(types)}


def json_schema_of_type(title: str, declared: str) -> dict[str, Any]:
    """Schema of a declared type."""
    return {"$schema": DRAFT, "title": title, **built(declared, _SchemaBuilder())}


def _object(types: Mapping[str, Any]) -> dict[str, Any]:
    properties = {field: _or_null(each) for field, each in types.items()}
    return {"type": "object", "properties": properties}


def _or_null(schema: Any) -> dict[str, Any]:
    return {"oneOf": [{"type": "null"}, schema]}


class _SchemaBuilder:
    """Declared types -> JSON Schema."""

    def plain(self, name: str, numbers: Sequence[int]) -> Any:
        if name not in _PLAIN:
            raise ValueError(f"JSON has no {name}: declare another type, or use avro or protobuf")
        return _PLAIN[name]

    def array(self, item: Any) -> Any:
        return {"type": "array", "items": _or_null(item)}

    def map(self, key: Any, item: Any) -> Any:
        if key != _PLAIN["string"]:
            raise ValueError("keys of JSON maps must be texts")
        return {"type": "object", "additionalProperties": _or_null(item)}

    def struct(self, fields: dict[str, Any]) -> Any:
        return _object(fields)


def field_problem(parsed: Any, fields: Sequence[str]) -> str:
    """Why tuples with these fields are no objects of a schema, in words; empty if they may be."""
    if not isinstance(parsed, Mapping):
        return "" if parsed else "its schema accepts nothing"
    if "properties" not in parsed and parsed.get("type", "object") != "object":
        return f"its schema is of {parsed['type']}, and not of an object"
    known = parsed.get("properties", {})
    if parsed.get("additionalProperties") is False and not parsed.get("patternProperties"):
        more = next((each for each in fields if each not in known), None)
        if more is not None:
            return f"the schema has no property {more!r}, but {', '.join(known)}"
    missing = next((each for each in parsed.get("required", ()) if each not in fields), None)
    return (
        ""
        if missing is None
        else (f"the schema requires {missing!r}, which is not a field of the tuples")
    )


def with_iso_times(value: Any) -> Any:
    """A value with all times as ISO 8601 texts."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {key: with_iso_times(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_iso_times(each) for each in value]
    return value
