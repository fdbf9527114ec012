"""FrameSpout makes the same of each value of a file with Spark and without it, or the matrix of
docs/CONNECTORS.md says what else."""

from pathlib import Path
from typing import Any

import pytest

from tests.connectors import page
from tests.spark.frame_conformance import frame_column


@pytest.mark.parametrize("kind", page.FRAMES)
def test_what_spark_reads_is_what_is_read_without_it(spark: Any, tmp_path: Path, kind: str) -> None:
    said = page.columns_on_page(page.TYPES_IN, page.PAGE.read_text("utf-8"))[page.FRAMES[kind]]
    assert frame_column(spark, kind, tmp_path) == said, page.REMAKE
