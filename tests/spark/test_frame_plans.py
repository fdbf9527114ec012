"""A topology's DataFrame and a plain one give equal results under any plan of Spark."""

import os
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heronpy_compat.spark import dataframe_of, spout_of
from session_topologies import by_time, counted
from tests.process.process_support import until
from tests.spark.frame_plans import (
    ACTIONS,
    BY_THREADS,
    by_threads,
    draw_actions,
    draw_steps,
    failed_tasks,
    fails_once,
    laid_over,
)

NUMBER = 1001
SEEDS = os.environ.get("HERON_PLAN_SEEDS", "0:1")
"""First and behind the last: HERON_PLAN_SEEDS=1:30 takes others."""
PLANS = 4
SECS = 240.0
BATCHES, LINES = 3, 40


def numbers(spark: Any, count: int) -> Any:
    return spark.range(count).withColumnRenamed("id", "n")


def plain(spark: Any, rows: list[tuple[int, int]]) -> Any:
    """Equal rows, without a topology."""
    return spark.createDataFrame(rows, "n bigint, seen bigint")


@pytest.mark.parametrize("seed", range(*map(int, SEEDS.split(":"))))
def test_a_drawn_plan_gives_the_rows_of_a_plain_dataframe(spark: Any, seed: int) -> None:
    random = Random(seed)
    ours = dataframe_of(counted(spout_of(numbers(spark, NUMBER)), f"drawn{seed}"), spark, "count")
    theirs = plain(spark, [(each, 1) for each in range(NUMBER)])
    for plan in range(PLANS):
        steps = draw_steps(random, 4)
        names = draw_actions(random)
        told = f"seed {seed}, plan {plan}: {', '.join(name for name, _ in steps)}: {names}"
        left, right = laid_over(ours, steps), laid_over(theirs, steps)
        for name in names:
            assert ACTIONS[name](left) == ACTIONS[name](right), told
        spark.catalog.clearCache()
    names = draw_actions(random, BY_THREADS)
    assert by_threads([partial(ACTIONS[name], ours) for name in names]) == [
        ACTIONS[name](theirs) for name in names
    ]


def test_a_task_that_fails_in_the_middle_and_is_tried_again_gives_the_rows_once(
    spark: Any,
) -> None:
    """Spark itself reports the failure: otherwise the test is void."""
    rows = dataframe_of(counted(spout_of(numbers(spark, NUMBER)), "retried"), spark, "count")
    expected = sorted(((each, 1) for each in range(NUMBER)), key=repr)
    for name in ("collect", "rdd", "take many"):
        spark.sparkContext.setJobGroup(f"retried {name}", "attempts that fail")
        found = ACTIONS[name](fails_once(rows))
        assert found == (expected if name == "collect" else NUMBER if name == "rdd" else 300)
        assert failed_tasks(spark, f"retried {name}") > 0, name


def lines_of(folder: Path) -> None:
    folder.mkdir()
    for batch in range(BATCHES):
        (folder / f"{batch}.txt").write_text("".join(f"{each}\n" for each in range(LINES)))


def a_stream(spark: Any, folder: Path, name: str) -> Any:
    """How often each number was seen, batch by batch."""
    reader = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder))
    source = reader.selectExpr("cast(value as bigint) as n")
    return dataframe_of(counted(spout_of(source), name), spark, "count")


def run_each(rows: Any, function: Any, checkpoint: Path) -> Any:
    """Run a query with a function of foreachBatch to the end of the input."""
    writer = rows.writeStream.foreachBatch(function).option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def test_a_function_of_foreach_batch_uses_its_dataframe_as_any_other(
    spark: Any, tmp_path: Path
) -> None:
    """In parts, several times, in threads: the state counts each batch once."""
    lines_of(tmp_path / "in")
    random, compared = Random(7), []

    def compare(rows: Any, batch: int) -> None:
        same = plain(rows.sparkSession, [(each, batch + 1) for each in range(LINES)])
        steps, in_threads = draw_steps(random, 3), batch != 1
        names = draw_actions(random, BY_THREADS if in_threads else None)
        left, right = laid_over(rows, steps), laid_over(same, steps)
        calls = [partial(ACTIONS[name], left) for name in names]
        found = by_threads(calls) if in_threads else [call() for call in calls]
        told = f"batch {batch}: {', '.join(name for name, _ in steps)}: {names}"
        assert found == [ACTIONS[name](right) for name in names], told
        compared.append(batch)

    run_each(a_stream(spark, tmp_path / "in", "each"), compare, tmp_path / "checkpoint")
    spark.catalog.clearCache()
    assert compared == list(range(BATCHES))


def test_a_batch_that_is_read_in_part_or_left_alone_does_not_stop_those_after_it(
    spark: Any, tmp_path: Path
) -> None:
    """As with any DataFrame, rows that nothing asks for are not computed."""
    lines_of(tmp_path / "in")
    found: dict[int, int] = {}

    def some(rows: Any, batch: int) -> None:
        if batch == 0:
            assert len(rows.take(1)) == 1
        elif batch != 1:
            (found[batch],) = {each["seen"] for each in rows.collect()}

    run_each(a_stream(spark, tmp_path / "in", "part"), some, tmp_path / "checkpoint")
    assert found == {2: 2}


def test_windows_by_processing_time_are_shown_while_a_stream_is_silent(
    spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.txt").write_text("1\n2\n3\n")
    source = spark.readStream.text(str(tmp_path / "in")).selectExpr("cast(value as bigint) as n")
    rows = dataframe_of(by_time(spout_of(source), "silent"), spark, "windows")
    found: list[int] = []

    def take(batch: Any, _: int) -> None:
        found.extend(each["number"] for each in batch.collect())

    writer = rows.writeStream.foreachBatch(take)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        until(lambda: sum(found) == 3 or not query.isActive, "the window", SECS)
    finally:
        query.stop()
    assert query.exception() is None
    assert sum(found) == 3


def test_a_union_counts_what_a_topology_emits(spark: Any) -> None:
    rows = dataframe_of(counted(spout_of(numbers(spark, 1000)), "union"), spark, "count")
    assert spark.range(1).selectExpr("id", "id").union(rows).count() == 1001
