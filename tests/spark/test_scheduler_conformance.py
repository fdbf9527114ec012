"""A topology's whole life on a standalone cluster, as on every other back end."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.conformance.checks import Deployment, whole_life
from tests.spark.spark_scheduler_support import SPARK_SECS, SparkPlace, Standalone, elsewhere


@pytest.fixture
def deployment(
    tmp_path: Path,
    standalone_cluster: Standalone,
    zookeeper: EmbeddedZooKeeper,
) -> Iterator[Deployment]:
    """Containers on the cluster's workers, state in ZooKeeper."""
    place = SparkPlace(tmp_path)
    submit = elsewhere(place, standalone_cluster, zookeeper, sys.executable)
    known = ("--zookeeper", zookeeper.address)
    left = standalone_cluster.left
    made = Deployment("spark", place, submit, known, zookeeper.url, SPARK_SECS, left,
                      is_self_running=False)  # fmt: skip
    yield made
    place.close()


@pytest.mark.timeout(900)
def test_a_topology_s_whole_life(
    deployment: Deployment, record_property: Callable[[str, object], None]
) -> None:
    whole_life(deployment, record_property)
