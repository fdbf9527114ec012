"""Names of streams and partitions, and the messages that tasks receive and send. Pure."""

from dataclasses import dataclass
from typing import Any

from heron_api.errors import WrongArgumentError


@dataclass(frozen=True, slots=True)
class SystemStream:
    """A stream of a system: `SystemStream("kafka", "clicks")`; as text SYSTEM.STREAM."""

    system: str
    stream: str

    def __str__(self) -> str:
        return f"{self.system}.{self.stream}"


@dataclass(frozen=True, slots=True)
class SystemStreamPartition:
    """A partition of a stream; as text SYSTEM.STREAM.PARTITION."""

    system: str
    stream: str
    partition: int

    @property
    def system_stream(self) -> SystemStream:
        """The stream of the partition."""
        return SystemStream(self.system, self.stream)

    def __str__(self) -> str:
        return f"{self.system}.{self.stream}.{self.partition}"


@dataclass(frozen=True, slots=True)
class IncomingMessageEnvelope:
    """A message with its origin; `offset` is the offset in the partition, as text."""

    system_stream_partition: SystemStreamPartition
    offset: str
    key: Any
    message: Any


@dataclass(frozen=True, slots=True, init=False)
class OutgoingMessageEnvelope:
    """A message for a stream of `task.outputs`; keys and messages are encoded by the serdes of the
    stream."""

    system_stream: SystemStream
    key: Any
    message: Any

    def __init__(self, system_stream: SystemStream, *parts: Any, key: Any = None) -> None:
        """Samza's forms: (stream, message) or (stream, key, message); `key=` names the key.

        WrongArgumentError for other parts; Samza's partition key of its own is not supported.
        """
        if not isinstance(system_stream, SystemStream):
            raise WrongArgumentError(f"{system_stream!r} is not a SystemStream")
        if len(parts) not in (1, 2) or (len(parts) == 2 and key is not None):
            raise WrongArgumentError(
                "OutgoingMessageEnvelope takes (stream, message) or (stream, key, message);"
                " a partition is chosen by the key"
            )
        object.__setattr__(self, "system_stream", system_stream)
        object.__setattr__(self, "key", parts[0] if len(parts) == 2 else key)
        object.__setattr__(self, "message", parts[-1])
