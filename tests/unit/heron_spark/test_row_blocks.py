"""Rows of Spark's on their way to spouts, and blocks that move when the cores are others."""

from typing import Any

import pyarrow as arrow

from heron_core.wire.frames import HEADER, destination_of
from heron_spark.batch_log.blocks import NUMBER, messages
from heron_spark.batch_log.redistribute import redistributed
from heron_spark.driver.tables import DEAL, TIME, PartitionRows
from heron_spark.worker.python_worker import BEGIN
from heron_spark.worker.row_blocks import hand_over, pack_rows, unpack_rows


class Taking:
    """A runner that remembers."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def take_rows(self, rows: Any) -> None:
        self.got += rows.column(0).to_pylist()


def test_a_block_has_its_task_and_its_rows() -> None:
    rows = arrow.record_batch({"number": [1, 2], "text": ["a", None]})
    task, found = unpack_rows(pack_rows(7, rows))
    assert (task, found) == (7, rows)


def test_rows_are_dealt_by_the_last_column() -> None:
    """In their order, to the partition where their task runs; all hear of the batch, once."""
    partition_rows = PartitionRows(tasks=(4, 9), partitions=(2, 0), count=3)
    columns = {"number": [10, 11, 12, 13], TIME: ["77"] * 4, DEAL: [1, 0, 0, 1]}
    batches = [arrow.record_batch(columns), arrow.record_batch(columns).slice(0, 0)]
    begins, *blocks = [each.to_pylist() for each in partition_rows(batches)]
    assert [(each["partition"], each["level"], each["payload"]) for each in begins] == [
        (partition, BEGIN, b"77") for partition in range(3)
    ]
    made = [row for (row,) in blocks]
    assert {(each["id"], each["level"], each["partition"]) for each in made} == {
        (2, 0, 2),
        (0, 0, 0),
    }
    four, nine = Taking(), Taking()
    runners: Any = {4: four, 9: nine}
    assert hand_over(runners, [each["payload"] for each in made]) == {4, 9}
    assert (four.got, nine.got) == ([11, 12], [10, 13])


def test_rows_of_a_task_that_has_done_the_batch_are_let_go() -> None:
    assert hand_over({}, [pack_rows(4, arrow.record_batch({"number": [1]}))]) == {4}


def message(task: int, text: bytes) -> bytes:
    """A message of two frames as it stands in a block."""
    head = bytearray(HEADER.size)
    head[HEADER.size - 8 : HEADER.size - 4] = task.to_bytes(4, "little")
    frames = (bytes(head), text)
    parts = [NUMBER.pack(len(frames))]
    for each in frames:
        parts += [NUMBER.pack(len(each)), each]
    return b"".join(parts)


def test_blocks_for_partitions_that_are_no_more_are_divided_anew() -> None:
    """One core had tasks 1 to 3 in one partition; with two, task 2 lives in the other."""
    block = (1, 0, message(1, b"a") + message(2, b"b") + message(3, b"c") + message(2, b"d"))
    partition_of = {1: (1, 0), 2: (1, 1), 3: (2, 0)}
    found = {
        (level, partition): [(destination_of(each), each[1]) for each in messages(data)]
        for level, partition, data in redistributed([block], partition_of)
    }
    assert found == {
        (1, 0): [(1, b"a")],
        (1, 1): [(2, b"b"), (2, b"d")],
        (2, 0): [(3, b"c")],
    }
