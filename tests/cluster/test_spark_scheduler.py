"""A life with state on Spark's standalone cluster, whose scheduler is killed, exactly."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.conformance.checks import Deployment
from tests.conformance.exact_life import exact_life
from tests.conformance.scaling import scales_with_its_load
from tests.process.process_support import DEADLINE_SECS, Finished, until
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
"""Time for a topology's end, on a busy machine."""


class SharedPlace(SparkPlace):
    """Its topologies have their state in ZooKeeper."""

    def __init__(self, path: Path, zookeeper: EmbeddedZooKeeper) -> None:
        super().__init__(path)
        self._zookeeper = zookeeper

    @property
    def store_url(self) -> str:
        """ZooKeeper's."""
        return self._zookeeper.url

    def heronpy(self, *arguments: object, secs: float = DEADLINE_SECS) -> Finished:
        """A command; the processes of its scheduler are known from then on."""
        finished = super().heronpy(*arguments, secs=secs)
        if found := self.scheduler():
            self.sessions.add(found["pid"])
        return finished


@pytest.fixture
def deployment(
    tmp_path: Path, standalone_cluster: Standalone, zookeeper: EmbeddedZooKeeper
) -> Iterator[Deployment]:
    """The containers have a Python without packages."""
    place = SharedPlace(tmp_path, zookeeper)
    submit = elsewhere(place, standalone_cluster, zookeeper, bare_python(tmp_path / "bare"))
    known = ("--zookeeper", zookeeper.address)
    yield Deployment(
        "spark", place, submit, known, zookeeper.url, SPARK_SECS, is_self_running=False
    )
    place.close()


def test_a_life_with_state_is_exact(deployment: Deployment) -> None:
    """With a kill, a rescale, a savepoint, and the loss of the submitting machine."""
    exact_life(deployment, loses_its_scheduler)


@pytest.mark.timeout(600)
def test_a_bolt_is_scaled_with_its_load(deployment: Deployment) -> None:
    """By the scheduler on the submitting machine."""
    scales_with_its_load(deployment)


def loses_its_scheduler(deployment: Deployment, submit: Callable[[], None]) -> None:
    """kill -9 of the scheduler: all containers of the cluster end, `list` says LOST, and the same
    command resumes."""
    place = deployment.place
    assert isinstance(place, SharedPlace)
    before = [place.container(number) for number in (1, 2)]
    executors = place.executors()
    assert executors
    scheduler = place.scheduler()
    assert scheduler is not None
    psutil.Process(scheduler["pid"]).kill()
    left = [*before, *executors]
    until(lambda: not [each for each in left if each.is_running()], "executors end", GONE_SECS)
    until(lambda: not place.processes(), "all others end", GONE_SECS)
    listed = place.heronpy("list", *deployment.known).succeeded().out.splitlines()
    (line,) = (each for each in listed if place.name in each)
    assert line.split()[:2] == [place.name, "LOST"]
    submit()
