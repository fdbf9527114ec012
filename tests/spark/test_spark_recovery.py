"""Whatever is stopped or killed: each number is counted once."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from heron_core.errors import HeronError, UsageError
from heron_core.topology import TopologySpec
from spark_support import HERE, Watched, bolt, reads, run, spout, topology

COUNT = 3000
ONCE = dict.fromkeys(range(COUNT), 1)
DEADLINE_SECS = 90.0


def counting(kind: str = "Numbers", par: int = 2, **config: Any) -> TopologySpec:
    """Numbers, once more multiplied by one, counted by two tasks."""
    counted: TopologySpec = topology(
        "counting",
        COUNT,
        spout("numbers", kind, par),
        bolt("same", "Times", 2, reads("numbers")),
        bolt("count", "Count", 2, reads("same", "fields", "number"), **config),
    )
    return counted


def counted(watched: Watched) -> dict[int, int]:
    """Counts without the last words of `same`, which are negative."""
    return {value: number for value, number in watched.counts.items() if value >= 0}


def test_stopped_in_the_middle_and_started_again(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    first, second, third = Watched(stop_after=2), Watched(), Watched()
    assert run(spark, counting(), folder, first, max_batch=1000) == 0
    assert len(first.batches) == 2
    assert first.counts == {}
    assert run(spark, counting(), folder, second, max_batch=1000) == 0
    assert [each.batch for each in first.batches + second.batches] == list(
        range(2 + len(second.batches))
    )
    assert counted(second) == ONCE
    with pytest.raises(UsageError, match="2 tasks of 'numbers', the topology 3"):
        run(spark, counting(par=3), folder, third)


def test_the_time_is_over_and_the_next_run_goes_on(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    first, second = Watched(), Watched()
    assert run(spark, counting(), folder, first, max_batch=500, seconds=0.01) == 0
    assert first.counts == {}
    assert run(spark, counting(), folder, second) == 0
    assert counted(second) == ONCE


@pytest.mark.parametrize("victim", ["host", "workers"])
def test_killed_in_the_middle_of_a_batch(spark: Any, tmp_path: Path, victim: str) -> None:
    mark = tmp_path / "killed"
    watched = Watched()
    spec = counting(mark=str(mark), victim=victim)
    assert run(spark, spec, tmp_path / "checkpoint", watched, max_batch=2000) == 0
    assert mark.exists()
    assert counted(watched) == ONCE


def test_a_disk_that_is_full_ends_the_run_in_a_line_and_the_next_one_goes_on(
    spark: Any, tmp_path: Path
) -> None:
    folder, mark = tmp_path / "checkpoint", tmp_path / "full"
    spec = counting(mark=str(mark), victim="disk")
    with pytest.raises(HeronError) as caught:
        run(spark, spec, folder, Watched(), max_batch=1000)
    assert re.fullmatch(
        rf"cannot write {folder}/tasks/\d+/\d+: File too large; no data is lost: free space or "
        "repair the disk, and start again with the same --checkpoint",
        str(caught.value),
    )
    assert mark.exists()
    assert not list(folder.rglob("*.tmp"))
    watched = Watched()
    assert run(spark, spec, folder, watched, max_batch=1000) == 0
    assert counted(watched) == ONCE


def test_a_generator_outlives_spark_s_workers(spark: Any, tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    watched = Watched()
    spec = counting("Lines", 1, mark=str(mark), victim="workers")
    assert run(spark, spec, tmp_path / "checkpoint", watched, max_batch=200) == 0
    assert mark.exists()
    assert counted(watched) == ONCE
    assert len(watched.batches) >= 3  # so several followed the one in which they were killed


def test_a_killed_driver_leaves_no_process_and_loses_nothing(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    program = (
        f"import sys; sys.path.insert(0, {HERE!r})\n"
        "import test_spark_recovery\n"
        f"test_spark_recovery.run_until_killed({str(folder)!r})\n"
    )
    before = {each.pid for each in psutil.process_iter()}
    # What a killed driver cannot remove lies here; a socket's path has to be short.
    scratch = tempfile.mkdtemp(prefix="heron-")
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(HERE).parents[1]), "TMPDIR": scratch},
    ) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "two batches\n"
        family = psutil.Process(driver.pid).children(recursive=True)
        hosts = [each for each in psutil.process_iter() if _is_host(each, folder, before)]
        assert hosts
        driver.kill()
    until(lambda: not [each for each in [*family, *hosts] if _lives(each)], "processes are left")
    assert [
        name for name in os.listdir(scratch) if name.startswith(f"heronpy-spark-{os.getuid()}-")
    ] == []
    shutil.rmtree(scratch)
    watched = Watched()
    assert run(spark, counting(), folder, watched, max_batch=500) == 0
    # The second batch was reported, but perhaps not yet noted in the checkpoint, and is then
    # repeated.
    assert watched.batches[0].batch >= 1
    assert counted(watched) == ONCE


def run_until_killed(folder: str) -> None:
    """In a process of its own: run, and say when two batches have been reported."""
    from heron_spark.driver.run import run_on_spark
    from heron_spark.options import SparkOptions

    watched = Watched()

    def report(progress: Any) -> None:
        watched(progress)
        if len(watched.batches) == 2:
            print("two batches", flush=True)

    options = SparkOptions(master="local[2]", checkpoint=folder, max_batch=200)
    run_on_spark(counting(), options, report)


def _is_host(process: psutil.Process, folder: Path, before: set[int]) -> bool:
    try:
        return process.pid not in before and str(folder) in process.cmdline()
    except psutil.Error:
        return False


def _lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    import threading
    import time

    pause, deadline = threading.Event(), time.monotonic() + DEADLINE_SECS
    while not condition():
        assert time.monotonic() < deadline, what
        pause.wait(0.05)
