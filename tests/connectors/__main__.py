"""python -m tests.connectors: makes the matrix of docs/CONNECTORS.md again; two minutes."""

import logging
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

from heron_spark.driver.session import session
from heron_spark.options import SparkOptions
from tests.connectors import columns, page
from tests.connectors.fake_kafka import client_in_memory
from tests.connectors.sinks import SINKS, SinkEntry
from tests.connectors.sources import SOURCES, SourceEntry
from tests.postgres_support import MISSING, binaries
from tests.spark.frame_conformance import frame_column

Entry = TypeVar("Entry", SinkEntry, SourceEntry)


def main() -> int:
    """Try everything, write the page."""
    if binaries() is None:
        print(MISSING, file=sys.stderr)
        return 1
    logging.disable(logging.CRITICAL)
    os.fsync = lambda file: None  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = [
            page.rendered(page.TYPES_OUT, _tried(SINKS, columns.types_out, folder / "1")),
            page.rendered(page.TYPES_IN, _sources(folder / "2")),
            page.rendered(page.TRIALS_OUT, _tried(SINKS, columns.trials_out, folder / "3")),
            page.rendered(page.TRIALS_IN, _tried(SOURCES, columns.trials_in, folder / "4")),
        ]
    before, _, rest = page.PAGE.read_text("utf-8").partition(page.BEGIN)
    after = rest.partition(page.END)[2]
    page.PAGE.write_text(f"{before}{page.BEGIN}{page.section(made)}{page.END}{after}", "utf-8")
    return 0


def _sources(folder: Path) -> dict[str, page.Column]:
    """Those that Spark reads among them, each read in one session."""
    found = _tried(SOURCES, columns.types_in, folder / "alone")
    with session("conformance", SparkOptions(master="local[2]")) as spark:
        for kind, name in page.FRAMES.items():
            print(name, file=sys.stderr)
            found[name] = frame_column(spark, kind, folder / kind)
    return found


def _tried(
    entries: Sequence[Entry], column: Callable[[Entry, Path], page.Column], folder: Path
) -> dict[str, page.Column]:
    found = {}
    for number, entry in enumerate(entries):
        print(entry.name, file=sys.stderr)
        with client_in_memory() if isinstance(entry, SinkEntry) else nullcontext():
            found[entry.name] = column(entry, folder / str(number))
    return found


if __name__ == "__main__":
    sys.exit(main())
