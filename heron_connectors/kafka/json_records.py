"""Keys and values of Kafka's records in JSON, by the JSON Schemas of a registry."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heron_connectors.json_values import document_of
from heron_connectors.kafka.avro_records import Read, decoded, schema_text
from heron_connectors.kafka.avro_schemas import name_for
from heron_connectors.kafka.json_schemas import (
    field_problem,
    json_schema_for,
    json_schema_of_type,
    with_iso_times,
)
from heron_connectors.kafka.schema_registry import (
    JSON_SCHEMA,
    USE_LATEST,
    Registry,
    context_in,
    context_of,
    first_line,
    package,
    schema_key,
)
from heron_connectors.tables.text_tables import TypedValues
from heron_core.errors import ComponentError

_MODULE = "confluent_kafka.schema_registry.json_schema"
KIND = "JSON"
"""As a registry calls it."""


@dataclass(frozen=True, slots=True)
class JsonPart:
    """The key or the value of what a sink writes."""

    registry: Registry
    topic: str
    part: str
    types: Mapping[str, str]
    """The declared types by field; an empty text for a field without."""
    is_record: bool
    """Whether the fields of a tuple are those of an object; else its one field is the value."""

    def encoder(self, said: Any) -> Callable[[Any], bytes | None]:
        """Makes bytes of a dict of fields, or of a value. The schema is registered, or found, here:
        ComponentError in one line, before any record, if it is refused or takes no tuple."""
        schema, subject = self._schema(said)
        settings = {
            "auto.register.schemas": self.registry.auto_register,
            "use.latest.version": self.registry.use_latest,
            "subject.name.strategy": lambda context, record: subject,
            "validate": False,  # here, where the place in the value can be named
        }
        serializer = _alone(package(_MODULE, JSON_SCHEMA).JSONSerializer)(
            schema, self.registry.client, conf=settings, json_encode=_document
        )
        problems = _problems_by(serializer, schema, f"{self.part} of topic {self.topic}")
        if not self.registry.use_latest:
            self.registry.note(subject, self.topic, schema)
        context = context_of(self.topic, self.part)

        def encode(value: Any) -> bytes | None:
            if value is None:
                return None
            found = json.loads(document_of(with_iso_times(value)))
            if problem := problems(found):
                raise ValueError(problem)
            made: bytes = serializer(found, context)
            return made

        return encode

    def _schema(self, said: Any) -> tuple[Any, str]:
        """confluent_kafka's Schema and its subject: as it is said, or the newest, or of the
        declared types; ComponentError for one that takes no tuple."""
        given = None if said is None else parsed_json(schema_text(said, self.part), self.part)
        if self.registry.use_latest:
            return self._newest(given)
        parsed = self._derived() if given is None else given
        self._check(parsed)
        return _schema_of(parsed), self._subject(parsed)

    def _newest(self, given: Any) -> tuple[Any, str]:
        subject = self._subject(given)
        with self.registry.asked(subject, self.topic):
            found = self.registry.client.get_latest_version(subject).schema
        if found.schema_type != KIND:
            kind = found.schema_type or "AVRO"
            raise ComponentError(f"subject {subject} has a schema of {kind}, not of {KIND}")
        parsed = json.loads(found.schema_str)
        if given is not None and parsed != given:
            raise ComponentError(
                f"{schema_key(self.part)} is not the newest schema of subject {subject} of topic"
                f" {self.topic}, by which {USE_LATEST} writes: leave one of them out"
            )
        self._check(parsed)
        return found, subject

    def _subject(self, parsed: Any) -> str:
        title = parsed.get("title", "") if isinstance(parsed, dict) else ""
        return self.registry.subject(self.topic, self.part, title)

    def _check(self, parsed: Any) -> None:
        problem = field_problem(parsed, tuple(self.types)) if self.is_record else ""
        if problem:
            where = f"{self.part} of topic {self.topic}"
            raise ComponentError(f"{where}: {problem}: change the fields, or the schema")

    def _derived(self) -> Any:
        untyped = next((field for field, declared in self.types.items() if not declared), None)
        if untyped is not None:
            raise ComponentError(
                f"{self.part} of topic {self.topic}: the field {untyped!r} has no declared type:"
                f" declare it, give {schema_key(self.part)}, or set {USE_LATEST}: true"
            )
        title = name_for(self.topic if self.part == "value" else f"{self.topic}_{self.part}")
        try:
            if self.is_record:
                return json_schema_for(title, self.types)
            (declared,) = self.types.values()
            return json_schema_of_type(title, declared)
        except ValueError as error:
            raise ComponentError(f"{self.part} of topic {self.topic}: {error}") from None


def parsed_json(text: str, part: str) -> Any:
    """A schema that is said; ComponentError if it is no JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise ComponentError(f"{schema_key(part)} is no JSON: {error}") from None


def _schema_of(parsed: Any) -> Any:
    module = package("confluent_kafka.schema_registry", JSON_SCHEMA)
    return module.Schema(json.dumps(parsed), KIND)


def _alone(kind: Any) -> Any:
    """A class of serializers that looks up references of a schema in the registry alone: the
    client's own fetches the others from the web, whenever a value needs them."""
    resolve = package(_MODULE, JSON_SCHEMA)._resolve_named_schema
    nothing = package("referencing", JSON_SCHEMA).Registry

    class Alone(kind):  # type: ignore[misc]
        def _get_parsed_schema(self, schema: Any) -> Any:
            found = self._parsed_schemas.get_parsed_schema(schema)
            if found is None and schema is not None:
                found = json.loads(schema.schema_str), resolve(schema, self._registry, nothing())
                self._parsed_schemas.set(schema, found)
            return (None, None) if found is None else found

    return Alone


def _document(value: Any) -> str:
    """The client's own writer turns numbers beyond 64 bits away, and its reader rounds them."""
    return document_of(value).decode()


def _problems_by(serde: Any, schema: Any, where: str) -> Callable[[Any], str]:
    """What keeps a value from a schema: its place and why; empty if nothing does. ComponentError
    for a schema that is none. `serde`: confluent_kafka's, which has what it refers to."""
    try:
        parsed, references = serde._get_parsed_schema(schema)
        validator = serde._get_validator(schema, parsed, references)
    except Exception as error:  # of several classes of jsonschema's and referencing's
        problem = f"the schema is not one of JSON Schema: {first_line(error)}"
        raise ComponentError(f"{where}: {problem}") from None
    best_match = package("jsonschema.exceptions", JSON_SCHEMA).best_match

    def problems(value: Any) -> str:
        try:
            found = best_match(validator.iter_errors(value))
        except Exception as error:  # a reference to what the registry does not have
            return f"the schema cannot be applied: {first_line(error)}"
        if found is None:
            return ""
        return f"{found.json_path.removeprefix('$')}: {first_line(found.message)}".removeprefix(".")

    return problems


def json_reader(registry: Registry, part: str, said: Any, types: Mapping[str, str]) -> Read:
    """Reads keys or values, which have to be of the schema that is said, or else of that which each
    was written with. `types`: the declared types of fields that come from the record; texts of
    dates, times and decimals become these."""
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
        found = decoded(registry, deserializer, data, context_in(record, part))
        if typed and isinstance(found, dict):
            return found | _converted(typed, found)
        return found

    return read


def _converted(typed: Mapping[str, TypedValues], found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have declared types; ValueError that names one whose value is not of it."""
    values = {}
    for field in (each for each in typed if each in found):
        try:
            values[field] = typed[field].of_json(found[field])
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from None
    return values
