"""The flights example on Spark, as a query and in containers: what pandas says, every time.

The first months on local cores; where more than that is started, only January.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.flights_answer import by_pandas, by_pandas_the_busiest, prepare, written
from tests.process.process_support import EXAMPLES
from tests.spark.spark_scheduler_support import (
    SPARK_SECS,
    SparkPlace,
    Standalone,
    elsewhere,
)

EXAMPLE = EXAMPLES / "flights" / "flights.py"
ENGINE = ("--engine", "spark", "--master")
MONTHS = 1
"""27 thousand departures of 337 thousand."""
MORE_MONTHS = 3
"""80 thousand, in several batches."""
TWO_CONTAINERS = ("-w", "2", "-o", "topology.reliability.mode=ATLEAST_ONCE")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Where the example runs; what is left of it is killed at the end."""
    made = SparkPlace(tmp_path)
    made.environment["FLIGHTS_DATA"] = str(tmp_path / "data")
    yield made
    made.close()


def is_right(place: SparkPlace, text: str, months: int = MONTHS, before: str = "top[0] | ") -> None:
    """AssertionError unless the table is pandas', and so is what `top` has printed, which stands in
    lines of the text behind `before`."""
    found = [" ".join(line.rpartition(before)[2].split()) for line in text.splitlines()]
    expected = ["route flights", *by_pandas_the_busiest(months)]
    start = found.index(expected[0])
    assert found[start : start + len(expected)] == expected
    assert written(place.path / "data" / "delays") == by_pandas(months)


def test_every_flight_counts_once_in_a_query(place: SparkPlace) -> None:
    prepare(place.path / "data", MORE_MONTHS)
    finished = place.heronpy("run", EXAMPLE, *ENGINE, "local[2]", secs=SPARK_SECS).succeeded()
    is_right(place, finished.out, MORE_MONTHS)


def test_every_flight_counts_once_on_a_cluster(
    place: SparkPlace, standalone_cluster: Standalone, zookeeper: EmbeddedZooKeeper
) -> None:
    """On two workers that know neither the checkout nor the submitting shell's variables."""
    prepare(place.path / "data", MONTHS)
    words = ("-N", place.name, *elsewhere(place, standalone_cluster, zookeeper, sys.executable))
    place.heronpy("run", EXAMPLE, *words, *TWO_CONTAINERS, secs=SPARK_SECS).succeeded()
    (log,) = standalone_cluster.logs(place.name).glob("top-*.log")
    is_right(place, log.read_text("utf-8"), before=" INFO ")
