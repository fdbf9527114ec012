"""`heronpy submit --engine spark` on a standalone cluster, whose executors die."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.process.process_support import until
from tests.spark.conftest import standalone_cluster
from tests.spark.spark_engine_support import ENGINE_SECS, EnginePlace, packaged, python_workers
from tests.spark.spark_scheduler_support import LOCAL_CLUSTER, Standalone, bare_python

__all__ = ["standalone_cluster"]

GONE_SECS = 60.0
TEST_SECS = 900
"""Three of Spark's starts, where others may be busy."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[EnginePlace]:
    """Folder of the query; remaining processes are killed at the end."""
    made = EnginePlace(tmp_path)
    yield made
    made.close()


@pytest.mark.timeout(TEST_SECS)
def test_executors_need_nothing_but_python_and_may_die(
    place: EnginePlace, standalone_cluster: Standalone
) -> None:
    """On a standalone cluster addressed by name, with a Python without packages: an executor, then
    Spark's Python workers are killed while words flow, then the scheduler, which ends all. With an
    unchanged checkpoint the query completes on a local cluster, exactly."""
    archive = packaged(place)
    python = bare_python(place.path / "bare")
    size = ("spark.cores.max=4", "spark.executor.cores=2", "spark.executor.memory=512m")
    settings = [word for each in size for word in ("--spark-config", each)]
    checkpoint = ("--checkpoint", place.path / "checkpoint")
    refused = place.begin(archive, standalone_cluster.url)
    assert "needs --checkpoint, a folder that every worker reaches" in refused.errors[0]
    words = ("--python", python, *checkpoint, *settings)
    place.begin(archive, standalone_cluster.url, *words).succeeded()
    batch = place.batch_after(-1)
    first, _ = until(lambda: _both(place.executors()), "both executors", ENGINE_SECS)
    first.kill()
    batch = place.batch_after(batch + 1)
    for each in until(lambda: _all_workers(place), "Python workers", ENGINE_SECS):
        each.kill()
    place.batch_after(batch + 1)
    executors = place.executors()
    scheduler = place.scheduler()
    assert scheduler is not None
    psutil.Process(scheduler["pid"]).kill()
    until(lambda: not [each for each in executors if each.is_running()], "executors end", GONE_SECS)
    until(lambda: not place.processes(), "all others end", GONE_SECS)
    assert not standalone_cluster.left()
    place.release.touch()
    again = place.begin(archive, LOCAL_CLUSTER, *checkpoint).succeeded()
    assert "continued after batch" in again.out
    assert place.ended()["state"] == "ENDED"
    place.is_exact()
    place.nothing_is_left(GONE_SECS)


def _both(executors: list[psutil.Process]) -> list[psutil.Process] | None:
    return executors if len(executors) == 2 else None


def _all_workers(place: EnginePlace) -> list[psutil.Process]:
    return [each for executor in place.executors() for each in python_workers(executor)]
