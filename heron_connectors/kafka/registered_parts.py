"""Keys and values of a sink's records in formats with a schema registry.

`RegisteredPart` is format-independent: choice of schema and subject, checks of tuples against
the schema, and registration of the schema. A `RegisteredCodec` contains the differences between
formats; avro_records.py, json_records.py and protobuf_records.py define one each, together with
the readers.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from heron_connectors.kafka.avro_schemas import name_for
from heron_connectors.kafka.schema_registry import (
    AVRO_KIND,
    USE_LATEST,
    Registry,
    RegistryAway,
    context_of,
    first_line,
    schema_key,
)
from heron_core.errors import ComponentError

Read = Callable[[bytes | None, Any], Any]
"""(key or value, its record) -> decoded value; ValueError for invalid bytes, RegistryAway."""
Write = Callable[[Any, Any], bytes]
"""(a dict of fields or a value, the client's context) -> bytes; ValueError names the field."""


class Known(NamedTuple):
    """A schema to write by."""

    schema: Any
    """confluent_kafka's schema object for the registry. None in Protobuf: the serializer
    registers the class and its imports with the first message."""
    parsed: Any
    """What values are checked by: as fastavro or json has the schema, or a class of messages."""


@dataclass(frozen=True, slots=True)
class PartRows:
    """What tuples have for a key or a value."""

    types: Mapping[str, str]
    """The declared types by field; an empty text for a field without."""
    is_record: bool
    """Whether the tuple's fields are the record's fields; else the only field is the value."""


@dataclass(frozen=True, slots=True)
class RegisteredCodec:
    """What is a format's own. Each function raises a ValueError, or a ComponentError, in one line
    for a schema, a type or a package that is wrong."""

    kind: str
    """As a registry calls the format."""
    key: Callable[[str], str]
    """key or value -> config key of the schema."""
    own: Callable[[Any, str, Registry], Known | None]
    """(value of the config key, key or value, registry) -> the schema; None if not configured."""
    derived: Callable[[str, PartRows, Registry], Known] | None
    """(title, rows) -> the schema of declared types; None where a schema has to be said."""
    newest: Callable[[Any, Known | None, str, Registry], Known]
    """(the registry's newest, what is said, its key) -> what to write by; the text of a ValueError
    is a predicate of the newest schema, with the cure."""
    record: Callable[[Any], str]
    """A parsed schema -> name of the record, for subjects; empty without a name."""
    problem: Callable[[Any, PartRows], str]
    """Reason why rows violate a parsed schema, and the remedy; empty if valid."""
    writer: Callable[[Known, Mapping[str, Any], Registry, str], Write]
    """(schema, settings of the client's serializer, registry, part) -> serializer."""
    reader: Callable[[Registry, str, Any, Mapping[str, str]], Read]
    """(registry, key or value, what the config key says, the declared types of the fields that come
    from the record) -> what reads a record."""
    fetched: tuple[str, ...] = ()
    """How the registry is asked for the newest schema."""


@dataclass(frozen=True, slots=True)
class RegisteredPart:
    """The key or the value of what a sink writes."""

    codec: RegisteredCodec
    registry: Registry
    topic: str
    part: str
    rows: PartRows

    def encoder(self, said: Any) -> Callable[[Any], bytes | None]:
        """Makes bytes of a dict of fields, or of a value. The schema is registered, or found, here:
        ComponentError in one line, before any record, if it is refused or does not hold the rows.
        """
        known = self._schema(said)
        if problem := self.codec.problem(known.parsed, self.rows):
            raise ComponentError(f"{self._where}: {problem}")
        subject = self._subject(known)
        settings = {
            "auto.register.schemas": self.registry.auto_register,
            "use.latest.version": self.registry.use_latest,
            "subject.name.strategy": lambda context, record: subject,
        }
        write = self.codec.writer(known, settings, self.registry, self._where)
        context = context_of(self.topic, self.part)
        if known.schema is None:
            with self.registry.asked(subject, self.topic):
                write({}, context)
        elif not self.registry.use_latest:
            self.registry.note(subject, self.topic, known.schema)
        return lambda value: None if value is None else write(value, context)

    @property
    def _where(self) -> str:
        return f"{self.part} of topic {self.topic}"

    def _schema(self, said: Any) -> Known:
        """As it is said, or the newest, or of the declared types."""
        own = self.codec.own(said, self.part, self.registry)
        if self.registry.use_latest:
            return self._newest(own)
        if own is None and self.codec.derived is not None:
            return self._derived(self.codec.derived)
        if own is None:
            raise ComponentError(f"{self._where}: {self.codec.key(self.part)} is not set")
        return own

    def _newest(self, own: Known | None) -> Known:
        """The client writes by it, whatever else is said: values that are checked by another schema
        would be converted without a word."""
        subject = self._subject(own)
        with self.registry.asked(subject, self.topic):
            client = self.registry.client
            latest = client.get_latest_version(subject, *self.codec.fetched).schema
        try:
            if (kind := latest.schema_type or AVRO_KIND) != self.codec.kind:
                remedy = f"write in that format, or set {USE_LATEST}: false"
                raise ValueError(f"is one of {kind}, not of {self.codec.kind}: {remedy}")
            return self.codec.newest(latest, own, self.codec.key(self.part), self.registry)
        except ValueError as error:
            whose = f"the newest schema of subject {subject} of topic {self.topic}"
            raise ComponentError(f"{whose} {error}") from None

    def _derived(self, derive: Callable[[str, PartRows, Registry], Known]) -> Known:
        untyped = next((field for field, declared in self.rows.types.items() if not declared), None)
        if untyped is not None:
            raise ComponentError(
                f"{self._where}: the field {untyped!r} has no declared type: declare it, give"
                f" {self.codec.key(self.part)}, or set {USE_LATEST}: true"
            )
        title = name_for(self.topic if self.part == "value" else f"{self.topic}_{self.part}")
        try:
            return derive(title, self.rows, self.registry)
        except ValueError as error:
            raise ComponentError(f"{self._where}: {error}") from None

    def _subject(self, known: Known | None) -> str:
        record = "" if known is None else self.codec.record(known.parsed)
        return self.registry.subject(self.topic, self.part, record)


def same(found: Known, own: Known | None, key: str) -> Known:
    """The newest schema, which must equal the configured schema; ValueError."""
    if own is not None and own.parsed != found.parsed:
        raise ValueError(f"is another one than {key} says: leave {key} or {USE_LATEST} out")
    return found


def schema_text(said: Any, part: str) -> str:
    """A configured schema: JSON, the path of a JSON file, or parsed JSON."""
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


def decoded(registry: Registry, deserializer: Any, data: bytes | None, context: Any) -> Any:
    """Decode a record; RegistryAway, or a ValueError if no reader can decode the bytes."""
    try:
        return deserializer(data, context)
    except Exception as error:  # of whatever class: bytes that are no record meet any line
        problem = registry.problem(error)
        if isinstance(problem, RegistryAway):
            raise problem from None
        raise ValueError(f"{type(error).__name__}: {first_line(error)}") from None
