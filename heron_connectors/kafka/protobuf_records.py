"""Keys and values of Kafka's records in Protobuf: by a class that protoc made, and a registry."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from heron_connectors.kafka.proto_texts import UnreadSchema, compiled, is_text
from heron_connectors.kafka.protobuf_values import reader_of, writer_of
from heron_connectors.kafka.registered_parts import (
    Known,
    PartRows,
    Read,
    RegisteredCodec,
    Write,
    decoded,
)
from heron_connectors.kafka.schema_registry import (
    PROTOBUF,
    PROTOBUF_KIND,
    USE_LATEST,
    Registry,
    context_in,
    first_line,
    message_key,
    package,
)
from heron_core.errors import ComponentError

_MODULE = "confluent_kafka.schema_registry.protobuf"
_COMMON = "confluent_kafka.schema_registry.common.protobuf"


def _naming(kind: Any, registry: Registry) -> Any:
    """Serializer class that also reads schemas in .proto text, and raises UnreadSchema for
    schema errors: the original errors of base64, parser or pool do not name the schema."""

    class Naming(kind):  # type: ignore[misc]
        def _get_parsed_schema(self, schema: Any) -> Any:
            try:
                if not is_text(schema):
                    return super()._get_parsed_schema(schema)
                parsed_schema = self._parsed_schemas.get_parsed_schema(schema)
                if parsed_schema is None:
                    parsed_schema = compiled(schema, registry.client)
                    self._parsed_schemas.set(schema, parsed_schema)
                return parsed_schema
            except Exception as error:
                if isinstance(error, UnreadSchema) or registry.problem(error) is not None:
                    raise  # of a referenced schema
                raise UnreadSchema(f"cannot be read ({first_line(error)})") from None

    return Naming


def message_class(said: Any, part: str) -> Any:
    """The class of messages named in the config as MODULE.CLASS; ComponentError if absent."""
    key = message_key(part)
    module, _, inside = str(said or "").rpartition(".")
    if not module:
        raise ComponentError(f"{key} is the MODULE.CLASS that protoc has made, not {said!r}")
    try:
        generated = getattr(import_module(module), inside)
    except (ImportError, AttributeError) as error:
        raise ComponentError(f"{key}: {said}: {error}") from None
    if not hasattr(getattr(generated, "DESCRIPTOR", None), "full_name"):
        raise ComponentError(f"{key}: {said} is not a class of messages")
    return generated


def _own(said: Any, part: str, registry: Registry) -> Known:
    return Known(None, message_class(said, part))


def _newest(found: Any, own: Known | None, key: str, registry: Registry) -> Known:
    if own is None:
        raise ValueError(f"needs a message class, which {key} names")
    serializer = _serializer(own.parsed, registry, {})
    if problem := _unlike(found, serializer, own.parsed.DESCRIPTOR):
        remedy = f"use a class that protoc generated from the schema, or set {USE_LATEST}: false"
        raise ValueError(f"{problem}: {remedy}")
    return own


def _name_of(kind: Any) -> str:
    return str(kind.DESCRIPTOR.full_name)


def _problem(kind: Any, rows: PartRows) -> str:
    there = {field.name for field in kind.DESCRIPTOR.fields}
    missing = next((each for each in rows.types if each not in there), None)
    if rows.is_record and missing is not None:
        return f"message {_name_of(kind)} has no field {missing!r}, but {', '.join(sorted(there))}"
    empty = kind()
    if empty.IsInitialized():
        return ""
    needed = ", ".join(empty.FindInitializationErrors())
    return (
        f"message {_name_of(kind)} has required fields ({needed}), which proto2 alone has:"
        f" make the fields optional"
    )


def _serializer(kind: Any, registry: Registry, settings: Mapping[str, Any]) -> Any:
    make = _naming(package(_MODULE, PROTOBUF).ProtobufSerializer, registry)
    return make(kind, registry.client, conf=dict(settings))


def _writer(known: Known, settings: Mapping[str, Any], registry: Registry, where: str) -> Write:
    kind = known.parsed
    serializer = _serializer(kind, registry, settings)
    written = writer_of(kind.DESCRIPTOR, kind)
    return lambda value, context: serializer(written(value), context)


def _unlike(newest: Any, serializer: Any, descriptor: Any) -> str:
    """Why a schema does not say what the class writes, in words; empty if it does. The serializer
    puts the number of that schema before the bytes of the class, whatever they are."""
    name = descriptor.full_name
    try:
        _, pool = serializer._get_parsed_schema(newest)
    except UnreadSchema as error:
        return str(error)
    try:
        newest_type = pool.FindMessageTypeByName(name)
    except KeyError:
        return f"has no message {name}"
    position_of = package(_COMMON, PROTOBUF)._create_index_array
    if position_of(newest_type) != position_of(descriptor):
        return f"has message {name} at another position, by which readers find it"
    if descriptor.containing_type is not None:
        return f"has message {name} inside of another one, where the client does not look"
    return _field_problem(newest_type, descriptor, set())


def _field_problem(existing: Any, written: Any, seen: set[str]) -> str:
    """The first field of a message missing or different in the newest schema `found`: readers
    would drop or misinterpret the value."""
    if written.full_name in seen:
        return ""
    seen.add(written.full_name)
    for field in written.fields:
        there = existing.fields_by_number.get(field.number)
        label = f"{written.full_name}.{field.name} = {field.number}"
        if there is None:
            return f"has no field {label}"
        if _form_of(there) != _form_of(field):
            return f"has another field {label}"
        if field.message_type is not None and (
            problem := _field_problem(there.message_type, field.message_type, seen)
        ):
            return problem
    return ""


def _form_of(field: Any) -> tuple[Any, ...]:
    """Properties of a field to match for readers."""
    kind = field.message_type or field.enum_type
    return field.name, field.type, field.is_repeated, None if kind is None else kind.full_name


def protobuf_reader(registry: Registry, part: str, said: Any, types: Mapping[str, str]) -> Read:
    """Reads keys or values as messages of the class that is said. `types`: the fields that a record
    needs."""
    kind = message_class(said, part)
    descriptor = kind.DESCRIPTOR
    there = [field.name for field in descriptor.fields]
    for field in types:
        if field not in there:
            raise ComponentError(
                f"{message_key(part)}: message {descriptor.full_name} has no field {field!r}, but"
                f" {', '.join(there)}"
            )
    writers: list[str] = []
    settings = {"subject.name.strategy": registry.strategy_of(part, writers.append)}
    module = package(_MODULE, PROTOBUF)
    deserializer = _naming(module.ProtobufDeserializer, registry)(kind, settings, registry.client)
    read_message = reader_of(descriptor)

    def read(data: bytes | None, record: Any) -> Any:
        writers.clear()
        message = decoded(registry, deserializer, data, context_in(record, part))
        # A parser accepts the bytes of any message type.
        other = next((each for each in writers if each != descriptor.full_name), None)
        if other is not None:
            raise ValueError(f"the value is a message {other}, not {descriptor.full_name}")
        return None if message is None else read_message(message)

    return read


PROTOBUF_CODEC = RegisteredCodec(
    PROTOBUF_KIND, message_key, _own, None, _newest, _name_of, _problem, _writer,
    protobuf_reader, ("serialized",),
)  # fmt: skip
