"""Random topologies give the same on both engines, in the tester and by a few lines of Python.

With state of each kind, timers and windows by event time. Six stand side by side in one run, as
processes and batches cost. For a night: `python -m tests.spark.random_rounds 2 200`.
"""

from pathlib import Path
from typing import Any

from random_rounds import Round

SEED = 1
"""Two containers, at least once, several batches."""


def test_all_engines_give_the_same(spark: Any, tmp_path: Path) -> None:
    found = list(Round(SEED, tmp_path, spark).complaints())
    assert found == ["", "", ""], "\n".join(found)
