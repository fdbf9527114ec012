"""A drawn topology in a Spark of its own: types, failing and late rows, zones, modes, coroutines.

What the tester, the hosts of Spark and processes make of it tests/spark/test_drawn_topologies.py
compares; HERON_DRAWN_ALL=5:9 chooses other seeds here as well as there.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.spark.conftest import spark
from tests.spark.drawn_rounds import ONE_SEED, SPARK, Round, seeds_of

__all__ = ["spark"]

SPARK_SECS = 600
"""A JVM starts in seconds, or in a minute where others are busy."""


@pytest.mark.timeout(SPARK_SECS)
@pytest.mark.parametrize("seed", seeds_of("HERON_DRAWN_ALL", ONE_SEED))
def test_a_spark_gives_what_plain_python_gives(seed: int, spark: Any, tmp_path: Path) -> None:
    found = list(Round(seed, tmp_path, spark, [SPARK]).complaints())
    assert not found, "\n".join(found)
