"""Keys and values of Kafka's records in Avro, by the schemas of a registry."""

import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heron_connectors.kafka.avro_schemas import (
    called,
    holds,
    name_for,
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
from heron_connectors.kafka.schema_registry import (
    AVRO,
    USE_LATEST,
    Registry,
    RegistryAway,
    context_in,
    context_of,
    first_line,
    package,
    schema_key,
)
from heron_core.errors import ComponentError

_MODULE = "confluent_kafka.schema_registry.avro"
Read = Callable[[bytes | None, Any], Any]
"""(key or value, its record) -> what it is; ValueError for bytes that are none, RegistryAway."""


@dataclass(frozen=True, slots=True)
class AvroPart:
    """The key or the value of what a sink writes."""

    registry: Registry
    topic: str
    part: str
    types: Mapping[str, str]
    """The declared types by field; an empty text for a field without."""
    is_record: bool
    """Whether the fields of a tuple are those of the record; else its one field is the value."""

    def encoder(self, said: Any) -> Callable[[Any], bytes | None]:
        """Makes bytes of a dict of fields, or of a value. The schema is registered, or found, here:
        ComponentError in one line, before any record, if it is refused or does not hold the
        declared types."""
        avro = package(_MODULE, AVRO)
        schema = self._schema(said)
        parsed = parsed_schema(schema, self.registry)
        self._check_types(parsed)
        subject = self._subject(parsed)
        if not self.registry.use_latest:
            self.registry.note(subject, self.topic, schema)
        settings = {
            "auto.register.schemas": self.registry.auto_register,
            "use.latest.version": self.registry.use_latest,
            "subject.name.strategy": lambda context, record: subject,
        }
        serializer = avro.AvroSerializer(self.registry.client, schema, conf=settings)
        written = writer_of(parsed)
        context = context_of(self.topic, self.part)
        return lambda value: None if value is None else serializer(written(value), context)

    def _schema(self, said: Any) -> Any:
        """confluent_kafka's Schema: as it is said, or the newest, or of the declared types."""
        given = None if said is None else _avro_schema(schema_text(said, self.part))
        if self.registry.use_latest:
            return self._newest(given)
        return given or _avro_schema(json.dumps(self._derived()))

    def _newest(self, given: Any) -> Any:
        """The client writes by it, whatever else is said: values that are checked by another schema
        would be converted without a word."""
        expected = None if given is None else parsed_schema(given, self.registry)
        subject = self._subject(expected)
        with self.registry.asked(subject, self.topic):
            found = self.registry.client.get_latest_version(subject).schema
        if found.schema_type not in (None, "AVRO"):
            raise ComponentError(
                f"subject {subject} has a schema of {found.schema_type}, not of AVRO"
            )
        if given is not None and parsed_schema(found, self.registry) != expected:
            raise ComponentError(
                f"{schema_key(self.part)} is not the newest schema of subject {subject} of topic"
                f" {self.topic}, by which {USE_LATEST} writes: leave one of them out"
            )
        return found

    def _derived(self) -> Any:
        untyped = [field for field, declared in self.types.items() if not declared]
        if untyped:
            raise ComponentError(
                f"{self.part} of topic {self.topic}: the field {untyped[0]!r} has no declared type:"
                f" declare it, give {schema_key(self.part)}, or set {USE_LATEST}: true"
            )
        name = name_for(self.topic if self.part == "value" else f"{self.topic}_{self.part}")
        try:
            if self.is_record:
                return schema_for(name, self.types)
            (declared,) = self.types.values()
            return schema_of_type(name, declared)
        except ValueError as error:
            raise ComponentError(f"{self.part} of topic {self.topic}: {error}") from None

    def _subject(self, parsed: Any) -> str:
        record = parsed.get("name", "") if isinstance(parsed, dict) else ""
        return self.registry.subject(self.topic, self.part, record)

    def _check_types(self, parsed: Any) -> None:
        """ComponentError if a declared type, or a field, is not in the schema."""
        problem = self._problem(parsed)
        if problem:
            where = f"{self.part} of topic {self.topic}"
            raise ComponentError(f"{where}: {problem}: change the types, or the schema")

    def _problem(self, parsed: Any) -> str:
        if kind_of(parsed) == "bytes" and logical_of(parsed) == "decimal":
            return "a decimal alone has no form in Kafka's Avro, but in a record"
        if not self.is_record:
            ((field, declared),) = self.types.items()
            return _misfit(field, declared, parsed, parsed)
        if kind_of(parsed) != "record":
            return f"its schema is {called(parsed)}, and not a record"
        return record_problem(parsed, self.types)


def _avro_schema(text: str) -> Any:
    """confluent_kafka's, which wants an object where Avro's own text of a type is enough."""
    text = f'{{"type": {text}}}' if text.startswith('"') else text
    return package("confluent_kafka.schema_registry", AVRO).Schema(text, "AVRO")


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
    """As fastavro has it, with the schemas that it refers to; ComponentError if it is none."""
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
        raise ComponentError(f"the schema is not one of Avro: {first_line(error)}") from None


def schema_text(said: Any, part: str) -> str:
    """A schema as it is said: JSON, or the path of a file that has it, or what JSON is read to."""
    if isinstance(said, (dict, list)):
        return json.dumps(said)
    text = str(said).strip()
    if text.startswith(("{", "[", '"')):
        return text
    try:
        with open(os.path.expanduser(text), encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise ComponentError(f"{schema_key(part)}: {text}: {first_line(error)}") from None


# --- reading --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Rest:
    """What the payload of the last record has left when it is read."""

    payload: io.BytesIO | None = None


def avro_reader(registry: Registry, part: str, said: Any, types: Mapping[str, str]) -> Read:
    """Reads keys or values: by the schema that is said, else each by the one that it was written
    with. `types`: the declared types of fields that come from the record."""
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
        found = decoded(registry, deserializer, data, context_in(record, part))
        if data is not None and rest.payload is not None and rest.payload.read(1):
            raise ValueError("there are bytes behind its end: it is of another schema")
        return found

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
        found = _named_in(there[field], parsed)
        if declared and not holds(schema_of_type("x", declared), found):
            raise ComponentError(
                f"{schema_key(part)}: {field!r} is declared as {declared}, and the schema has"
                f" {called(found)}: change one of them"
            )


def decoded(registry: Registry, deserializer: Any, data: bytes | None, context: Any) -> Any:
    """What a record has; RegistryAway, or a ValueError for what none of its readers can read."""
    try:
        return deserializer(data, context)
    except Exception as error:  # of whatever class: bytes that are no record meet any line
        problem = registry.problem(error)
        if isinstance(problem, RegistryAway):
            raise problem from None
        raise ValueError(f"{type(error).__name__}: {first_line(error)}") from None
