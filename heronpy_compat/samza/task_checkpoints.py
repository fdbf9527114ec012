"""Checkpoints of tasks: input offsets and changelog positions, written behind all stores.

`task.checkpoint.factory` names where they are: a folder of any file system, a file for each task,
or a compacted topic, a record for each task.
"""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from heron_core.errors import ComponentError
from heron_io.checkpoint_store.opening import open_file_access
from heronpy_compat.samza.compacted_logs import CompactedLog


@dataclass(frozen=True, slots=True)
class TaskCheckpoint:
    """Where a task goes on."""

    positions: dict[str, int]
    """SYSTEM.STREAM.PARTITION -> position of the next message."""
    stores: dict[str, int]
    """Name of a store -> position in its changelog."""

    def packed(self) -> bytes:
        """As JSON."""
        return json.dumps({"positions": self.positions, "stores": self.stores}).encode()

    @staticmethod
    def unpacked(data: bytes, where: str) -> "TaskCheckpoint":
        """From JSON; ComponentError that names `where` for anything else."""
        try:
            said = json.loads(data)
            return TaskCheckpoint(dict(said["positions"]), dict(said["stores"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ComponentError(f"{where} is not a checkpoint of a task: {error!r}") from None


class CheckpointManager(Protocol):
    """Reads and writes the newest checkpoint of each task."""

    def read(self, task: str) -> TaskCheckpoint | None:
        """The newest one, if the task has any."""

    def write(self, task: str, checkpoint: TaskCheckpoint) -> None:
        """Durable on return."""


class FileCheckpoints:
    """A CheckpointManager in a folder: TASK.json."""

    def __init__(self, url: str) -> None:
        self._files, self._folder = open_file_access(url)

    def _path(self, task: str) -> str:
        return f"{self._folder}/{task.replace(' ', '-')}.json"

    def read(self, task: str) -> TaskCheckpoint | None:
        """See CheckpointManager."""
        path = self._path(task)
        try:
            data = self._files.read(path)
        except FileNotFoundError:
            return None
        return TaskCheckpoint.unpacked(data, path)

    def write(self, task: str, checkpoint: TaskCheckpoint) -> None:
        """See CheckpointManager."""
        self._files.write(self._path(task), (checkpoint.packed(),))


class LogCheckpoints:
    """A CheckpointManager in a log that all tasks share: the key is the task's name."""

    def __init__(self, log: CompactedLog, where: str) -> None:
        self._log = log
        self._read = dict(log.read(0, log.end))
        self._where = where

    def read(self, task: str) -> TaskCheckpoint | None:
        """See CheckpointManager: as the log was at the start of the container."""
        data = self._read.get(task.encode())
        return None if data is None else TaskCheckpoint.unpacked(data, self._where)

    def write(self, task: str, checkpoint: TaskCheckpoint) -> None:
        """See CheckpointManager."""
        self._log.append([(task.encode(), checkpoint.packed())])


class NoCheckpoints:
    """A CheckpointManager of a job without `task.checkpoint.factory`: tasks begin at
    samza.offset.default, as in Samza."""

    def read(self, task: str) -> TaskCheckpoint | None:
        """See CheckpointManager."""
        return None

    def write(self, task: str, checkpoint: TaskCheckpoint) -> Any:
        """See CheckpointManager."""
