"""The flights example on Spark, as a query and in containers: what pandas says, every time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flights_answer import by_pandas, by_pandas_the_busiest, written
from tests.process.process_support import EXAMPLES
from tests.spark.spark_scheduler_support import SPARK_SECS, SparkPlace

ENGINE = ("--engine", "spark")
SCHEDULER = ("--scheduler", "spark", "-w", "2", "-o", "topology.reliability.mode=ATLEAST_ONCE")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Where the example runs; what is left of it is killed at the end."""
    made = SparkPlace(tmp_path)
    made.environment["FLIGHTS_DATA"] = str(tmp_path / "data")
    yield made
    made.close()


@pytest.mark.parametrize("how", [ENGINE, SCHEDULER], ids=["engine", "scheduler"])
def test_every_flight_counts_once(place: SparkPlace, how: tuple[str, ...]) -> None:
    example = EXAMPLES / "flights" / "flights.py"
    finished = place.heronpy("run", example, "--master", "local[2]", *how, secs=SPARK_SECS)
    lines = [" ".join(line.split()) for line in finished.succeeded().out.splitlines()]
    routes = [line.removeprefix("top[0] | ") for line in lines if line.startswith("top[0]")]
    assert routes == ["route flights", *by_pandas_the_busiest()]
    assert written(place.path / "data" / "delays") == by_pandas()
