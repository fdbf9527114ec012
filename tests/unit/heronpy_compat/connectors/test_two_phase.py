"""Sinks in two phases: each of ours is exact whenever it is killed, and a wrong one is caught."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from heronpy_compat.connectors.database import DatabaseSink
from heronpy_compat.connectors.files import FileSink
from heronpy_compat.connectors.parquet import ParquetSink
from heronpy_compat.connectors.two_phase import TwoPhaseSink
from heronpy_compat.testing import TesterError, check_two_phase_sink


def visible(folder: Path) -> list[Path]:
    """Whatever a reader would take for data."""
    files = (each for each in folder.rglob("*") if each.is_file())
    return sorted(each for each in files if not each.name.startswith("."))


def test_lines_of_files_are_exact(tmp_path: Path) -> None:
    def written() -> list[int]:
        return [int(line) for each in visible(tmp_path) for line in each.read_text().splitlines()]

    # Two lines fill a file, so that a transaction has several.
    config = {"file.folder": str(tmp_path), "file.bytes.per.file": 4}
    check_two_phase_sink(FileSink, written, config=config)
    assert not list(tmp_path.rglob("*.pending"))
