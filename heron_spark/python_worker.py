"""What Spark's Python workers run: from Spark's rows to the partition's host and back to rows.

A row is (id, level, partition, payload): a block of messages (blocks.py) for a partition of a
level; `id` is the partition of the next level that it goes to, which a block for a later level only
passes. Level LAST is the driver: its payloads are facts as JSON.
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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from heron_spark.blocks import NUMBER, Block
from heron_spark.checkpoint_dir import CheckpointDir

SCHEMA = "id int, level int, partition int, payload binary"
ARROW_SCHEMA = pa.schema(
    [("id", pa.int32()), ("level", pa.int32()), ("partition", pa.int32()), ("payload", pa.binary())]
)
LAST = -1
BEGIN = -2
"""The level of rows that only say that a batch begins."""
BATCH_ID = "streaming.sql.batchId"
START_SECS = 60.0
"""A host imports the user's modules before it listens."""
LOOK_AGAIN_SECS = 0.005
DIED = "the process that holds the components died; its last words are in the worker's log"
OPENING, CLOSING = "<<heronpy: ", " :heronpy>>"
"""Around the one line of an error that is worth telling, in what Spark makes of it."""


class Failed(Exception):
    """What a host could not do; Spark repeats the task, then ends the query with this text."""

    def __init__(self, line: str) -> None:
        super().__init__(f"{OPENING}{line}{CLOSING}")


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a run's query: a function of Arrow batches for mapInArrow."""

    folder: str
    run: str
    level: int
    partitions: int
    """How many partitions the next level has; 0 if this is the last one."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        partition, (folder, run) = context.partitionId(), self.location(context)
        batch = int(context.getLocalProperty(BATCH_ID) or 0)
        with _connected(folder, run, partition) as host:
            _send(host, json.dumps(_question(self.level, partition, batch)).encode())
            for rows in batches:
                yield from self._passing(rows, host)
            _send(host, b"")
            tasks = _answer(host)
        for task in tasks:
            for block in self.blocks(folder, task, batch):
                yield self._rows([block])
        yield self._rows(
            [(LAST, 0, json.dumps(folder.facts(task, batch)).encode()) for task in tasks]
        )

    def location(self, context: Any) -> tuple[CheckpointDir, str]:
        """The checkpoint folder and the run that a task of Spark works for."""
        return CheckpointDir(self.folder), self.run

    def blocks(self, folder: CheckpointDir, task: int, batch: int) -> Iterable[Block]:
        """What a task has sent in the batch."""
        return folder.blocks(task, batch)

    def _passing(self, rows: pa.RecordBatch, host: socket.socket) -> Iterator[pa.RecordBatch]:
        """Hand blocks of this level over, let the others pass."""
        if rows.num_columns < len(ARROW_SCHEMA):
            return  # the source's own rows only say that a batch begins
        passing: list[Block] = []
        columns = (rows.column(1).to_pylist(), rows.column(2).to_pylist(), rows.column(3))
        for level, partition, payload in zip(*columns, strict=True):
            if level == self.level:
                _send(host, payload.as_buffer())
            elif level != BEGIN:
                passing.append((level, partition, payload.as_py()))
        if passing:
            yield self._rows(passing)

    def _rows(self, blocks: list[Block]) -> pa.RecordBatch:
        return rows_of_blocks(blocks, max(self.partitions, 1))


def rows_of_blocks(blocks: list[Block], partitions: int) -> pa.RecordBatch:
    """Rows for a next level of so many partitions."""
    levels, numbers, payloads = zip(*blocks, strict=True)
    columns = [
        pa.array([number % partitions for number in numbers], pa.int32()),
        pa.array(levels, pa.int32()),
        pa.array(numbers, pa.int32()),
        pa.array(payloads, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def _question(level: int, partition: int, batch: int) -> dict[str, int]:
    return {"level": level, "partition": partition, "batch": batch}


def _send(host: socket.socket, data: Any) -> None:
    try:
        host.sendall(NUMBER.pack(len(data)))
        if len(data):  # after the empty block the host may have answered and gone
            host.sendall(data)
    except OSError:
        raise Failed(DIED) from None


def _answer(host: socket.socket) -> list[int]:
    """The tasks that are done; Failed with the host's reason."""
    try:
        with host.makefile("rb") as file:
            head = file.read(NUMBER.size)
            answer = json.loads(file.read(NUMBER.unpack(head)[0]))
    except (OSError, ValueError, struct.error):
        raise Failed(DIED) from None
    if "error" in answer:
        raise Failed(answer["error"])
    tasks: list[int] = answer["tasks"]
    return tasks


def _connected(folder: CheckpointDir, run: str, partition: int) -> socket.socket:
    """A connection to the partition's host, which is started if there is none."""
    sockets_folder = os.path.join(tempfile.gettempdir(), f"heronpy-spark-{os.getuid()}-{run}")
    os.makedirs(sockets_folder, mode=0o700, exist_ok=True)
    if os.stat(sockets_folder).st_uid != os.getuid():
        raise Failed(f"{sockets_folder} belongs to somebody else")
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
            "heron_spark.task_host",
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
        time.sleep(LOOK_AGAIN_SECS)
    raise Failed(
        "the process that holds the components does not start "
        f"(exit code {process.poll()}); its last words are in the worker's log"
    )
