"""Where a topology's dead letters go: what `topology.dead.letter` says, read. Pure."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core.errors import TopologyError, shown

FILE_PREFIX = "file:"
KAFKA_PREFIX = "kafka:"
CHOICES = "file:FOLDER, kafka:TOPIC@HOST:PORT or the name of a bolt of the topology"


class FileTarget(Struct, frozen=True):
    """A folder with files of JSON lines."""

    folder: str


class KafkaTarget(Struct, frozen=True):
    """A topic with a record of JSON for each letter."""

    topic: str
    servers: str


class BoltTarget(Struct, frozen=True):
    """A bolt of the topology, which reads the stream `errors` of the others."""

    name: str


Target = FileTarget | KafkaTarget | BoltTarget


def target_of(config: Mapping[str, Any], key: str) -> Target | None:
    """What the setting says; None for nothing, TopologyError for what is none of the choices."""
    value = config.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value.startswith(FILE_PREFIX):
        if folder := value.removeprefix(FILE_PREFIX):
            return FileTarget(folder)
    elif isinstance(value, str) and value.startswith(KAFKA_PREFIX):
        topic, _, servers = value.removeprefix(KAFKA_PREFIX).partition("@")
        if topic and servers:
            return KafkaTarget(topic, servers)
    elif isinstance(value, str) and value and ":" not in value:
        return BoltTarget(value)
    raise TopologyError(f"{key} must be {CHOICES}, not {shown(value)}")


def where(target: Target) -> str:
    """For people: where a letter is."""
    match target:
        case FileTarget(folder):
            return folder
        case KafkaTarget(topic, servers):
            return f"topic {topic} of Kafka at {servers}"
        case BoltTarget(name):
            return f"bolt {name!r}"
