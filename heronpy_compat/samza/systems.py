"""Systems: where the partitions of streams are read. The protocol, and folders of text files.

    systems.NAME.samza.factory = heronpy.FileSystemFactory
    systems.NAME.path = FOLDER
    systems.NAME.key.separator = \\t
    systems.NAME.bounded = false

A stream of such a system is a file FOLDER/STREAM, or a folder of files, each a partition in the
order of the names. A line is a message; with a separator, the text before the first one is the
key. A partition ends with its file, unless bounded = false.
"""

import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from heron_core.errors import ComponentError
from heronpy_compat.samza.envelopes import SystemStreamPartition

OLDEST, UPCOMING = "oldest", "upcoming"
"""Values of samza.offset.default."""
READ_BYTES = 64 * 1024
"""So much of a file is read at a time, and waits as lines."""


@dataclass(frozen=True, slots=True)
class Record:
    """A message before its serde."""

    key: bytes | None
    message: bytes | None
    offset: int
    following: int
    """The position behind the message."""


class SystemConsumer(Protocol):
    """Reads partitions of the streams of one system."""

    def partitions(self, stream: str) -> int:
        """The number of partitions; ComponentError for an unknown stream."""

    def end_of(self, partition: SystemStreamPartition) -> int:
        """The position behind the newest message that is there now."""

    def begin(self, positions: Mapping[SystemStreamPartition, int | str]) -> None:
        """Read from these positions on; called once. OLDEST and UPCOMING stand for the ends."""

    def take(self, partition: SystemStreamPartition) -> Record | None:
        """The next message, if it is there; never waits."""

    def has_ended(self, partition: SystemStreamPartition) -> bool:
        """Whether all of a bounded partition is taken."""

    def close(self) -> None:
        """Release what is open."""


@dataclass(slots=True)
class _Reading:
    """A file at some position."""

    path: str
    position: int
    lines: deque[bytes]
    """Complete lines from the position on."""


class FileConsumer:
    """A SystemConsumer of text files; the position in a partition is a number of bytes.

    A file is opened for each piece that is read, so that a folder may have any number of files.
    """

    def __init__(self, folder: str, separator: str, bounded: bool) -> None:
        """`bounded`: whether partitions end with their files, which else may grow."""
        self._folder, self._separator = folder, separator.encode()
        self._bounded = bounded
        self._readings: dict[SystemStreamPartition, _Reading] = {}
        self._ended: set[SystemStreamPartition] = set()

    def _paths(self, stream: str) -> list[str]:
        path = os.path.join(self._folder, stream)
        if os.path.isfile(path):
            return [path]
        if not os.path.isdir(path):
            raise ComponentError(f"{path} is missing: the stream {stream} is this file or folder")
        names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
        return [os.path.join(path, name) for name in names]

    def partitions(self, stream: str) -> int:
        """See SystemConsumer."""
        return len(self._paths(stream))

    def end_of(self, partition: SystemStreamPartition) -> int:
        """See SystemConsumer."""
        return os.path.getsize(self._paths(partition.stream)[partition.partition])

    def begin(self, positions: Mapping[SystemStreamPartition, int | str]) -> None:
        """See SystemConsumer; ComponentError for a partition that is missing."""
        for partition, position in positions.items():
            paths = self._paths(partition.stream)
            if partition.partition >= len(paths):
                raise ComponentError(f"{partition.system_stream} has {len(paths)} partitions, and"
                                     f" partition {partition.partition} is asked for")  # fmt: skip
            path = paths[partition.partition]
            named = {OLDEST: 0, UPCOMING: os.path.getsize(path)}
            offset = named[position] if isinstance(position, str) else position
            self._readings[partition] = _Reading(path, offset, deque())

    def take(self, partition: SystemStreamPartition) -> Record | None:
        """See SystemConsumer."""
        reading = self._readings[partition]
        if not reading.lines:
            self._read(reading)
        if not reading.lines:
            self._ended.add(partition)
            return None
        line, offset = reading.lines.popleft(), reading.position
        reading.position += len(line)
        key: bytes | None = None
        message = line.rstrip(b"\r\n")
        if self._separator and self._separator in message:
            key, _, message = message.partition(self._separator)
        return Record(key, message, offset, reading.position)

    def _read(self, reading: _Reading) -> None:
        with open(reading.path, "rb") as file:
            file.seek(reading.position)
            lines = file.readlines(READ_BYTES)
        if lines and not self._bounded and not lines[-1].endswith(b"\n"):
            lines.pop()  # the rest of the line is to come
        reading.lines.extend(lines)

    def has_ended(self, partition: SystemStreamPartition) -> bool:
        """See SystemConsumer."""
        return self._bounded and partition in self._ended

    def close(self) -> None:
        """See SystemConsumer: nothing is open."""
