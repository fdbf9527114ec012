"""Trident counts the words of three partitions of lines, in SQLite and in memory.

TRIDENT_KIND is the kind of spout and of both states, `transactional` or `opaque`; the attempts of
an opaque batch have different lines. Each partition has TRIDENT_LINES lines. TEST_RESULTS takes
counts.db, and `memory`, to which each new count of the state in memory is appended.
"""

import os
import sqlite3

from heronpy_compat.trident import (
    Count,
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

KIND = os.environ.get("TRIDENT_KIND", "opaque")
FOLDER = os.environ.get("TEST_RESULTS", ".")
PARTITIONS, SIZE, SPARE = 3, 4, 30
LINES = int(os.environ.get("TRIDENT_LINES", "400"))


def lines_of(partition, begin, end):
    """The lines of a partition, the same in each process."""
    return [f"all p{partition} w{number % 17}" for number in range(begin, min(end, LINES))]


class Coordinator(PartitionsCoordinator):
    def get_partitions_for_batch(self):
        return list(range(PARTITIONS))

    def is_finished(self, txid):
        # Opaque attempts have fewer lines, and a transactional batch may be empty that was emitted
        # by a process which died before it stored the metadata.
        return txid > LINES // (SIZE if KIND == "transactional" else SIZE - 2) + SPARE


class SameLines(TransactionalEmitter):
    def emit_partition_batch_new(self, attempt, collector, partition, last):
        begin = 0 if last is None else last[1]
        self.emit_partition_batch(attempt, collector, partition, [begin, begin + SIZE])
        return [begin, begin + SIZE]

    def emit_partition_batch(self, attempt, collector, partition, metadata):
        for line in lines_of(partition, *metadata):
            collector.emit([line])


class OtherLines(OpaqueEmitter):
    def emit_partition_batch(self, attempt, collector, partition, last):
        begin = last or 0
        end = begin + SIZE - attempt.attempt_id % 3
        for line in lines_of(partition, begin, end):
            collector.emit([line])
        return end


class Transactional(IPartitionedTridentSpout):
    output_fields = ("line",)

    def get_coordinator(self, conf, context):
        return Coordinator()

    def get_emitter(self, conf, context):
        return SameLines()


class Opaque(IOpaquePartitionedTridentSpout):
    output_fields = ("line",)

    def get_coordinator(self, conf, context):
        return Coordinator()

    def get_emitter(self, conf, context):
        return OtherLines()


class Database:
    """A backing map: a row for each word."""

    def __init__(self, path, serializer):
        self.database = sqlite3.connect(path, timeout=30, isolation_level=None)
        self.database.execute("create table if not exists counts (word primary key, value)")
        self.serializer = serializer

    def multi_get(self, keys):
        rows = [
            self.database.execute("select value from counts where word = ?", key).fetchone()
            for key in keys
        ]
        return [row and self.serializer.deserialize(row[0]) for row in rows]

    def multi_put(self, keys, values):
        rows = [
            (key[0], self.serializer.serialize(value))
            for key, value in zip(keys, values, strict=True)
        ]
        self.database.execute("begin immediate")
        self.database.executemany("insert or replace into counts values (?, ?)", rows)
        self.database.execute("commit")


class InDatabase(StateFactory):
    def make_state(self, conf, context, partition_index, num_partitions):
        path = os.path.join(FOLDER, "counts.db")
        if KIND == "opaque":
            return OpaqueMap.build(Database(path, OpaqueSerializer()))
        return TransactionalMap.build(Database(path, TransactionalSerializer()))


class Split(Function):
    def execute(self, tup, collector):
        for word in tup["line"].split():
            collector.emit([word])


def append(tup):
    """A new count of the state in memory."""
    with open(os.path.join(FOLDER, "memory"), "a", encoding="ascii") as file:
        file.write(f"{tup['word']} {tup['count']}\n")


if __name__ == "__main__":
    topology = TridentTopology()
    spout = Transactional() if KIND == "transactional" else Opaque()
    lines = topology.new_stream("lines", spout).parallelism_hint(2)
    words = lines.shuffle().each("line", Split(), "word").parallelism_hint(2)
    words.group_by("word").persistent_aggregate(InDatabase(), None, Count(), "count")
    in_memory = MemoryMapState.opaque()
    if KIND == "transactional":
        in_memory = MemoryMapState.transactional()
    counts = words.group_by("word").persistent_aggregate(in_memory, None, Count(), "count")
    counts.parallelism_hint(2).new_values_stream().peek(append)
    topology.submit(
        "TridentCounts",
        {
            "topology.trident.batch.emit.interval.millis": 40,
            "topology.max.spout.pending": 3,
            "topology.message.timeout.secs": 10,
            "topology.restart.limit": 1000,
        },
    )
