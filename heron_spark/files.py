"""What lies in the checkpoint folder.

    topology.json            whose it is: name, components, parallelism, version of this layout
    query/                   Spark's own checkpoint: which batches were begun, which are done
    tasks/TASK/BATCH         what one task did in one batch, written once and never changed
    ending                   the batch in which bolts say their last words, once spouts are finished
    runs/RUN.json            what the hosts of a run have to know; its removal ends them

A task's batch is done exactly when its file is there: it has what the task sent and its state
afterwards. It is written beside its place and linked to it, so it is whole or absent, and the first
of several attempts wins: all others, and every repetition of the batch, read the same. That makes a
batch repeatable whatever user code does, and a tuple of a source that cannot be asked twice is in
the file before anybody sees it.
"""

import json
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heron_core.errors import HeronError, UsageError
from heron_core.topology import TopologySpec
from heron_spark.blocks import Block

VERSION = 1
BATCHES_KEPT = 3
"""The batch that runs, the one before it (the state it begins with) and one for Spark's sake: its
log of a batch may be lost with the machine although the batch is done."""
_LENGTH = struct.Struct("<I")
_NO_LINKS = (1, 38, 95)
"""EPERM, ENOSYS, EOPNOTSUPP: file systems without hard links."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one task did in one batch."""

    facts: Mapping[str, Any]
    """JSON values: counts, whether a spout is finished, printed lines."""
    blocks: list[Block]
    state: bytes


class Folder:
    """A checkpoint folder."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)

    @property
    def query(self) -> str:
        """Spark's checkpoint."""
        return os.path.join(self.path, "query")

    def run_file(self, run: str) -> str:
        """What the hosts of a run read, and watch."""
        return os.path.join(self.path, "runs", f"{run}.json")

    def task_file(self, task: int, batch: int) -> str:
        """Where the outcome of a task's batch lies."""
        return os.path.join(self.path, "tasks", str(task), f"{batch:09d}")

    # --- whose it is ---------------------------------------------------------------------------

    def claim(self, topology: TopologySpec) -> None:
        """Make it this topology's, or see that it is; UsageError if it is another's."""
        ours = identity(topology)
        path = os.path.join(self.path, "topology.json")
        try:
            found = json.loads(Path(path).read_text("utf-8"))
        except FileNotFoundError:
            self._claim_new(path, ours)
            return
        except ValueError as error:
            raise UsageError(f"checkpoint {self.path}: topology.json is damaged: {error}") from None
        difference = difference_between(found, ours)
        if difference:
            raise UsageError(
                f"checkpoint {self.path} {difference}: give another --checkpoint, or remove it to "
                "begin anew"
            )
        self._check_whole()

    def _claim_new(self, path: str, ours: dict[str, Any]) -> None:
        if os.path.isdir(self.path) and os.listdir(self.path):
            raise UsageError(
                f"checkpoint {self.path} is a folder with other things in it: give an empty one, "
                "or a path that does not exist yet"
            )
        write_whole(path, json.dumps(ours, indent=2).encode())

    def _check_whole(self) -> None:
        """Spark's log and our files have to tell of the same batches."""
        newest, done = self._newest_batch(), self.batches_done()
        if newest > done:
            raise UsageError(
                f"checkpoint {self.path} is not whole: its tasks have batch {newest}, its query "
                f"only {done}; remove it to begin anew"
            )

    def batches_done(self) -> int:
        """The newest batch that Spark had begun, -1 for none."""
        return _newest(os.path.join(self.query, "offsets"))

    def committed(self) -> int:
        """The newest batch that is done for good, -1 for none."""
        return _newest(os.path.join(self.query, "commits"))

    def _newest_batch(self) -> int:
        tasks = os.path.join(self.path, "tasks")
        names = os.listdir(tasks) if os.path.isdir(tasks) else []
        return max((_newest(os.path.join(tasks, name)) for name in names), default=-1)

    # --- the end of a finite run ---------------------------------------------------------------

    def end_with(self, batch: int) -> None:
        """In this batch the bolts say their last words."""
        write_whole(os.path.join(self.path, "ending"), str(batch).encode())

    def ending(self) -> int | None:
        """The batch in which the bolts say their last words, if it is decided."""
        try:
            return int(Path(self.path, "ending").read_text("ascii"))
        except FileNotFoundError:
            return None

    @property
    def ended(self) -> bool:
        """Whether the topology has come to its end."""
        ending = self.ending()
        return ending is not None and self.committed() >= ending

    # --- outcomes ------------------------------------------------------------------------------

    def keep(self, task: int, batch: int, outcome: Outcome) -> bool:
        """Write the outcome; False if another attempt's was there before, which then counts."""
        path = self.task_file(task, batch)
        first = write_once(path, _parts(outcome))
        self._forget(task, batch - BATCHES_KEPT)
        return first

    def _forget(self, task: int, batch: int) -> None:
        try:
            os.unlink(self.task_file(task, batch))
        except FileNotFoundError:
            pass

    def has(self, task: int, batch: int) -> bool:
        """Whether a task's batch is done."""
        return os.path.exists(self.task_file(task, batch))

    def facts(self, task: int, batch: int) -> dict[str, Any]:
        """Its facts."""
        with open(self.task_file(task, batch), "rb") as file:
            found: dict[str, Any] = _head(file)["facts"]
            return found

    def blocks(self, task: int, batch: int) -> Iterator[Block]:
        """What it sent."""
        with open(self.task_file(task, batch), "rb") as file:
            for level, partition, size in _head(file)["blocks"]:
                yield level, partition, file.read(size)

    def state(self, task: int, batch: int) -> bytes:
        """Its state afterwards; HeronError if that batch's file is not there."""
        path = self.task_file(task, batch)
        try:
            with open(path, "rb") as file:
                blocks = _head(file)["blocks"]
                file.seek(sum(size for _, _, size in blocks), os.SEEK_CUR)
                return file.read()
        except FileNotFoundError:
            raise HeronError(
                f"the state of task {task} after batch {batch} is missing: {path}; is the "
                "checkpoint folder the same on every machine?"
            ) from None


def identity(topology: TopologySpec) -> dict[str, Any]:
    """What has to be the same for a checkpoint to be continued; user code may change."""
    return {
        "version": VERSION,
        "topology": topology.name,
        "components": {each.name: each.parallelism for each in topology.components},
    }


def difference_between(found: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """What another checkpoint differs in, as the end of a sentence; empty if in nothing."""
    if found.get("version") != ours["version"]:
        return (
            f"was written by another version (layout {found.get('version')}, not {ours['version']})"
        )
    if found["topology"] != ours["topology"]:
        return f"is of topology {found['topology']!r}, not {ours['topology']!r}"
    theirs, here = found["components"], ours["components"]
    if set(theirs) != set(here):
        return f"has the components {', '.join(theirs)}, the topology {', '.join(here)}"
    for name, parallelism in here.items():
        if theirs[name] != parallelism:
            return f"has {theirs[name]} tasks of {name!r}, the topology {parallelism}"
    if list(theirs) != list(here):
        return "has the components in another order, so other task ids"
    return ""


def write_whole(path: str, data: bytes) -> None:
    """Write a file so that it is there as a whole or not at all; replaces one that is there."""
    beside = _beside(path, [data])
    os.replace(beside, path)
    _sync_folder(os.path.dirname(path))


def write_once(path: str, parts: list[bytes]) -> bool:
    """The same, but False without a change if there is one already."""
    beside = _beside(path, parts)
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise _told(path, error) from None
        os.rename(beside, path)
        beside = ""
    finally:
        if beside:
            os.unlink(beside)
    _sync_folder(os.path.dirname(path))
    return True


def _beside(path: str, parts: list[bytes]) -> str:
    """A new file next to `path`; HeronError in one line if the disk does not take it."""
    beside = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(beside, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise _told(path, error) from None
    return beside


def _told(path: str, error: OSError) -> HeronError:
    return HeronError(
        f"cannot write {path}: {error.strerror}; nothing is lost: make room or mend it, and start "
        "again with the same --checkpoint"
    )


def _sync_folder(path: str) -> None:
    """The new name survives a power cut, too."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _parts(outcome: Outcome) -> list[bytes]:
    head = json.dumps(
        {
            "facts": dict(outcome.facts),
            "blocks": [(level, partition, len(data)) for level, partition, data in outcome.blocks],
        }
    ).encode()
    return [
        _LENGTH.pack(len(head)), head, *(data for _, _, data in outcome.blocks), outcome.state
    ]  # fmt: skip


def _head(file: Any) -> dict[str, Any]:
    (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
    head: dict[str, Any] = json.loads(file.read(length))
    return head


def _newest(folder: str) -> int:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return max((int(name) for name in names if name.isdigit()), default=-1)
