"""What Spark's Python workers run: from Spark's rows to the partition's host and back to rows.

A row is (id, level, partition, payload): a block of messages (blocks.py) for a partition of a
level. `id` is the partition of the next level on the way, which a block for a later level only
passes. Level LAST is the driver: its payloads are results as JSON.

Rows of the level BEGIN give a task's partition and batch. Spark's numbers are unsuitable: the
number of a task in its stage changes below a union or a coalesce, and a user's thread has no batch.
Each task of a level sends one such row to each partition of the next.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from heron_spark.batch_log.blocks import GREETING, NUMBER, Block
from heron_spark.batch_log.checkpoint_dir import CheckpointDir

SCHEMA = "id int, level int, partition int, payload binary"
ARROW_SCHEMA = pa.schema(
    [("id", pa.int32()), ("level", pa.int32()), ("partition", pa.int32()), ("payload", pa.binary())]
)
LAST = -1
BEGIN = -2
"""Level of rows that start a batch: `partition` of the receiving level, with the time of the batch
(level 0) or a Begun as payload.
"""
BATCH_ID = "streaming.sql.batchId"
START_SECS = 60.0
"""A host imports the user's modules before it listens."""
POLL_SECS = 0.005
HOSTS_MAX = 3
"""Maximum of hosts that end in turn before one answers a worker."""
DIED = "the process that holds the components died; its last output is in the worker's log"
OPENING, CLOSING = "<<heronpy: ", " :heronpy>>"
"""Marks around the useful line of an error within Spark's message."""


class HostFailed(Exception):
    """Failure of a host; Spark repeats the task, then ends the query with this text."""

    def __init__(self, line: str) -> None:
        super().__init__(f"{OPENING}{line}{CLOSING}")


@dataclass(frozen=True, slots=True)
class Begun:
    """The batch that a task of Spark works for."""

    folder: str
    """Path of the checkpoint folder."""
    run: str
    batch: int

    def to_bytes(self) -> bytes:
        """As the payload of a row, which `from_bytes` reads."""
        return json.dumps([self.folder, self.run, self.batch]).encode()

    @staticmethod
    def from_bytes(payload: bytes) -> "Begun":
        """The inverse of `to_bytes`."""
        return Begun(*json.loads(payload))


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a run's query: a function of Arrow batches for mapInArrow."""

    folder: str
    run: str
    level: int
    partitions: int
    """Number of partitions of the next level; 0 at the last level."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        rows, done = LevelRows(self.level, batches), set[int]()
        while (partition := rows.next_begun(done)) is not None:
            done.add(partition)
            begun = self._begun(context, rows.begun[partition])
            yield from self._work(partition, begun, rows.of(partition))
        rows.check_empty()
        if not done and self.level == 0 and (silent := self.silent(context)) is not None:
            yield from self._work(*silent, ())

    def _begun(self, context: Any, payload: bytes) -> Begun:
        return self.location(context, payload) if self.level == 0 else Begun.from_bytes(payload)

    def location(self, context: Any, time: bytes) -> Begun:
        """What a task of level 0 works for. `time`: of the batch, in milliseconds as text."""
        batch = context.getLocalProperty(BATCH_ID)
        if batch is None:
            raise HostFailed("Spark does not name the current batch")
        return Begun(self.folder, self.run, int(batch))

    def silent(self, context: Any) -> tuple[int, Begun] | None:
        """Partition and batch of a task of level 0 without any row in the batch; None to skip. The
        stage is between two exchanges of the query.
        """
        return context.partitionId(), self.location(context, b"")

    def _work(
        self, partition: int, begun: Begun, blocks: Iterable[Any]
    ) -> Iterator[pa.RecordBatch]:
        """A batch of a partition: payloads for its host, and lists of passing blocks."""
        folder, batch = CheckpointDir(begun.folder), begun.batch
        payload = begun.to_bytes()
        if self.partitions:
            yield self._rows([(BEGIN, partition, payload) for partition in range(self.partitions)])
        with connected(folder, begun.run, partition) as host:
            send(host, question(self.level, partition, batch))
            for received in blocks:
                if isinstance(received, list):
                    yield self._rows(received)
                else:
                    send(host, received)
            send(host, b"")
            tasks = _answer(host)
        for task in tasks:
            for block in self.blocks(folder, task, batch):
                yield self._rows([block])
        yield self._rows(
            [(LAST, 0, json.dumps(folder.results(task, batch)).encode()) for task in tasks]
        )

    def blocks(self, folder: CheckpointDir, task: int, batch: int) -> Iterable[Block]:
        """What a task has sent in the batch."""
        return folder.blocks(task, batch)

    def _rows(self, blocks: list[Block]) -> pa.RecordBatch:
        return rows_of_blocks(blocks, self.partitions)


class LevelRows:
    """Rows of a Spark task, by partition of the level.

    Usually a task has one partition. Several partitions are processed in turn: two tasks that held
    hosts needed by each other would deadlock.
    """

    PASSING = -1
    """Instead of a partition: for a later level."""

    def __init__(self, level: int, batches: Iterable[pa.RecordBatch]) -> None:
        self.begun: dict[int, bytes] = {}
        """partition -> payload of its first BEGIN"""
        self._kept: dict[int, list[Any]] = {}
        self._rows = self._read(level, batches)

    def next_begun(self, done: Set[int]) -> int | None:
        """A started partition outside of `done`; None at the end."""
        while True:
            for each in self.begun:
                if each not in done:
                    return each
            row = next(self._rows, None)
            if row is None:
                return None
            self._keep(*row)

    def of(self, partition: int) -> Iterator[Any]:
        """Payloads of a partition, and lists of passing blocks; afterwards all rows are read."""
        yield from self._kept.pop(self.PASSING, ())
        yield from self._kept.pop(partition, ())
        for number, item in self._rows:
            if number in (partition, self.PASSING):
                yield item
            else:
                self._keep(number, item)

    def check_empty(self) -> None:
        """HostFailed for rows of a batch that has not started."""
        if self._kept:
            raise HostFailed(f"rows of a batch that did not start, for {sorted(self._kept)}")

    def _keep(self, number: int, item: Any) -> None:
        if item is not None:
            self._kept.setdefault(number, []).append(item)

    def _read(self, level: int, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Any]]:
        """(partition, payload), (PASSING, blocks), or (partition, None) at a start."""
        for rows in batches:
            passing: list[Block] = []
            columns = (rows.column(1).to_pylist(), rows.column(2).to_pylist(), rows.column(3))
            for of, partition, payload in zip(*columns, strict=True):
                if of == BEGIN:
                    if partition not in self.begun:
                        self.begun[partition] = payload.as_py()
                        yield partition, None
                elif of == level:
                    yield partition, payload.as_buffer()
                else:
                    passing.append((of, partition, payload.as_py()))
            if passing:
                yield self.PASSING, passing


def rows_of_blocks(blocks: list[Block], partitions: int) -> pa.RecordBatch:
    """Rows for a next level of so many partitions; 0: behind the last one, where `id` is the
    partition."""
    levels, numbers, payloads = zip(*blocks, strict=True)
    columns = [
        pa.array([number % partitions if partitions else number for number in numbers], pa.int32()),
        pa.array(levels, pa.int32()),
        pa.array(numbers, pa.int32()),
        pa.array(payloads, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def question(level: int, partition: int, batch: int) -> bytes:
    """First block for a host: the request."""
    return json.dumps({"level": level, "partition": partition, "batch": batch}).encode()


def send(host: socket.socket, data: Any) -> None:
    """A block for a host, an empty one behind the last; HostFailed if the host is gone."""
    try:
        host.sendall(NUMBER.pack(len(data)))
        if len(data):  # after the empty block the host may have answered and gone
            host.sendall(data)
    except OSError:
        raise HostFailed(DIED) from None


def _answer(host: socket.socket) -> list[int]:
    """The tasks that are done; HostFailed with the host's reason."""
    try:
        with host.makefile("rb") as file:
            head = file.read(NUMBER.size)
            answer = json.loads(file.read(NUMBER.unpack(head)[0]))
    except (OSError, ValueError, struct.error):
        raise HostFailed(DIED) from None
    if "error" in answer:
        raise HostFailed(answer["error"])
    tasks: list[int] = answer["tasks"]
    return tasks


def connected(folder: CheckpointDir, run: str, partition: int) -> socket.socket:
    """A connection to the partition's host, ready for a request."""
    for _ in range(HOSTS_MAX):
        host = _host(folder, run, partition)
        if _is_greeted(host):
            return host
        host.close()
        print(f"partition {partition}: its process ended and is being restarted", file=sys.stderr)
    raise HostFailed(DIED)


def _is_greeted(host: socket.socket) -> bool:
    """Wait for the greeting; False if the host has ended before, without loss."""
    try:
        return host.recv(1) == GREETING
    except ConnectionError:
        return False


def _host(folder: CheckpointDir, run: str, partition: int) -> socket.socket:
    """A connection to the partition's host, which is started if missing."""
    sockets_folder = os.path.join(tempfile.gettempdir(), f"heronpy-spark-{os.getuid()}-{run}")
    os.makedirs(sockets_folder, mode=0o700, exist_ok=True)
    if os.stat(sockets_folder).st_uid != os.getuid():
        raise HostFailed(f"{sockets_folder} belongs to another user")
    daemon = os.getppid()
    address = os.path.join(sockets_folder, f"{daemon}-{partition}")
    with open(f"{address}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        host = _try(address)
        return _started(folder, run, address, daemon) if host is None else host


def _try(address: str) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    return connection


def _started(folder: CheckpointDir, run: str, address: str, daemon: int) -> socket.socket:
    if os.path.exists(address):
        os.unlink(address)
    process = subprocess.Popen(
        [
            sys.executable,
            "-P",
            "-m",
            "heron_spark.worker.task_host",
            folder.path,
            run,
            address,
            str(daemon),
        ],
        stdin=subprocess.DEVNULL,
        stdout=2,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
    )
    deadline = time.monotonic() + START_SECS
    while time.monotonic() < deadline and process.poll() is None:
        host = _try(address)
        if host is not None:
            return host
        time.sleep(POLL_SECS)
    raise HostFailed(
        "the process that holds the components does not start "
        f"(exit code {process.poll()}); its last output is in the worker's log"
    )
