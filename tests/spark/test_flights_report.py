"""The Spark job of the flights example, on files that the sink wrote."""

import sys
from pathlib import Path
from typing import Any

import pytest

from heron_connectors.files.parquet import ParquetSink
from heronpy_compat.testing import ComponentTester

EXAMPLE = Path(__file__).parents[2] / "examples" / "flights"
FIELDS = ["id", "carrier", "hour", "flights", "late", "delay_minutes"]


def test_the_report_joins_what_the_sink_wrote(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """UA: 8 + 2 flights, 3 + 2 late, 40 + 60 minutes, 5 on average at six, 30 at nine."""
    config = {"parquet.folder": str(tmp_path), "parquet.partition.by": "carrier"}
    with ComponentTester(ParquetSink, inputs={"delays": FIELDS}, config=config) as sink:
        sink.process(["UA 6", "UA", 6, 8, 3, 40])
        sink.process(["UA 9", "UA", 9, 2, 2, 60])
        sink.process(["9E 6", "9E", 6, 10, 9, 200])
        sink.process(["XX 6", "XX", 6, 1, 0, -5])
        sink.finish()
    monkeypatch.syspath_prepend(str(EXAMPLE))
    report = __import__("report")
    airlines = [["UA", "United Air Lines Inc."], ["9E", "Endeavor Air Inc."]]
    try:
        rows = report.report(spark, tmp_path, airlines).collect()
    finally:
        for name in ("report", "prepare"):
            sys.modules.pop(name)
    assert [tuple(row) for row in rows] == [
        ("Endeavor Air Inc.", "9E", 10, 9, 200, 6),
        ("United Air Lines Inc.", "UA", 10, 5, 100, 9),
        (None, "XX", 1, 0, -5, 6),
    ]
