"""A Trident topology for a real Spark: words counted in SQLite and in memory, joined and merged."""

import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

from heronpy_compat.trident import (
    Count,
    FixedBatchSpout,
    Function,
    IOpaquePartitionedTridentSpout,
    IPartitionedTridentSpout,
    MemoryMapState,
    OpaqueEmitter,
    OpaqueMap,
    OpaqueSerializer,
    PartitionsCoordinator,
    StateFactory,
    TransactionalEmitter,
    TransactionalMap,
    TransactionalSerializer,
    TridentTopology,
)

INTERVAL = "topology.trident.batch.emit.interval.millis"
PARTITIONS, LINES, SIZE = 2, 24, 4
BATCHES = LINES // SIZE


def lines_of(partition: int, begin: int) -> list[str]:
    """The lines of a part of a partition."""
    numbers = range(begin, min(begin + SIZE, LINES))
    return [f"all p{partition} w{number % 5}" for number in numbers]


class Coordinator(PartitionsCoordinator):
    """Two partitions."""

    def get_partitions_for_batch(self) -> Any:
        return list(range(PARTITIONS))

    def is_finished(self, txid: int) -> bool:
        return txid > BATCHES


class SameLines(TransactionalEmitter):
    """The metadata of a batch is where it begins."""

    def emit_partition_batch_new(
        self, attempt: Any, collector: Any, partition: Any, last: Any
    ) -> Any:
        begin = 0 if last is None else last + SIZE
        self.emit_partition_batch(attempt, collector, partition, begin)
        return begin

    def emit_partition_batch(
        self, attempt: Any, collector: Any, partition: Any, metadata: Any
    ) -> None:
        for line in lines_of(partition, metadata):
            collector.emit([line])


class NextLines(OpaqueEmitter):
    """The metadata of a batch is where it ends."""

    def emit_partition_batch(self, attempt: Any, collector: Any, partition: Any, last: Any) -> Any:
        begin = last or 0
        for line in lines_of(partition, begin):
            collector.emit([line])
        return begin + SIZE


class Transactional(IPartitionedTridentSpout):
    """A replay has the same lines."""

    output_fields = ("line",)

    def get_coordinator(self, conf: Any, context: Any) -> Any:
        return Coordinator()

    def get_emitter(self, conf: Any, context: Any) -> Any:
        return SameLines()


class Opaque(IOpaquePartitionedTridentSpout):
    """A replay has those behind the last committed batch."""

    output_fields = ("line",)

    def get_coordinator(self, conf: Any, context: Any) -> Any:
        return Coordinator()

    def get_emitter(self, conf: Any, context: Any) -> Any:
        return NextLines()


class Split(Function):
    """The words of a line."""

    def execute(self, tup: Any, collector: Any) -> None:
        for word in tup["line"].split():
            collector.emit([word])


class Database:
    """A row for each word. Once, the process is killed after its commit."""

    def __init__(self, folder: str, serializer: Any) -> None:
        self._folder = folder
        self._database = sqlite3.connect(f"{folder}/counts.db", timeout=30, isolation_level=None)
        self._database.execute("create table if not exists counts (word primary key, value)")
        self._serializer = serializer
        self._puts = 0

    def multi_get(self, keys: Any) -> list[Any]:
        rows = [
            self._database.execute("select value from counts where word = ?", key).fetchone()
            for key in keys
        ]
        return [row and self._serializer.deserialize(row[0]) for row in rows]

    def multi_put(self, keys: Any, values: Any) -> None:
        serialize = self._serializer.serialize
        rows = [(key[0], serialize(value)) for key, value in zip(keys, values, strict=True)]
        self._database.execute("begin immediate")
        self._database.executemany("insert or replace into counts values (?, ?)", rows)
        self._database.execute("commit")
        self._puts += 1
        if self._puts > 1:
            self._die_once()

    def _die_once(self) -> None:
        try:
            Path(self._folder, "killed").touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


class InDatabase(StateFactory):
    """Its folder is in the config."""

    def make_state(self, conf: Any, context: Any, partition_index: int, num_partitions: int) -> Any:
        if conf["test.kind"] == "opaque":
            return OpaqueMap.build(Database(conf["test.folder"], OpaqueSerializer()))
        return TransactionalMap.build(Database(conf["test.folder"], TransactionalSerializer()))


class Appends:
    """Shows tuples in a file of their own."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, tup: Any) -> None:
        with open(self._path, "a", encoding="ascii") as file:
            file.write(" ".join(map(str, tup.values)) + "\n")


def built(kind: str, folder: Path) -> Any:
    """The builder of the topology; `kind` is the kind of its spout and states."""
    topology = TridentTopology()
    spout = Transactional() if kind == "transactional" else Opaque()
    lines = topology.new_stream("lines", spout).parallelism_hint(2)
    words = lines.shuffle().each("line", Split(), "word").project("word").parallelism_hint(2)
    words.group_by("word").persistent_aggregate(InDatabase(), None, Count(), "count")
    memory = MemoryMapState.opaque() if kind == "opaque" else MemoryMapState.transactional()
    counts = words.group_by("word").persistent_aggregate(memory, None, Count(), "count")
    values = counts.parallelism_hint(2).new_values_stream().project(["word", "count"])
    values.peek(Appends(str(folder / "memory")))
    names = topology.new_stream("names", FixedBatchSpout(["id", "name"], 1, ["p0", "P0"]))
    joined = topology.join([words, names], ["word", "id"], ["word", "name"])
    joined.peek(Appends(str(folder / "joined")))
    ones = topology.new_stream("ones", FixedBatchSpout("number", 1, ["1"], ["2"]))
    twos = topology.new_stream("twos", FixedBatchSpout("number", 1, ["3"]))
    topology.merge([ones, twos]).peek(Appends(str(folder / "merged")))
    config = {"test.kind": kind, "test.folder": str(folder), INTERVAL: 0}
    return topology.build("Trident", config)
