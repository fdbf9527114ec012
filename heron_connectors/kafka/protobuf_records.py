"""Keys and values of Kafka's records in Protobuf: by a class that protoc made, and a registry."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from heron_connectors.kafka.avro_records import Read, decoded
from heron_connectors.kafka.protobuf_values import reader_of, writer_of
from heron_connectors.kafka.schema_registry import (
    PROTOBUF,
    Registry,
    context_in,
    context_of,
    message_key,
    package,
)
from heron_core.errors import ComponentError

_MODULE = "confluent_kafka.schema_registry.protobuf"


def message_class(said: Any, part: str, name: str) -> Any:
    """The class of messages that a config names as MODULE.CLASS; ComponentError without one."""
    key = message_key(part)
    module, _, inside = str(said or "").rpartition(".")
    if not module:
        raise ComponentError(
            f"{name}: {key} is the MODULE.CLASS that protoc has made, not {said!r}"
        )
    try:
        found = getattr(import_module(module), inside)
    except (ImportError, AttributeError) as error:
        raise ComponentError(f"{name}: {key}: {said}: {error}") from None
    if not hasattr(getattr(found, "DESCRIPTOR", None), "full_name"):
        raise ComponentError(f"{name}: {key}: {said} is not a class of messages")
    return found


@dataclass(frozen=True, slots=True)
class ProtobufPart:
    """The key or the value of what a sink writes."""

    registry: Registry
    topic: str
    part: str
    fields: tuple[str, ...]
    """Those of the tuples, which are fields of the message; empty if the whole value is one."""

    def encoder(self, kind: Any) -> Callable[[Any], bytes | None]:
        """Makes bytes of a dict of fields. The schema is registered, or found, here: ComponentError
        in one line, before any record, if it is refused or has not the fields."""
        descriptor = kind.DESCRIPTOR
        there = {field.name for field in descriptor.fields}
        missing = next((each for each in self.fields if each not in there), None)
        if missing is not None:
            raise ComponentError(
                f"{self.part} of topic {self.topic}: message {descriptor.full_name} has no field"
                f" {missing!r}, but {', '.join(sorted(there))}"
            )
        subject = self.registry.subject(self.topic, self.part, descriptor.full_name)
        settings = {
            "auto.register.schemas": self.registry.auto_register,
            "use.latest.version": self.registry.use_latest,
            "subject.name.strategy": lambda context, record: subject,
        }
        module = package(_MODULE, PROTOBUF)
        serializer = module.ProtobufSerializer(kind, self.registry.client, conf=settings)
        written = writer_of(descriptor, kind)
        context = context_of(self.topic, self.part)
        empty = kind()
        if not empty.IsInitialized():
            needed = ", ".join(empty.FindInitializationErrors())
            raise ComponentError(
                f"{self.part} of topic {self.topic}: message {descriptor.full_name} has required"
                f" fields ({needed}), which proto2 alone has: make the fields optional"
            )
        with self.registry.asked(subject, self.topic):
            serializer(empty, context)
        return lambda value: None if value is None else serializer(written(value), context)


def protobuf_reader(registry: Registry, part: str, kind: Any, types: Mapping[str, str]) -> Read:
    """Reads keys or values as messages of a class. `types`: the fields that a record needs."""
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
    deserializer = module.ProtobufDeserializer(kind, settings, registry.client)
    read_message = reader_of(descriptor)

    def read(data: bytes | None, record: Any) -> Any:
        writers.clear()
        message = decoded(registry, deserializer, data, context_in(record, part))
        # A parser takes the bytes of any message for those of its own.
        other = next((each for each in writers if each != descriptor.full_name), None)
        if other is not None:
            raise ValueError(f"it is a message {other}, not {descriptor.full_name}")
        return None if message is None else read_message(message)

    return read
