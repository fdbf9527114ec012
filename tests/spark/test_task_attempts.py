"""Attempts of a task of Spark: at once, ended in the middle, hanging, for several partitions.

Without Spark: its task context is a fake, the hosts of the partitions are real processes.
"""

import uuid
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from heron_io.atomic_files import remove
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.compile.plan import compile_topology
from heron_spark.driver.run import await_hosts
from heron_spark.worker.python_worker import (
    BATCH_ID,
    BEGIN,
    Level,
    connected,
    question,
    rows_of_blocks,
    send,
)
from tests.process.process_support import until
from tests.spark.spark_support import bolt, reads, spout, topology

NUMBER, SLOTS = 300, 2


class Attempts:
    """Runs levels of one batch as Spark's tasks do."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str = "Numbers"
    ) -> None:
        """`kind`: of the spouts."""
        self.folder, self.run = CheckpointDir(str(folder)), uuid.uuid4().hex[:12]
        self.hung = folder.with_name("hung")
        numbers, seen = spout("numbers", kind, par=2), bolt("seen", "Seen", 2, reads("numbers"))
        spec = topology("attempts", NUMBER, numbers, seen, **{"test.hung": str(self.hung)})
        Job(compile_topology(spec).topology, SLOTS, NUMBER * 10, 5.0, echo=True).write(
            self.folder, self.run
        )
        context = SimpleNamespace(getLocalProperty={BATCH_ID: "0"}.get, partitionId=lambda: 99)
        monkeypatch.setattr(pyspark, "TaskContext", SimpleNamespace(get=lambda: context))

    def level(self, level: int, rows: list[Any]) -> list[Any]:
        """One attempt; its rows."""
        return list(self.attempt(level, rows))

    def attempt(self, level: int, rows: list[Any]) -> Generator[Any, None, None]:
        following = SLOTS if level == 0 else 0
        yield from Level(self.folder.path, self.run, level, following)(iter(rows))


@pytest.fixture(params=["Numbers"])
def attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Attempts]:
    """Whose hosts end with the test."""
    made = Attempts(tmp_path / "checkpoint", monkeypatch, request.param)
    yield made
    remove(made.folder.run_file(made.run))
    await_hosts(made.run)


def begin(*partitions: int) -> Any:
    """Rows of the source."""
    return rows_of_blocks([(BEGIN, each, b"") for each in partitions], SLOTS)


def for_partition(rows: list[Any], *partitions: int) -> list[Any]:
    """Rows of an exchange for a partition."""
    chosen = [
        each.filter([number in partitions for number in each.column(0).to_pylist()])
        for each in rows
    ]
    return [each for each in chosen if each.num_rows]


# A worker does not wait for its host process: the driver does.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_attempts_at_once_in_the_middle_and_for_several_partitions_are_one(
    attempts: Attempts,
) -> None:
    ended = attempts.attempt(0, [begin(0)])
    next(ended)
    ended.close()  # a worker that is killed
    with ThreadPoolExecutor() as pool:
        first = list(pool.map(lambda at: attempts.level(0, [begin(at % SLOTS)]), range(4)))
    assert first[0] == first[2]
    assert first[1] == first[3]
    rows = [each for one in first[:2] for each in one]
    together = attempts.attempt(1, for_partition(rows, 0, 1))
    backwards = attempts.attempt(1, for_partition(rows[::-1], 0, 1))
    alone = attempts.attempt(1, for_partition(rows, 1))
    with ThreadPoolExecutor() as pool:
        one, two, three = pool.map(list[Any], (together, backwards, alone))
    assert sum(each.num_rows for each in one) == sum(each.num_rows for each in two)
    assert 0 < sum(each.num_rows for each in three) < sum(each.num_rows for each in one)
    results = [attempts.folder.results(task, 0) for task in (1, 2, 3, 4)]
    assert sum(each["emitted"] for each in results[:2]) == NUMBER
    assert sum(each["executed"] for each in results[2:]) == NUMBER


# A worker does not wait for its host process: the driver does.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("attempts", ["HangsOnce"], indirect=True)
def test_an_attempt_that_spark_has_killed_and_that_hangs_in_user_code_holds_up_no_other_one(
    attempts: Attempts,
) -> None:
    with connected(attempts.folder, attempts.run, 0) as host:
        send(host, question(0, 0, 0))
        send(host, b"")
        until(attempts.hung.exists, "user code hangs")
    rows = [*attempts.level(0, [begin(0)]), *attempts.level(0, [begin(1)])]
    attempts.level(1, for_partition(rows, 0))
    attempts.level(1, for_partition(rows, 1))
    results = [attempts.folder.results(task, 0) for task in (1, 2, 3, 4)]
    assert [each["emitted"] for each in results[:2]] == [NUMBER // 2, NUMBER // 2]
    assert sum(each["executed"] for each in results[2:]) == NUMBER
