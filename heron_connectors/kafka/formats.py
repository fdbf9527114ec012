"""How the key and the value of a record are made of a tuple, and a tuple of them.

`kafka.key.format` and `kafka.value.format` say it: text, json and bytes for a source (a sink sees
by the value itself which one); avro, protobuf and jsonschema, by a schema registry, for both.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from heron_connectors.kafka.avro_records import AVRO_CODEC
from heron_connectors.kafka.json_records import JSON_CODEC
from heron_connectors.kafka.protobuf_records import PROTOBUF_CODEC
from heron_connectors.kafka.records import bytes_of
from heron_connectors.kafka.registered_parts import PartRows, Read, RegisteredCodec, RegisteredPart
from heron_connectors.kafka.schema_registry import (
    AVRO,
    JSON_SCHEMA,
    PARTS,
    PROTOBUF,
    Registry,
    format_key,
    registry_of,
)
from heron_core.errors import ComponentError

Encode = Callable[[Any], bytes | None]
"""A tuple -> key or value of the record; ValueError naming the field."""

PLAIN: Mapping[str, Callable[[bytes | None], Any]] = {
    "text": lambda data: None if data is None else data.decode(),
    "json": lambda data: None if data is None else json.loads(data),
    "bytes": lambda data: data,
}
CODECS: Mapping[str, RegisteredCodec] = {
    AVRO: AVRO_CODEC,
    PROTOBUF: PROTOBUF_CODEC,
    JSON_SCHEMA: JSON_CODEC,
}
_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "topic": lambda record: record.topic(),
    "partition": lambda record: record.partition(),
    "offset": lambda record: record.offset(),
    "timestamp_ms": lambda record: record.timestamp()[1],
    "headers": lambda record: record.headers() or [],
}
OWN_FIELDS = (*PARTS, *_ATTRIBUTES)
"""Fields of a source in addition to the record's own fields."""


def format_of(config: Mapping[str, Any], part: str, name: str, plain: Sequence[str]) -> str:
    """The format of a key or a value; "" if none is said. ComponentError for another one."""
    said = config.get(format_key(part))
    choices = (*plain, *CODECS)
    if said is not None and said not in choices:
        raise ComponentError(
            f"{name}: {format_key(part)} is one of {', '.join(choices)}, not {said!r}"
        )
    return said or ""


# --- what a sink writes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PartPosition:
    """Index of the tuple's field for a part of the record, and the config key."""

    at: int
    key: str

    def of(self, tup: Any) -> tuple[Any, str]:
        """The value, and the start of a message about the value; ValueError if missing."""
        try:
            return tup.values[self.at], f"{tup.fields[self.at]}="
        except IndexError:
            fields = ", ".join(tup.fields)
            raise ValueError(f"{self.key} is {self.at}, and a tuple has {fields}") from None

    def field_of(self, fields: Sequence[str]) -> str:
        """The field's name; ComponentError for an unknown index."""
        try:
            return fields[self.at]
        except IndexError:
            raise ComponentError(
                f"{self.key} is {self.at}, and a tuple has {', '.join(fields)}"
            ) from None


def plain_encoder(position: PartPosition) -> Encode:
    """Texts as UTF-8, bytes as they are, the rest as JSON."""
    return lambda tup: bytes_of(*position.of(tup))


@dataclass(frozen=True, slots=True)
class Inputs:
    """Input of a sink: fields and their declared types."""

    fields: Sequence[str]
    types: Mapping[str, str]


def encoder(
    config: Mapping[str, Any], name: str, topic: str, part: str, position: PartPosition | None,
    inputs: Inputs, left_out: PartPosition | None, opened: ExitStack,
) -> Encode:  # fmt: skip
    """Of a part in the format of a registry. Without a position the fields of a tuple are those of
    the record, but for the one that has the headers. The client closes with `opened`."""
    kind = format_of(config, part, name, ())
    registry = _registry(config, name, kind, opened)
    skipped = None if left_out is None else left_out.field_of(inputs.fields)
    fields = [each for each in inputs.fields if each != skipped]
    if position is not None:
        fields = [position.field_of(inputs.fields)]
    rows = PartRows({each: inputs.types.get(each, "") for each in fields}, position is None)
    codec = CODECS[kind]
    registered_part = RegisteredPart(codec, registry, topic, part, rows)
    encode = registered_part.encoder(config.get(codec.key(part)))
    if position is not None:
        return lambda tup: _labelled(encode, *position.of(tup))
    positions = [inputs.fields.index(each) for each in fields]
    return lambda tup: _record(encode, fields, [tup.values[at] for at in positions])


def _registry(config: Mapping[str, Any], name: str, kind: str, opened: ExitStack) -> Registry:
    registry = registry_of(config, name, kind)
    opened.callback(registry.client.close)
    return registry


def _labelled(encode: Callable[[Any], bytes | None], value: Any, label: str) -> bytes | None:
    """The message begins with the field's name."""
    try:
        return encode(value)
    except ValueError as error:
        raise ValueError(f"{label.rstrip('=')}: {error}") from None


def _record(
    encode: Callable[[Any], bytes | None], fields: Sequence[str], values: Sequence[Any]
) -> bytes | None:
    try:
        return encode(dict(zip(fields, values, strict=True)))
    except ValueError as error:
        raise ValueError(str(error).removeprefix(".")) from None


# --- what a source reads --------------------------------------------------------------------------


class FieldReader:
    """Makes the values of a tuple of a record: for fields `key` and `value` the whole of them, for
    a name that no record of Kafka has the field of the value that is called so."""

    def __init__(self, outputs: Any, config: Mapping[str, Any], name: str) -> None:
        types = outputs if isinstance(outputs, Mapping) else {}
        own = [each for each in outputs if each not in OWN_FIELDS]
        self._parts: dict[str, Read] = {}
        with ExitStack() as opened:
            for part in PARTS:
                if part in outputs or (part == "value" and own):
                    known = {each: types.get(each, "") for each in own if part == "value"}
                    self._parts[part] = _reader(config, name, part, known, opened)
            self._opened = opened.pop_all()
        self._outputs = list(outputs)

    def close(self) -> None:
        """Close the clients of registries."""
        self._opened.close()

    def values(self, record: Any) -> list[Any]:
        """Decode a record in the order of the fields; ValueError for an invalid record,
        RegistryAway while the registry is unreachable."""
        parts = {
            part: read(record.key() if part == "key" else record.value(), record)
            for part, read in self._parts.items()
        }
        return [self._value(each, parts, record) for each in self._outputs]

    def _value(self, field: str, parts: Mapping[str, Any], record: Any) -> Any:
        if field in parts:
            return parts[field]
        if field in _ATTRIBUTES:
            return _ATTRIBUTES[field](record)
        value = parts["value"]
        if not isinstance(value, Mapping):
            raise ValueError(f"its value has no fields, and {field!r} is asked for")
        if field not in value:
            raise ValueError(f"its value has no field {field!r}, but {', '.join(map(str, value))}")
        return value[field]


def _reader(
    config: Mapping[str, Any], name: str, part: str, types: Mapping[str, str], opened: ExitStack
) -> Read:
    kind = format_of(config, part, name, tuple(PLAIN)) or "text"
    if kind in CODECS:
        codec, registry = CODECS[kind], _registry(config, name, kind, opened)
        return codec.reader(registry, part, config.get(codec.key(part)), types)
    if types and kind != "json":
        known = ", ".join(OWN_FIELDS)
        raise ComponentError(f"{name}: a record has no {next(iter(types))!r}, but {known}")
    decode = PLAIN[kind]
    return lambda data, record: decode(data)


def described(error: ValueError) -> str:
    """Why a record is left out."""
    if isinstance(error, UnicodeDecodeError):
        key = format_key("value")
        return (
            f"the value is not UTF-8 ({error.reason} at byte {error.start}; use {key}: bytes for "
            "binary values)"
        )
    return str(error)
