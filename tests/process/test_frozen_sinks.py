"""A sink's process is frozen (SIGSTOP, a suspended host), replaced, and wakes up: exact output."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from tests.process import writing_process

EXACT = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
REPLAYED = {"topology.reliability.mode": "ATLEAST_ONCE"}
OLD_BORN_MS, NEW_BORN_MS, NEWER_BORN_MS = 1_764_000_000_000, 1_764_000_060_000, 1_764_000_120_000


class Process:
    """A writing process: writing_process.py."""

    def __init__(self, kind: str, given: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, writing_process.__file__, kind, json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begun(self) -> None:
        self._answer()

    def __call__(self, *command: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def well(self, *command: Any) -> Any:
        """Send a command and wait for its end; returns the state."""
        found = self(*command)
        assert (found["error"], found["left"]) == ("", "")
        return found["state"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process has ended"
        found: dict[str, Any] = json.loads(line)
        return found

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


Start = Callable[..., Process]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes, ended with the test."""
    started: list[Process] = []

    def begin(kind: str, folder: Path, born_ms: int, state: Any = None, **more: Any) -> Process:
        config = {**EXACT, **settings(kind, folder), **more.pop("config", {})}
        given = {"run": "a run", "born_ms": born_ms, "state": state, "fields": ["id"]}
        process = Process(kind, {**given, "config": config, **more})
        started.append(process)
        process.begun()
        return process

    yield begin
    for each in started:
        each.kill()


def settings(kind: str, folder: Path) -> dict[str, Any]:
    """With a hidden file for each row, where the sink has files."""
    if kind == "database":
        with sqlite3.connect(folder / "rows.db") as database:
            database.execute("CREATE TABLE IF NOT EXISTS rows (id BIGINT)")
        database.close()
        return {"database.connect": str(folder / "rows.db"), "database.table": "rows"}
    target = str(folder / "out")
    found: dict[str, dict[str, Any]] = {
        "file": {"file.folder": target, "file.bytes.per.file": 1},
        "parquet": {"parquet.folder": target, "parquet.rows.per.file": 1},
        "delta": {"delta.table": target},
        "iceberg": {"iceberg.table": "x.rows", "iceberg.catalog.properties": catalog_in(folder)},
    }
    return found[kind]


def catalog_in(folder: Path) -> dict[str, str]:
    """An Iceberg catalog."""
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/out",
    }


def ids_in(kind: str, folder: Path) -> list[int]:
    """Ids of a reader of the target, in order."""
    if kind == "database":
        with sqlite3.connect(folder / "rows.db") as database:
            found = database.execute("SELECT id FROM rows").fetchall()
        database.close()
        return sorted(each for (each,) in found)
    if kind == "file":
        texts = [each.read_text() for each in (folder / "out").glob("part-*")]
        return sorted(map(int, "".join(texts).split()))
    if kind == "delta":
        from deltalake import DeltaTable

        table = DeltaTable(str(folder / "out")).to_pyarrow_table()
    elif kind == "iceberg":
        from pyiceberg.catalog import load_catalog

        catalog = load_catalog("default", **catalog_in(folder))
        table = catalog.load_table("x.rows").scan().to_arrow()
        catalog.close()
    else:
        table = dataset.dataset(folder / "out", format="parquet").to_table()
    return sorted(table.column("id").to_pylist())


KINDS = ("file", "parquet", "delta", "database")


@pytest.mark.parametrize("kind", KINDS)
def test_a_frozen_sink_is_replaced_and_wakes_up(kind: str, start: Start, tmp_path: Path) -> None:
    old = start(kind, tmp_path, OLD_BORN_MS)
    old.well("write", 1)
    state = old.well("prepare", "1")
    old.well("complete", "1")
    for each in (2, 3):
        old.well("write", each)
    old.freeze()

    new = start(kind, tmp_path, NEW_BORN_MS, state)
    for each in (2, 3, 4):
        new.well("write", each)
    newest = new.well("prepare", "2")
    new.well("write", 5)

    old.wake()
    old("write", 6)
    assert old("prepare", "2")["state"] is not None
    # The sink was not told of the completion; with the message the state would be equal.
    old("close")
    new.well("complete", "2")
    new.well("prepare", "3")
    new.well("complete", "3")
    assert ids_in(kind, tmp_path) == [1, 2, 3, 4, 5]

    late = start(kind, tmp_path, NEWER_BORN_MS, newest)
    late.well("write", 5)
    late.well("prepare", "4")
    assert ids_in(kind, tmp_path) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", [*KINDS, "iceberg"])
def test_a_sink_that_is_frozen_before_a_commit_repeats_it_without_effect(
    kind: str, start: Start, tmp_path: Path
) -> None:
    old = start(kind, tmp_path, OLD_BORN_MS)
    old.well("write", 1)
    state = old.well("prepare", "1")
    old.freeze()
    new = start(kind, tmp_path, NEW_BORN_MS, state)  # which commits it
    new.well("write", 2)
    new.well("prepare", "2")
    new.well("complete", "2")
    old.wake()
    old("complete", "1")
    old("close")
    assert ids_in(kind, tmp_path) == [1, 2]


@pytest.mark.parametrize("kind", ["file", "parquet"])
def test_a_sink_that_is_frozen_before_its_first_file_removes_none_of_its_replacement(
    kind: str, start: Start, tmp_path: Path
) -> None:
    old = start(kind, tmp_path, OLD_BORN_MS)
    old.freeze()
    new = start(kind, tmp_path, NEW_BORN_MS)
    new.well("write", 1)
    old.wake()
    found = old("write", 1)
    assert "this process was replaced while it was suspended" in found["left"]
    new.well("prepare", "1")
    new.well("complete", "1")
    assert ids_in(kind, tmp_path) == [1]

    new.kill()  # its lock is free: the frozen one may have it, and leaves what is younger alone
    hidden = tmp_path / "out" / f".part-sink-00000-0123456789abcdef.{NEW_BORN_MS}.pending"
    hidden.touch()
    again = start(kind, tmp_path, OLD_BORN_MS)
    again.well("write", 2)
    assert hidden.exists()


@pytest.mark.parametrize("kind", ["file", "parquet"])
def test_two_topologies_with_one_folder_are_kept_apart(
    kind: str, start: Start, tmp_path: Path
) -> None:
    first = start(kind, tmp_path, OLD_BORN_MS)
    first.well("write", 1)
    first.freeze()
    second = start(kind, tmp_path, NEW_BORN_MS, run="another run")
    second("write", 2)
    found = second("prepare", "1")
    assert "give each topology its own folder" in found["error"]
    first.wake()
    first.well("prepare", "1")
    first.well("complete", "1")
    assert ids_in(kind, tmp_path) == [1]


def test_parquet_ids_are_written_once_though_the_frozen_process_has_some_in_memory(
    start: Start, tmp_path: Path
) -> None:
    """ATLEAST_ONCE: its files neither replace the successor's files nor lie beside them."""
    config = {**REPLAYED, "parquet.id.field": "id", "parquet.rows.per.file": 100}
    old = start("parquet", tmp_path, OLD_BORN_MS, config=config)
    old.well("write", 1)
    old.well("commit")
    for each in (2, 3):
        old.well("write", each)
    old.freeze()
    new = start("parquet", tmp_path, NEW_BORN_MS, config=config)
    for each in (2, 3, 4):
        new.well("write", each)
    new.well("commit")
    old.wake()
    found = old("commit")
    assert "another process has taken over part-sink-00000" in found["left"]
    assert found["acked"] == 1
    assert ids_in("parquet", tmp_path) == [1, 2, 3, 4]
