"""Layout of the checkpoint folder.

    topology.json            identity: name, components, parallelism, version of the layout
    name                     a name unique among all checkpoints, even at this path, for sinks
    query/                   Spark's own checkpoint: started and committed batches
    tasks/TASK/BATCH         output of one task in one batch, written once and never changed
    records/                 records that components keep during a batch (RunStore)
    ending                   number of the batch in which bolts finish, once spouts have finished
    tables/NAME, tables.json copies of static frames; list of the tables
    runs/RUN.json            parameters of a run for its hosts; the removal ends the hosts
    lock                     held by, and naming, the process of the run

A task's batch is done if and only if its file exists, with the task's output and its state
afterwards. The file is written beside its place and then linked, so the file is complete or absent,
and the first of several attempts wins: other attempts, and every repetition of the batch, read the
first file. So a batch is repeatable whatever user code does, and tuples of a source without replay
are in the file before any reader sees them.
"""

import fcntl
import json
import os
import secrets
import shutil
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heron_core.errors import HeronError, UsageError
from heron_core.topology import TopologySpec
from heron_io.atomic_files import remove, replace_whole, sync_folder, write_synced
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.run_marker import RunMarker
from heron_io.checkpoint_store.run_store import StoredRunRecords
from heron_spark.batch_log.blocks import Block

VERSION = 1
LOCK = "lock"
BATCHES_KEPT = 3
"""The running batch, its predecessor (with the initial state), and one more for Spark: a crash of
the machine may lose Spark's log entry of a finished batch.
"""
NAME_BYTES = 8
"""Of chance: no two checkpoints are called alike."""
BESIDE_BYTES = 4
"""Of chance in the name of a file that is being written: so many attempts meet once in 65,536."""
_LENGTH = struct.Struct("<I")
_NO_LINKS = (1, 38, 95)
"""EPERM, ENOSYS, EOPNOTSUPP: file systems without hard links."""


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Output of one task in one batch."""

    results: Mapping[str, Any]
    """JSON values: counts, whether a spout is finished, printed lines."""
    blocks: list[Block]
    state: bytes


class CheckpointDir:
    """A checkpoint folder."""

    def __init__(self, path: str, query: str | None = None) -> None:
        self.path = os.path.abspath(path)
        self.query = os.path.join(self.path, "query") if query is None else query
        """`query`: Spark's checkpoint; for a streaming DataFrame the user's, which then contains
        this folder.
        """

    def run_file(self, run: str) -> str:
        """What the hosts of a run read, and watch."""
        return os.path.join(self.path, "runs", f"{run}.json")

    def task_file(self, task: int, batch: int) -> str:
        """Where the outcome of a task's batch lies."""
        return os.path.join(self.path, "tasks", str(task), f"{batch:09d}")

    # --- whose it is ---------------------------------------------------------------------------

    @contextmanager
    def locked(self, topology: TopologySpec) -> Iterator[None]:
        """Lock the checkpoint for this topology and process; UsageError if another topology owns
        it.
        """
        self.is_of(topology)  # what is refused stays as it was
        with self._locked():
            self.claim(topology)
            # Hosts of a killed driver end after the removal.
            shutil.rmtree(os.path.join(self.path, "runs"), ignore_errors=True)
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = os.path.join(self.path, LOCK)
        try:
            os.makedirs(self.path, exist_ok=True)
            lock = open(path, "a+", encoding="utf-8")  # noqa: SIM115 (closed below)
        except OSError as error:
            raise UsageError(
                f"checkpoint {self.path} cannot be written to: {error.strerror}"
            ) from None
        with lock:
            try:
                # A POSIX lock: ends with the process, and works across machines with shared files.
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.seek(0)
                raise UsageError(
                    f"checkpoint {self.path} is in use by {lock.read() or 'another run'}: end that "
                    "first, or give another --checkpoint"
                ) from None
            lock.truncate(0)
            lock.write(f"pid {os.getpid()} on {socket.gethostname()}")
            lock.flush()
            yield

    def claim(self, topology: TopologySpec) -> None:
        """Claim the checkpoint for the topology; UsageError if another topology owns it."""
        if not self.is_of(topology):
            write_whole(self._topology_file, json.dumps(identity(topology), indent=2).encode())

    def claim_together(self, topology: TopologySpec) -> None:
        """Claim without the lock, safe for several concurrent processes."""
        if not os.path.exists(self._topology_file):
            write_once(self._topology_file, [json.dumps(identity(topology), indent=2).encode()])
        self._check_identity(topology)

    def name(self) -> str:
        """A unique name of the checkpoint, drawn at the first call."""
        path = os.path.join(self.path, "name")
        if not os.path.exists(path):
            write_once(path, [secrets.token_hex(NAME_BYTES).encode()])
        return Path(path).read_text("ascii")

    def records(self, topology: str) -> StoredRunRecords:
        """Records that outlive the processes of a batch, and exist at a repetition of the batch."""
        path, run = os.path.join(self.path, "records"), self.name()
        marker = RunMarker(topology, run, is_folder=False)  # Spark has its own checks of the folder
        return StoredRunRecords(lambda: open_checkpoint_store(path), topology, run, marker)

    @property
    def _topology_file(self) -> str:
        return os.path.join(self.path, "topology.json")

    def is_of(self, topology: TopologySpec) -> bool:
        """Whether the checkpoint is already this topology's, rather than free; UsageError if
        another topology owns it or the folder is incomplete.
        """
        try:
            self._check_identity(topology)
        except FileNotFoundError:
            self._check_empty()
            return False
        self._check_whole()
        return True

    def _check_identity(self, topology: TopologySpec) -> None:
        """UsageError if another topology owns the checkpoint; FileNotFoundError if unclaimed."""
        try:
            stored = json.loads(Path(self._topology_file).read_text("utf-8"))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UsageError(f"checkpoint {self.path} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise UsageError(f"checkpoint {self.path}: topology.json is damaged: {error}") from None
        difference = difference_between(stored, identity(topology))
        if difference:
            raise UsageError(
                f"checkpoint {self.path} {difference}: give another --checkpoint, or delete it to "
                "start from scratch"
            )

    def _check_empty(self) -> None:
        if os.path.isdir(self.path) and set(os.listdir(self.path)) - {LOCK}:
            raise UsageError(
                f"checkpoint {self.path} is a folder with other content: name an empty folder, "
                "or a new path"
            )

    def _check_whole(self) -> None:
        """Spark's log and our files have to tell of the same batches."""
        newest, done = self._newest_batch(), self.batches_done()
        if newest > done:
            raise UsageError(
                f"checkpoint {self.path} is incomplete: its tasks have batch {newest}, its query "
                f"only {done}; delete it to start from scratch"
            )

    def batches_done(self) -> int:
        """The newest batch that Spark had started, -1 without a batch."""
        return _newest(os.path.join(self.query, "offsets"))

    def committed(self) -> int:
        """The newest batch that is committed, -1 without a batch."""
        return _newest(os.path.join(self.query, "commits"))

    def _newest_batch(self) -> int:
        tasks = os.path.join(self.path, "tasks")
        names = os.listdir(tasks) if os.path.isdir(tasks) else []
        return max((_newest(os.path.join(tasks, name)) for name in names), default=-1)

    # --- the end of a finite run ---------------------------------------------------------------

    def end_with(self, batch: int) -> None:
        """In this batch the bolts finish."""
        write_whole(os.path.join(self.path, "ending"), str(batch).encode())

    def ending(self) -> int | None:
        """The batch in which the bolts finish, once decided."""
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

    def keep(self, task: int, batch: int, outcome: TaskOutcome) -> bool:
        """Write the outcome; False if an earlier attempt's outcome exists, which then counts."""
        path = self.task_file(task, batch)
        first = write_once(path, _parts(outcome))
        if batch == 0 or self.has(task, batch - 1):
            self._forget(task, batch - BATCHES_KEPT)
        else:  # batches were left out
            for each in self._batches(task)[:-BATCHES_KEPT]:
                self._forget(task, each)
        return first

    def replace(self, task: int, batch: int, outcome: TaskOutcome) -> None:
        """Write the same outcome otherwise; only before a query runs."""
        write_whole(self.task_file(task, batch), b"".join(_parts(outcome)))

    def _forget(self, task: int, batch: int) -> None:
        try:
            os.unlink(self.task_file(task, batch))
        except FileNotFoundError:
            pass

    def has(self, task: int, batch: int) -> bool:
        """Whether a task's batch is done."""
        return os.path.exists(self.task_file(task, batch))

    def is_past(self, task: int, batch: int) -> bool:
        """Whether a task has done this batch or a later one, even if the file has been removed
        since.
        """
        return any(each >= batch for each in self._batches(task))

    def newest_before(self, task: int, batch: int) -> int:
        """The newest batch below `batch` that a task has done, -1 without a batch."""
        return max((each for each in self._batches(task) if each < batch), default=-1)

    def _batches(self, task: int) -> list[int]:
        return _numbers(os.path.dirname(self.task_file(task, 0)))

    def results(self, task: int, batch: int) -> dict[str, Any]:
        """Its results."""
        with open(self.task_file(task, batch), "rb") as file:
            found: dict[str, Any] = _head(file)["facts"]
            return found

    def blocks(self, task: int, batch: int) -> Iterator[Block]:
        """Blocks sent by the task in the batch."""
        with open(self.task_file(task, batch), "rb") as file:
            for level, partition, size in _head(file)["blocks"]:
                yield level, partition, file.read(size)

    def state(self, task: int, batch: int) -> bytes:
        """State after the batch; HeronError if the batch's file is missing."""
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
    """Properties that a continued checkpoint must share with its topology; user code may change."""
    return {
        "version": VERSION,
        "topology": topology.name,
        "components": {each.name: each.parallelism for each in topology.components},
    }


def difference_between(stored: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Difference to another checkpoint, as the end of a sentence; empty if equal."""
    if stored.get("version") != ours["version"]:
        layouts = f"layout {stored.get('version')}, not {ours['version']}"
        return f"was written by another version ({layouts})"
    if stored["topology"] != ours["topology"]:
        return f"is of topology {stored['topology']!r}, not {ours['topology']!r}"
    theirs, here = stored["components"], ours["components"]
    if set(theirs) != set(here):
        return f"has the components {', '.join(theirs)}, the topology {', '.join(here)}"
    for name, parallelism in here.items():
        if theirs[name] != parallelism:
            return f"has {theirs[name]} tasks of {name!r}, the topology {parallelism}"
    if list(theirs) != list(here):
        return "has the components in another order, so its task ids differ"
    return ""


def write_whole(path: str, data: bytes) -> None:
    """Write a file completely or not at all; an existing file is replaced.

    HeronError in one line if the disk refuses the write.
    """
    try:
        replace_whole(path, [data], _beside(path))
    except OSError as error:
        raise _write_error(path, error) from None


def write_once(path: str, parts: list[bytes]) -> bool:
    """Write a file completely or not at all; returns False, without a change, if the file
    exists.
    """
    beside = _beside(path)
    try:
        write_synced(beside, parts)
        _link(beside, path)
        sync_folder(os.path.dirname(path))
    except FileExistsError:
        return False
    except OSError as error:
        raise _write_error(path, error) from None
    finally:
        remove(beside)
    return True


def _link(beside: str, path: str) -> None:
    """Give a file its final name; FileExistsError if the name is taken."""
    try:
        os.link(beside, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.rename(beside, path)


def _beside(path: str) -> str:
    # Not by the process id, which attempts on two machines, or in two containers, may share.
    return f"{path}.{secrets.token_hex(BESIDE_BYTES)}.tmp"


def _write_error(path: str, error: OSError) -> HeronError:
    return HeronError(
        f"cannot write {path}: {error.strerror}; no data is lost: free space or repair the disk, "
        "and start again with the same --checkpoint"
    )


def _parts(outcome: TaskOutcome) -> list[bytes]:
    head = json.dumps(
        {
            "facts": dict(outcome.results),
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
    return max(_numbers(folder), default=-1)


def _numbers(folder: str) -> list[int]:
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(int(name) for name in names if name.isdigit())
