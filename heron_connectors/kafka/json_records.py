"""Keys and values of Kafka's records in JSON, by the JSON Schemas of a registry."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from heron_connectors.json_values import document_of
from heron_connectors.kafka.json_schemas import (
    field_problem,
    json_schema_for,
    json_schema_of_type,
    with_iso_times,
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
    JSON_KIND,
    JSON_SCHEMA,
    Registry,
    context_in,
    first_line,
    package,
    schema_key,
)
from heron_connectors.tables.text_tables import TypedValues
from heron_core.errors import ComponentError

_MODULE = "confluent_kafka.schema_registry.json_schema"


def _own(said: Any, part: str, registry: Registry) -> Known | None:
    return None if said is None else _known(parsed_json(schema_text(said, part), part))


def _derived(title: str, rows: PartRows, registry: Registry) -> Known:
    if rows.is_record:
        return _known(json_schema_for(title, rows.types))
    (declared,) = rows.types.values()
    return _known(json_schema_of_type(title, declared))


def _newest(found: Any, own: Known | None, key: str, registry: Registry) -> Known:
    return same(Known(found, json.loads(found.schema_str)), own, key)


def _known(parsed: Any) -> Known:
    return Known(_schema_of(parsed), parsed)


def _title_of(parsed: Any) -> str:
    return str(parsed.get("title", "")) if isinstance(parsed, dict) else ""


def _problem(parsed: Any, rows: PartRows) -> str:
    problem = field_problem(parsed, tuple(rows.types)) if rows.is_record else ""
    return problem and f"{problem}: change the fields, or the schema"


def _writer(known: Known, settings: Mapping[str, Any], registry: Registry, where: str) -> Write:
    own = {"validate": False}  # here, where the place in the value can be named
    serializer = _alone(package(_MODULE, JSON_SCHEMA).JSONSerializer)(
        known.schema, registry.client, conf={**settings, **own}, json_encode=_document
    )
    problems = _problems_by(serializer, known.schema, where)

    def write(value: Any, context: Any) -> bytes:
        document = json.loads(document_of(with_iso_times(value)))
        if problem := problems(document):
            raise ValueError(problem)
        encoded: bytes = serializer(document, context)
        return encoded

    return write


def parsed_json(text: str, part: str) -> Any:
    """Parse a configured schema; ComponentError for invalid JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ComponentError(f"{schema_key(part)} is not JSON: {error}") from None


def _schema_of(parsed: Any) -> Any:
    module = package("confluent_kafka.schema_registry", JSON_SCHEMA)
    return module.Schema(json.dumps(parsed), JSON_KIND)


def _alone(kind: Any) -> Any:
    """A class of serializers that looks up references of a schema in the registry alone: the
    client's own fetches the others from the web, whenever a value needs them."""
    resolve = package(_MODULE, JSON_SCHEMA)._resolve_named_schema
    nothing = package("referencing", JSON_SCHEMA).Registry

    class Alone(kind):  # type: ignore[misc]
        def _get_parsed_schema(self, schema: Any) -> Any:
            parsed = self._parsed_schemas.get_parsed_schema(schema)
            if parsed is None and schema is not None:
                parsed = json.loads(schema.schema_str), resolve(schema, self._registry, nothing())
                self._parsed_schemas.set(schema, parsed)
            return (None, None) if parsed is None else parsed

    return Alone


def _document(value: Any) -> str:
    """The client's own writer turns numbers beyond 64 bits away, and its reader rounds them."""
    return document_of(value).decode()


def _problems_by(serde: Any, schema: Any, where: str) -> Callable[[Any], str]:
    """Violation of a schema by a value, with location and reason; empty if valid. ComponentError
    for an invalid schema. `serde`: confluent_kafka's, with the referenced schemas."""
    try:
        parsed, references = serde._get_parsed_schema(schema)
        validator = serde._get_validator(schema, parsed, references)
    except Exception as error:  # of several classes of jsonschema's and referencing's
        problem = f"the schema is not one of JSON Schema: {first_line(error)}"
        raise ComponentError(f"{where}: {problem}") from None
    best_match = package("jsonschema.exceptions", JSON_SCHEMA).best_match

    def problems(value: Any) -> str:
        try:
            mismatch = best_match(validator.iter_errors(value))
        except Exception as error:  # a reference to what the registry does not have
            return f"the schema cannot be applied: {first_line(error)}"
        if mismatch is None:
            return ""
        return (
            f"{mismatch.json_path.removeprefix('$')}: {first_line(mismatch.message)}".removeprefix(
                "."
            )
        )

    return problems


def json_reader(registry: Registry, part: str, said: Any, types: Mapping[str, str]) -> Read:
    """Reads keys or values and validates them against the given schema, or else the writer's
    schema. `types`: declared types of fields from the record; texts of dates, times and decimals
    are converted."""
    schema = None
    if said is not None:
        parsed = parsed_json(schema_text(said, part), part)
        schema = _schema_of(parsed)
    settings = {"subject.name.strategy": registry.strategy_of(part)}
    deserializer = _alone(package(_MODULE, JSON_SCHEMA).JSONDeserializer)(
        schema, None, registry.client, conf=settings, json_decode=json.loads
    )
    if schema is not None:
        _problems_by(deserializer, schema, schema_key(part))
    typed = {field: TypedValues(declared) for field, declared in types.items() if declared}

    def read(data: bytes | None, record: Any) -> Any:
        document = decoded(registry, deserializer, data, context_in(record, part))
        if typed and isinstance(document, dict):
            return document | _converted(typed, document)
        return document

    return read


def _converted(typed: Mapping[str, TypedValues], found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields with declared types; ValueError naming a field with an invalid value."""
    values = {}
    for field in (each for each in typed if each in found):
        try:
            values[field] = typed[field].of_json(found[field])
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None
    return values


JSON_CODEC = RegisteredCodec(
    JSON_KIND, schema_key, _own, _derived, _newest, _title_of, _problem, _writer, json_reader
)
