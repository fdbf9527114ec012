"""The flights example as a query on Spark's workers."""

from tests.flights_answer import prepare
from tests.spark.conftest import standalone_cluster
from tests.spark.spark_scheduler_support import SPARK_SECS, SparkPlace, Standalone
from tests.spark.test_flights_on_spark import ENGINE, EXAMPLE, MONTHS, is_right, place

__all__ = ["place", "standalone_cluster"]


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
