"""What a task of Spark gets, by partitions of its level; which batch began at a time."""

import json
from pathlib import Path
from typing import Any

import pytest

from heron_spark.batch_log.batch_times import batch_begun_at
from heron_spark.worker.python_worker import BEGIN, Begun, HostFailed, LevelRows, rows_of_blocks

LEVEL = 1


def worked(*rows: tuple[int, int, bytes]) -> dict[tuple[int, bytes], list[Any]]:
    """(partition, payload of its beginning) -> what it gets, where each row comes alone."""
    found = LevelRows(LEVEL, (rows_of_blocks([each], 2) for each in rows))
    done: dict[tuple[int, bytes], list[Any]] = {}
    while (partition := found.next_begun({each for each, _ in done})) is not None:
        items = [each if isinstance(each, list) else bytes(each) for each in found.of(partition)]
        done[partition, found.begun[partition]] = items
    found.check_empty()
    return done


def test_the_number_of_a_partition_comes_with_its_rows() -> None:
    found = worked((BEGIN, 5, b"x"), (LEVEL, 5, b"one"), (BEGIN, 5, b"x"), (LEVEL, 5, b"two"))
    assert found == {(5, b"x"): [b"one", b"two"]}


def test_several_partitions_in_one_task_are_worked_for_in_turn() -> None:
    found = worked(
        (LEVEL, 1, b"early"),
        (BEGIN, 0, b"x"),
        (LEVEL, 0, b"one"),
        (LEVEL, 1, b"other"),
        (BEGIN, 1, b"x"),
        (LEVEL, 0, b"two"),
    )
    assert found == {(0, b"x"): [b"one", b"two"], (1, b"x"): [b"early", b"other"]}


def test_rows_for_later_levels_pass() -> None:
    found = worked((2, 3, b"passes"), (BEGIN, 0, b"x"), (3, 1, b"passes, too"))
    assert found == {(0, b"x"): [[(2, 3, b"passes")], [(3, 1, b"passes, too")]]}


def test_rows_of_a_batch_that_did_not_begin_are_an_error() -> None:
    assert worked() == {}
    with pytest.raises(HostFailed, match=r"a batch that did not start, for \[1\]"):
        worked((BEGIN, 0, b"x"), (LEVEL, 1, b"lost"))


def test_what_a_task_works_for_is_read_as_it_was_written() -> None:
    begun = Begun("/some/folder", "run", 7)
    assert Begun.from_bytes(begun.to_bytes()) == begun


def test_the_batch_that_began_at_a_time_is_the_one_of_spark_s_log(tmp_path: Path) -> None:
    assert batch_begun_at(str(tmp_path), 100) is None
    (tmp_path / "offsets").mkdir()
    for batch in range(12):
        head = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 100 + batch})
        (tmp_path / "offsets" / str(batch)).write_text(f"v1\n{head}\n{{}}\n-")
    (tmp_path / "offsets" / "12").write_text("v1")
    (tmp_path / "offsets" / ".11.crc").write_text("")
    assert [batch_begun_at(str(tmp_path), 100 + each) for each in (0, 9, 11)] == [0, 9, 11]
    assert batch_begun_at(str(tmp_path), 99) is None
