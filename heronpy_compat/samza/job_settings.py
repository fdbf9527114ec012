"""A job's properties as values, checked. Pure.

job.name = counter
task.class = counting.Counter
task.inputs = kafka.clicks
task.outputs = kafka.counts
systems.kafka.samza.factory = org.apache.samza.system.kafka.KafkaSystemFactory
systems.kafka.producer.bootstrap.servers = localhost:9092
stores.counts.factory = org.apache.samza.storage.kv.RocksDbKeyValueStorageEngineFactory
stores.counts.changelog = kafka.counter-counts
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heron_core.errors import TopologyError
from heron_core.validation import choices
from heronpy_compat.samza.envelopes import SystemStream, SystemStreamPartition
from heronpy_compat.samza.job_keys import unknown_key
from heronpy_compat.samza.serdes import BYTES, STRING, Serde, serde_of
from heronpy_compat.samza.systems import OLDEST, UPCOMING

KAFKA, FILES = "kafka", "files"
SYSTEM_FACTORIES = {
    "org.apache.samza.system.kafka.KafkaSystemFactory": KAFKA,
    "heronpy.FileSystemFactory": FILES,
}
MEMORY, DISK = "memory", "disk"
STORE_FACTORIES = {
    "org.apache.samza.storage.kv.RocksDbKeyValueStorageEngineFactory": DISK,
    "org.apache.samza.storage.kv.inmemory.InMemoryKeyValueStorageEngineFactory": MEMORY,
}
CHECKPOINT_FACTORIES = {
    "org.apache.samza.checkpoint.kafka.KafkaCheckpointManagerFactory": KAFKA,
    "org.apache.samza.checkpoint.file.FileSystemCheckpointManagerFactory": FILES,
}
GROUPER = "org.apache.samza.container.grouper.stream.GroupByPartitionFactory"
COMMIT_MS = 60_000
"""Samza's default of task.commit.ms."""
WINDOW_NEVER = -1
BOOTSTRAP_PRIORITY = 1_000_000
"""Of a bootstrap stream: Samza's is the largest whole number."""
_NAMED = re.compile(r"(systems|stores)\.([^.]+)\.(?:samza\.)?factory")
_BROADCAST = re.compile(r"(.+)#(?:(\d+)|\[(\d+)-(\d+)\])")


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """One of `stores.`."""

    name: str
    kind: str
    """MEMORY or DISK."""
    key: Serde
    message: Serde
    changelog: SystemStream | None
    side_inputs: tuple[SystemStream, ...]
    processor: str
    """Class of a side input's processor; empty: each message is an entry."""


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How a stream is read and written."""

    key: Serde
    message: Serde
    begin: str
    """OLDEST or UPCOMING, without a checkpoint."""
    resets: bool
    """Whether the checkpoint is left aside."""
    bootstraps: bool
    priority: int


@dataclass(frozen=True, slots=True)
class JobSettings:
    """A job."""

    properties: Mapping[str, str]
    name: str
    task_class: str
    containers: int
    inputs: tuple[SystemStream, ...]
    outputs: tuple[SystemStream, ...]
    broadcasts: tuple[SystemStreamPartition, ...]
    systems: Mapping[str, str]
    """Name -> KAFKA or FILES."""
    stores: tuple[StoreSettings, ...]
    window_ms: int
    commit_ms: int
    concurrency: int
    checkpoints: str
    """KAFKA, FILES, or empty."""
    restores_transactionally: bool
    local_folder: str
    """Where stores on disk survive their container; empty: they do not."""
    ignored: frozenset[str]
    """Names of exceptions; * for all."""
    drops_undecodable: bool

    def of_system(self, system: str, key: str, default: str = "") -> str:
        """A key of a system."""
        return self.properties.get(f"systems.{system}.{key}", default)

    def stream(self, stream: SystemStream) -> StreamSettings:
        """How a stream is read and written; ComponentError for an unknown serde."""

        def value(key: str, default: str = "") -> str:
            own = f"systems.{stream.system}.streams.{stream.stream}.samza.{key}"
            default = self.of_system(stream.system, f"samza.{key}", default)
            return self.properties.get(own, default)

        begin = value("offset.default", OLDEST if self.is_of_files(stream) else UPCOMING)
        if begin not in (OLDEST, UPCOMING):
            raise TopologyError(f"samza.offset.default of {stream} is oldest or upcoming: {begin}")
        plain = STRING if self.is_of_files(stream) else BYTES
        registry = _registry(self.properties)
        key, message = (
            serde_of(name, registry) if (name := value(part)) else plain
            for part in ("key.serde", "msg.serde")
        )
        bootstraps = _truth(value("bootstrap"), f"samza.bootstrap of {stream}")
        priority = int(value("priority") or -1)
        return StreamSettings(
            key,
            message,
            begin,
            _truth(value("reset.offset"), f"samza.reset.offset of {stream}"),
            bootstraps,
            BOOTSTRAP_PRIORITY if bootstraps else priority,
        )

    def is_of_files(self, stream: SystemStream) -> bool:
        """Whether the stream is of a folder of files."""
        return self.systems[stream.system] == FILES

    def is_bounded(self, system: str) -> bool:
        """Whether partitions of a system end, and the job with them: files do by default."""
        key = f"systems.{system}.bounded"
        return _truth(self.properties.get(key) or str(self.systems[system] == FILES), key)

    def client_settings(self, system: str, side: str) -> dict[str, Any]:
        """Settings of librdkafka's consumer or producer; the servers of either serve both.

        TopologyError without servers.
        """
        start = f"systems.{system}.{side}."
        settings = {
            name.removeprefix(start): value
            for name, value in self.properties.items()
            if name.startswith(start) and not name.endswith(".zookeeper.connect")
        }
        servers = [
            self.of_system(system, f"{client}.bootstrap.servers")
            for client in ("consumer", "producer")
        ]
        address = settings.get("bootstrap.servers") or servers[0] or servers[1]
        if not address:
            raise TopologyError(f"systems.{system}.producer.bootstrap.servers is missing")
        return {**settings, "bootstrap.servers": address}


def job_settings(properties: Mapping[str, str]) -> JobSettings:
    """The job of some properties; TopologyError, in one line, for the first mistake."""
    if problem := unknown_key(properties):
        raise TopologyError(problem)
    systems = _factories(properties, "systems", "samza.factory", SYSTEM_FACTORIES)
    kinds = _factories(properties, "stores", "factory", STORE_FACTORIES)
    stores = tuple(_store(properties, name, kind, systems) for name, kind in kinds.items())
    checkpoint = properties.get("task.checkpoint.factory", "")
    if checkpoint and checkpoint not in CHECKPOINT_FACTORIES:
        raise TopologyError(
            _unsupported("task.checkpoint.factory", checkpoint, CHECKPOINT_FACTORIES)
        )
    grouper = properties.get("job.systemstreampartition.grouper.factory", GROUPER)
    if grouper != GROUPER:
        raise TopologyError(
            _unsupported("job.systemstreampartition.grouper.factory", grouper, [GROUPER])
        )
    settings = JobSettings(
        properties=properties,
        name=f"{_needed(properties, 'job.name')}-{properties.get('job.id', '1')}",
        task_class=_needed(properties, "task.class"),
        containers=_whole(properties, "job.container.count", 1, 1),
        inputs=_streams(properties, "task.inputs", systems),
        outputs=_streams(properties, "task.outputs", systems),
        broadcasts=_broadcasts(properties, systems),
        systems=systems,
        stores=stores,
        window_ms=_whole(properties, "task.window.ms", WINDOW_NEVER, WINDOW_NEVER),
        commit_ms=_whole(properties, "task.commit.ms", COMMIT_MS, WINDOW_NEVER),
        concurrency=_whole(properties, "task.max.concurrency", 1, 1),
        checkpoints=CHECKPOINT_FACTORIES.get(checkpoint, ""),
        restores_transactionally=_flag(properties, "task.transactional.state.restore.enabled"),
        local_folder=_local_folder(properties),
        ignored=frozenset(_words(properties.get("task.ignored.exceptions", ""))),
        drops_undecodable=_flag(properties, "task.drop.deserialization.errors"),
    )
    _check(settings)
    return settings


def _check(settings: JobSettings) -> None:
    if not settings.inputs and not settings.broadcasts:
        raise TopologyError("task.inputs is missing: SYSTEM.STREAM, several separated by commas")
    for stream in (*settings.inputs, *settings.outputs):
        settings.stream(stream)
    for system, kind in settings.systems.items():
        if kind == KAFKA:
            settings.client_settings(system, "producer")
        else:
            _needed(settings.properties, f"systems.{system}.path")
    if settings.checkpoints == FILES:
        _needed(settings.properties, "task.checkpoint.path")
    if settings.checkpoints == KAFKA:
        system = _needed(settings.properties, "task.checkpoint.system")
        if settings.systems.get(system) != KAFKA:
            raise TopologyError(f"task.checkpoint.system: {system} is not a system of Kafka")


def _factories(
    properties: Mapping[str, str], group: str, key: str, factories: Mapping[str, str]
) -> dict[str, str]:
    kinds = {}
    for name, value in properties.items():
        match = _NAMED.fullmatch(name)
        if match and match[1] == group and name == f"{group}.{match[2]}.{key}":
            if value not in factories:
                raise TopologyError(_unsupported(name, value, factories))
            kinds[match[2]] = factories[value]
    return kinds


def _unsupported(key: str, value: str, known: Any) -> str:
    return f"{key}: {value} is not supported; {choices('classes', value, known)}"


def _store(
    properties: Mapping[str, str], name: str, kind: str, systems: Mapping[str, str]
) -> StoreSettings:
    registry = _registry(properties)
    key, message = (
        serde_of(serde, registry) if (serde := properties.get(f"stores.{name}.{part}")) else BYTES
        for part in ("key.serde", "msg.serde")
    )
    changelogs = _streams(properties, f"stores.{name}.changelog", systems)
    side_inputs = _streams(properties, f"stores.{name}.side.inputs", systems)
    if changelogs and side_inputs:
        raise TopologyError(f"stores.{name} has a changelog or side inputs, not both")
    return StoreSettings(
        name, kind, key, message, changelogs[0] if changelogs else None, side_inputs,
        properties.get(f"stores.{name}.side.inputs.processor.factory", ""),
    )  # fmt: skip


def _registry(properties: Mapping[str, str]) -> dict[str, str]:
    start, end = "serializers.registry.", ".class"
    return {
        name.removeprefix(start).removesuffix(end): value
        for name, value in properties.items()
        if name.startswith(start) and name.endswith(end)
    }


def _words(text: str) -> list[str]:
    return [word for each in text.split(",") if (word := each.strip())]


def _streams(
    properties: Mapping[str, str], key: str, systems: Mapping[str, str]
) -> tuple[SystemStream, ...]:
    return tuple(
        _stream(word, key, systems) for word in dict.fromkeys(_words(properties.get(key, "")))
    )


def _stream(word: str, key: str, systems: Mapping[str, str]) -> SystemStream:
    system, dot, stream = word.partition(".")
    if not dot or not stream:
        raise TopologyError(f"{key}: {word} is not SYSTEM.STREAM")
    if system not in systems:
        raise TopologyError(
            f"{key}: {word}: systems.{system}.samza.factory is missing;"
            f" {choices('systems', system, systems)}"
        )
    return SystemStream(system, stream)


def _broadcasts(
    properties: Mapping[str, str], systems: Mapping[str, str]
) -> tuple[SystemStreamPartition, ...]:
    key = "task.broadcast.inputs"
    partitions = []
    for word in _words(properties.get(key, "")):
        match = _BROADCAST.fullmatch(word)
        if match is None:
            raise TopologyError(f"{key}: {word} is not SYSTEM.STREAM#N or SYSTEM.STREAM#[N-M]")
        stream = _stream(match[1], key, systems)
        first, last = (match[2], match[2]) if match[2] else (match[3], match[4])
        partitions += [
            SystemStreamPartition(stream.system, stream.stream, number)
            for number in range(int(first), int(last) + 1)
        ]
    return tuple(partitions)


def _local_folder(properties: Mapping[str, str]) -> str:
    if not _flag(properties, "job.host-affinity.enabled"):
        return ""
    return _needed(properties, "job.logged.store.base.dir")


def _needed(properties: Mapping[str, str], key: str) -> str:
    if not properties.get(key):
        raise TopologyError(f"{key} is missing")
    return properties[key]


def _whole(properties: Mapping[str, str], key: str, default: int, least: int) -> int:
    text = properties.get(key, str(default))
    if not re.fullmatch(r"-?\d{1,15}", text) or int(text) < least:
        raise TopologyError(f"{key} is a whole number from {least} on: {text}")
    return int(text)


def _flag(properties: Mapping[str, str], key: str) -> bool:
    return _truth(properties.get(key, ""), key)


def _truth(text: str, key: str) -> bool:
    if text.lower() not in ("", "true", "false"):
        raise TopologyError(f"{key} is true or false: {text}")
    return text.lower() == "true"
