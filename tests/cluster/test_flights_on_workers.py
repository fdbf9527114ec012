"""The flights example on Spark's workers, as a query and in containers."""

import sys

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.flights_answer import prepare
from tests.spark.conftest import standalone_cluster, zookeeper
from tests.spark.spark_scheduler_support import SPARK_SECS, SparkPlace, Standalone, elsewhere
from tests.spark.test_flights_on_spark import ENGINE, EXAMPLE, MONTHS, is_right, place

__all__ = ["place", "standalone_cluster", "zookeeper"]

TWO_CONTAINERS = ("-w", "2", "-o", "topology.reliability.mode=ATLEAST_ONCE")


def test_every_flight_counts_once_in_a_query_on_a_cluster(
    place: SparkPlace, standalone_cluster: Standalone
) -> None:
    """On two workers that get the code sent, and do not know the submitting shell's variables."""
    prepare(place.path / "data", MONTHS)
    cluster = (standalone_cluster.url, "--checkpoint", place.path / "checkpoint")
    known = f"spark.executorEnv.FLIGHTS_DATA={place.environment['FLIGHTS_DATA']}"
    words = (*ENGINE, *cluster, "--spark-config", known, "--spark-config", "spark.cores.max=4")
    finished = place.heronpy("run", EXAMPLE, *words, secs=SPARK_SECS).succeeded()
    is_right(place, finished.out)


def test_every_flight_counts_once_on_a_cluster(
    place: SparkPlace, standalone_cluster: Standalone, zookeeper: EmbeddedZooKeeper
) -> None:
    """On two workers that know neither the checkout nor the submitting shell's variables."""
    prepare(place.path / "data", MONTHS)
    words = ("-N", place.name, *elsewhere(place, standalone_cluster, zookeeper, sys.executable))
    place.heronpy("run", EXAMPLE, *words, *TWO_CONTAINERS, secs=SPARK_SECS).succeeded()
    (log,) = standalone_cluster.logs(place.name).glob("top-*.log")
    is_right(place, log.read_text("utf-8"), before=" INFO ")
