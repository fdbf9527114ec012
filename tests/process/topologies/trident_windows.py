"""Storm's TridentWindowingInmemoryStoreTopology: words are counted in windows of four kinds.

TRIDENT_WINDOW is one of them. `TEST_RESULTS/counts` gets a line for each window: the number of its
partition's windows so far does not matter, the counts do. TRIDENT_STORE=sqlite has a store of the
user's own, as TridentHBaseWindowingStoreTopology has one in HBase.
"""

import json
import os
import sqlite3
from datetime import timedelta

from heronpy_compat.trident import (
    CountAsAggregator,
    Duration,
    FixedBatchSpout,
    Function,
    InMemoryWindowsStoreFactory,
    SlidingCountWindow,
    SlidingDurationWindow,
    TridentTopology,
    TumblingCountWindow,
    TumblingDurationWindow,
    WindowsStore,
    WindowsStoreFactory,
)

SENTENCES = [
    ["the cow jumped over the moon"],
    ["the man went to the store and bought some candy"],
    ["four score and seven years ago"],
    ["how many apples can you eat"],
    ["to be or not to be the person"],
]
FOLDER = os.environ.get("TEST_RESULTS", ".")
ROUNDS = int(os.environ.get("TRIDENT_ROUNDS", "40"))
WINDOWS = {
    "sliding-count": SlidingCountWindow.of(100, 10),
    "tumbling-count": TumblingCountWindow.of(100),
    "sliding-duration": SlidingDurationWindow.of(Duration.seconds(6), Duration.seconds(3)),
    "tumbling-duration": TumblingDurationWindow.of(timedelta(seconds=3)),
}


class Database(WindowsStore):
    def __init__(self, path):
        self.database = sqlite3.connect(path, timeout=30, isolation_level=None)
        self.database.execute("create table if not exists entries (key primary key, value)")

    def get(self, key):
        row = self.database.execute("select value from entries where key = ?", [key]).fetchone()
        return row and json.loads(row[0])

    def put(self, key, value):
        row = [key, json.dumps(value)]
        self.database.execute("insert or replace into entries values (?, ?)", row)

    def put_all(self, entries):
        self.database.execute("begin immediate")
        super().put_all(entries)
        self.database.execute("commit")

    def remove(self, key):
        self.database.execute("delete from entries where key = ?", [key])


class InDatabase(WindowsStoreFactory):
    def create(self, conf):
        return Database(os.path.join(FOLDER, "windows.db"))


class Split(Function):
    def execute(self, tup, collector):
        for word in tup["sentence"].split():
            collector.emit([word])


def append(tup):
    with open(os.path.join(FOLDER, "counts"), "a", encoding="ascii") as file:
        file.write(f"{tup['count']}\n")


def trident(kind, factory):
    topology = TridentTopology()
    (
        topology.new_stream("spout1", FixedBatchSpout("sentence", 3, *SENTENCES * ROUNDS))
        .each("sentence", Split(), "word")
        .window(WINDOWS[kind], factory, "word", CountAsAggregator(), "count")
        .peek(append)
    )
    return topology


if __name__ == "__main__":
    store = InDatabase() if os.environ.get("TRIDENT_STORE") else InMemoryWindowsStoreFactory()
    trident(os.environ.get("TRIDENT_WINDOW", "sliding-count"), store).submit(
        "TridentWindows",
        {
            "topology.trident.batch.emit.interval.millis": 20,
            "topology.message.timeout.secs": 10,
            "topology.restart.limit": 1000,
        },
    )
