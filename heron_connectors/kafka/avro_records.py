"""Keys and values of Kafka's records in Avro, by the schemas of a registry."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_connectors.kafka.avro_schemas import (
    called,
    holds,
    schema_for,
    schema_of_type,
)
from heron_connectors.kafka.avro_values import (
    kind_of,
    logical_of,
    names_of,
    resolved,
    writer_of,
)
from heron_connectors.kafka.registered_parts import (
    Known,
    PartRows,
    Read,
    RegisteredCodec,
    Write,
    decoded,
    same,
    schema_text,
)
from heron_connectors.kafka.schema_registry import (
    AVRO,
    AVRO_KIND,
    Registry,
    context_in,
    first_line,
    package,
    schema_key,
)
from heron_core.errors import ComponentError

_MODULE = "confluent_kafka.schema_registry.avro"


def _own(said: Any, part: str, registry: Registry) -> Known | None:
    return None if said is None else _known(_avro_schema(schema_text(said, part)), registry)


def _derived(title: str, rows: PartRows, registry: Registry) -> Known:
    if rows.is_record:
        schema = schema_for(title, rows.types)
    else:
        (declared,) = rows.types.values()
        schema = schema_of_type(title, declared)
    return _known(_avro_schema(json.dumps(schema)), registry)


def _newest(found: Any, own: Known | None, key: str, registry: Registry) -> Known:
    return same(_known(found, registry), own, key)


def _known(schema: Any, registry: Registry) -> Known:
    return Known(schema, parsed_schema(schema, registry))


def _name_of(parsed: Any) -> str:
    return str(parsed.get("name", "")) if isinstance(parsed, dict) else ""


def _problem(parsed: Any, rows: PartRows) -> str:
    problem = _misfit_of(parsed, rows)
    return problem and f"{problem}: change the types, or the schema"


def _misfit_of(parsed: Any, rows: PartRows) -> str:
    if kind_of(parsed) == "bytes" and logical_of(parsed) == "decimal":
        return "a decimal alone has no form in Kafka's Avro, but in a record"
    if not rows.is_record:
        ((field, declared),) = rows.types.items()
        return _misfit(field, declared, parsed, parsed)
    if kind_of(parsed) != "record":
        return f"its schema is {called(parsed)}, not a record"
    return record_problem(parsed, rows.types)


def _writer(known: Known, settings: Mapping[str, Any], registry: Registry, where: str) -> Write:
    make = package(_MODULE, AVRO).AvroSerializer
    serializer = make(registry.client, known.schema, conf=dict(settings))
    written = writer_of(known.parsed)
    return lambda value, context: serializer(written(value), context)


def _avro_schema(text: str) -> Any:
    """confluent_kafka's, which wants an object where Avro's own text of a type is enough."""
    text = f'{{"type": {text}}}' if text.startswith('"') else text
    return package("confluent_kafka.schema_registry", AVRO).Schema(text, AVRO_KIND)


def record_problem(parsed: Any, types: Mapping[str, str]) -> str:
    """Why rows with these fields are not records of a schema, in words; empty if they are."""
    there = {each["name"]: each for each in parsed["fields"]}
    for field, declared in types.items():
        if field not in there:
            return f"the schema has no field {field!r}, but {', '.join(there)}"
        if problem := _misfit(field, declared, there[field]["type"], parsed):
            return problem
    needed = (name for name, each in there.items() if name not in types and "default" not in each)
    missing = next(needed, None)
    return f"the schema's field {missing!r} has no default, and no tuple has it" if missing else ""


def _misfit(field: str, declared: str, schema: Any, whole: Any) -> str:
    if not declared or holds(_named_in(schema, whole), schema_of_type("x", declared)):
        return ""
    return f"{field!r} is declared as {declared}, and the schema has {called(schema)}"


def _named_in(schema: Any, whole: Any) -> Any:
    """A part of a schema, with the definition of a type that is only named in it."""
    return resolved(schema, names_of(whole))


def parsed_schema(schema: Any, registry: Registry) -> Any:
    """Parse a schema with fastavro, including referenced schemas; ComponentError if invalid."""
    resolve = package(_MODULE, AVRO)._resolve_named_schema
    avro = package("confluent_kafka.schema_registry.common.avro", AVRO)
    try:
        with registry.asked("of a reference", "any"):
            named = resolve(schema, registry.client)
        whole = avro._schema_loads(schema.schema_str).schema_str
        return avro.parse_schema_with_repo(whole, named_schemas=named)
    except ComponentError:
        raise
    except Exception as error:  # of a dozen classes of fastavro's
        raise ComponentError(f"not a valid Avro schema: {first_line(error)}") from None


# --- reading --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Rest:
    """Unread rest of the last record's payload."""

    payload: io.BytesIO | None = None


def avro_reader(registry: Registry, part: str, said: Any, types: Mapping[str, str]) -> Read:
    """Reads keys or values, by the given schema or else the writer's schema. `types`: declared
    types of fields from the record."""
    avro = package(_MODULE, AVRO)
    schema = None
    if said is not None:
        schema = _avro_schema(schema_text(said, part))
        check_read(parsed_schema(schema, registry), types, part)
    rest = _Rest()

    def payload_of(data: bytes, context: Any, schema_id: Any) -> io.BytesIO:
        module = package("confluent_kafka.schema_registry", AVRO)
        rest.payload = module.dual_schema_id_deserializer(data, context, schema_id)
        return rest.payload

    settings = {
        "subject.name.strategy": registry.strategy_of(part),
        "schema.id.deserializer": payload_of,
    }
    deserializer = avro.AvroDeserializer(registry.client, schema, conf=settings)

    def read(data: bytes | None, record: Any) -> Any:
        record_value = decoded(registry, deserializer, data, context_in(record, part))
        if data is not None and rest.payload is not None and rest.payload.read(1):
            raise ValueError("extra bytes after its end: the value has another schema")
        return record_value

    return read


def check_read(parsed: Any, types: Mapping[str, str], part: str) -> None:
    """ComponentError if the schema to read by does not have a field, or a declared type does not
    hold what it has."""
    if kind_of(parsed) != "record":
        if types:
            kind = called(parsed)
            raise ComponentError(f"{schema_key(part)}: {kind} has no field {next(iter(types))!r}")
        return
    there = {each["name"]: each["type"] for each in parsed["fields"]}
    for field, declared in types.items():
        if field not in there:
            raise ComponentError(
                f"{schema_key(part)}: the schema has no field {field!r}, but {', '.join(there)}"
            )
        schema_there = _named_in(there[field], parsed)
        if declared and not holds(schema_of_type("x", declared), schema_there):
            raise ComponentError(
                f"{schema_key(part)}: {field!r} is declared as {declared}, but the schema has "
                f"{called(schema_there)}: change one of them"
            )


AVRO_CODEC = RegisteredCodec(
    AVRO_KIND, schema_key, _own, _derived, _newest, _name_of, _problem, _writer, avro_reader
)
