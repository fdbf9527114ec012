"""The examples as one query: each prints the lines of its run in the tester."""

from pathlib import Path
from typing import Any

import pytest

from heron_spark.driver.progress import Progress
from spark_support import run
from tests.examples_together import OPTIONS, by_example, fresh_imports, in_the_tester, together


def test_examples_print_on_spark_what_they_print_in_the_tester(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []

    def note(progress: Progress) -> None:
        lines.extend(line for result in progress.results for line in result["printed"])

    expected = {name.rpartition("/")[2]: in_the_tester(name, capsys) for name in OPTIONS}
    assert all(expected.values())
    with fresh_imports():
        assert run(spark, together(OPTIONS), tmp_path / "checkpoint", note) == 0
    assert by_example(lines) == expected
