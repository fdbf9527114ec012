"""Containers on Spark whose scheduler is killed, and savepoints there, exactly."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.process.process_support import Finished, until
from tests.process.test_resume import arguments, check_exact, completed, end, resumed_line
from tests.spark.conftest import standalone_cluster
from tests.spark.spark_scheduler_support import (
    SPARK_SECS,
    SparkPlace,
    Standalone,
    bare_python,
    elsewhere,
)

__all__ = ["standalone_cluster"]

pytestmark = pytest.mark.timeout(900)

GONE_SECS = 60.0
"""In which all of a topology ends by itself, whoever else is busy."""


class SharedPlace(SparkPlace):
    """Its topologies have their state in ZooKeeper, and their containers on a standalone
    cluster."""

    def __init__(self, path: Path, cluster: Standalone, zookeeper: EmbeddedZooKeeper) -> None:
        super().__init__(path)
        self._cluster, self._zookeeper = cluster, zookeeper
        self._store = ("--zookeeper", zookeeper.address)

    @property
    def store_url(self) -> str:
        """ZooKeeper's."""
        return self._zookeeper.url

    def submitted(self, *more: object) -> Finished:
        """`heronpy submit`, the same each time: exact counts in two containers, states in a shared
        folder, a Python without packages."""
        python = self.path / "bare" / "bin" / "python"
        words = elsewhere(self, self._cluster, self._zookeeper, python)
        store = ("-o", f"topology.checkpoint.store={self.path / 'states'}")
        finished = self.heronpy(
            "submit", *arguments(self, *words, "-w", 2, *store, *more), secs=SPARK_SECS
        ).succeeded()
        if found := self.scheduler():
            self.sessions.add(found["pid"])
        return finished

    def ask(self, *words: object) -> Finished:
        """A command about a topology of that ZooKeeper."""
        return self.heronpy(*words, *self._store, secs=SPARK_SECS)


@pytest.fixture
def place(
    tmp_path: Path, standalone_cluster: Standalone, zookeeper: EmbeddedZooKeeper
) -> Iterator[SharedPlace]:
    """Where the topology is submitted; what is left of it is killed at the end."""
    made = SharedPlace(tmp_path, standalone_cluster, zookeeper)
    yield made
    made.close()


def test_the_same_submit_resumes_exactly_after_kill_9_of_the_scheduler_and_so_does_a_savepoint(
    place: SharedPlace,
) -> None:
    """The submitting machine runs out of memory: all containers of the cluster end, `list` says
    LOST, and the same command resumes. Then a savepoint, from which more instances begin."""
    bare_python(place.path / "bare")
    place.submitted()
    lost(place)
    again = place.submitted()
    number = int(resumed_line(again.err).split()[4].rstrip(","))
    until(completed(place, number), "a checkpoint after that", SPARK_SECS)
    savepoint = place.path / "savepoint"
    killed = place.ask("kill", place.name, "--savepoint", savepoint).succeeded()
    assert f"from the savepoint with --from-savepoint {savepoint}" in killed.out
    until(lambda: not place.processes(), "all of it ends", GONE_SECS)
    place.environment["COUNTERS"] = "3"
    place.submitted("--from-savepoint", savepoint)
    end(place)
    until((place.path / "in_windows").exists, "it ends", SPARK_SECS)
    until(lambda: not place.processes(), "nothing is left", GONE_SECS)
    check_exact(place)
    assert len(list(place.path.glob("counted-*"))) == 3
    assert place.name not in place.ask("list").succeeded().out


def lost(place: SharedPlace) -> None:
    """Kill the scheduler behind a checkpoint: all ends by itself, and the commands say so."""
    until(completed(place), "a checkpoint is complete", SPARK_SECS)
    before = [place.container(number) for number in (1, 2)]
    executors = place.executors()
    assert executors
    scheduler = place.scheduler()
    assert scheduler is not None
    psutil.Process(scheduler["pid"]).kill()
    left = [*before, *executors]
    until(lambda: not [each for each in left if each.is_running()], "executors end", GONE_SECS)
    until(lambda: not place.processes(), "all others end", GONE_SECS)
    (line,) = (
        each for each in place.ask("list").succeeded().out.splitlines() if place.name in each
    )
    assert line.split()[:2] == [place.name, "LOST"]
