"""Sinks in two phases: each shipped sink is exact through kills at any moment, and a wrong one is
caught."""

import errno
import os
import resource
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyarrow import parquet

from heron_api.state.stateful_component import StatefulComponent
from heron_connectors.database.sink import DatabaseSink
from heron_connectors.delta import DeltaSink
from heron_connectors.files.parquet import ParquetSink
from heron_connectors.files.sink import FileSink
from heron_connectors.two_phase import TwoPhaseSink, WriteAheadSink
from heron_core.errors import ComponentError
from heronpy_compat import Spout, Topology
from heronpy_compat.testing import (
    ComponentTester,
    TesterError,
    TopologyTester,
    check_two_phase_sink,
)


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durability of the disk is out of scope here, and takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


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


def test_rows_of_parquet_files_are_exact(tmp_path: Path) -> None:
    read: dict[Path, list[int]] = {}

    def written() -> list[int]:
        for each in set(visible(tmp_path)) - read.keys():
            with parquet.ParquetFile(each) as file:
                read[each] = file.read(["number"])["number"].to_pylist()
        return [number for each in visible(tmp_path) for number in read[each]]

    config = {"parquet.folder": str(tmp_path), "parquet.partition.by": "half"}
    check_two_phase_sink(
        ParquetSink,
        written,
        fields=["number", "half"],
        row=lambda number: [number, number % 2],
        config={**config, "parquet.rows.per.file": 2},
    )
    assert not list(tmp_path.rglob("*.pending"))


class Database(DatabaseSink):
    """Durability is out of scope here."""

    def connect(self) -> Any:
        connection = super().connect()
        connection.execute("PRAGMA synchronous = OFF")
        return connection


def test_rows_of_a_database_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "numbers.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE numbers (number INTEGER)")

    def written() -> list[int]:
        with closing(sqlite3.connect(path)) as connection:
            return [number for (number,) in connection.execute("SELECT number FROM numbers")]

    config = {"database.connect": str(path), "database.table": "numbers"}
    check_two_phase_sink(Database, written, config=config)


def test_rows_of_a_delta_table_are_exact(tmp_path: Path) -> None:
    folder = str(tmp_path / "table")
    read: dict[str, list[int]] = {}

    def written() -> list[int]:
        if not DeltaTable.is_deltatable(folder):
            return []
        files = DeltaTable(folder).file_uris()
        for each in set(files) - read.keys():
            with parquet.ParquetFile(each) as file:
                read[each] = file.read(["number"])["number"].to_pylist()
        return [number for each in files for number in read[each]]

    # Versions of Delta are atomic, and a hundred versions take time: not at each line.
    check_two_phase_sink(DeltaSink, written, config={"delta.table": folder}, each_line=False)


# --- targets that take nothing --------------------------------------------------------------------


class Numbers(Spout, StatefulComponent):
    outputs = ["number"]

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.next = self.state.get("next") or 0

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("next", self.next)

    def next_tuple(self) -> None:
        self.emit([self.next])
        self.next += 1


def writing(sink_class: type[TwoPhaseSink], **keys: Any) -> TopologyTester:
    class Writing(Topology):
        config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
        numbers = Numbers.spec()
        sink = sink_class.spec(
            inputs=[numbers], config={name.replace("_", "."): each for name, each in keys.items()}
        )

    return TopologyTester(Writing)


@pytest.mark.parametrize("sink_class", [FileSink, ParquetSink, DeltaSink])
def test_a_run_that_begins_anew_beside_the_output_of_another_one_says_so(
    sink_class: type[TwoPhaseSink], tmp_path: Path
) -> None:
    """A second run with --fresh: rows read again are written again."""
    keys = {FileSink: "file_folder", ParquetSink: "parquet_folder", DeltaSink: "delta_table"}
    target = tmp_path / "out"

    def run(crash: bool) -> list[str]:
        with writing(sink_class, **{keys[sink_class]: str(target)}) as tester:
            tester.run_spouts(3)
            tester.checkpoint()
            if crash:
                tester.crash("sink")
                tester.run_spouts(3)
                tester.checkpoint()
            return [each.text for each in tester.errors("sink")]

    assert run(crash=True) == [], "it knows what it has written itself"
    (told,) = run(crash=False)
    assert f"sink starts without state, and {target} has " in told
    assert "resume from the checkpoint of the other run, or name an empty target" in told


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may grow: write() stops in the middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def lines_in(folder: Path) -> list[int]:
    return [int(line) for each in visible(folder) for line in each.read_text().splitlines()]


def test_a_full_disk_fails_the_checkpoint_and_nothing_is_lost(tmp_path: Path) -> None:
    """While lines are written and while a checkpoint is prepared; then there is room again."""
    with writing(FileSink, file_folder=str(tmp_path), file_bytes_per_file=8) as tester:
        with full_disk():
            tester.run_spouts(6)
            assert not tester.checkpoint()
        told, failed = (each.text for each in tester.errors("sink"))
        assert f"sink: cannot write into {tmp_path}: File too large" in told
        assert "sink: cannot write: File too large" in failed
        assert not list(tmp_path.glob(".*pending"))
        tester.run_spouts(2)
        assert tester.checkpoint()
        assert lines_in(tmp_path) == list(range(8))


def test_a_disk_that_stays_full_ends_the_process_before_the_memory_does(tmp_path: Path) -> None:
    with writing(FileSink, file_folder=str(tmp_path), file_bytes_per_file=4) as tester:
        with full_disk():
            tester.run_spouts(20)
        texts = [each.text for each in tester.errors("sink")]
        assert any(f"sink: cannot write into {tmp_path}: File too large" in each for each in texts)
        assert any("and too much waits for that" in each for each in texts)
        tester.run_spouts(3)
        assert tester.checkpoint()
        (numbers,) = tester.component("numbers")
        assert lines_in(tmp_path) == list(range(numbers.next))


def test_a_commit_that_fails_is_told_once_and_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is not writable when the checkpoint is complete."""

    def refused(source: str, target: str) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)

    with writing(FileSink, file_folder=str(tmp_path)) as tester:
        tester.run_spouts(2)
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", refused)
            assert tester.checkpoint()
            tester.run_spouts(1)
            assert tester.checkpoint()
            tester.advance(10)
        (problem,) = tester.errors("sink")
        assert "sink: cannot commit checkpoint 1: Permission denied" in problem.text
        assert problem.text.strip().endswith("no data is lost, the sink retries")
        assert lines_in(tmp_path) == []
        tester.advance(2)
        assert lines_in(tmp_path) == [0, 1, 2]


def test_a_locked_database_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "numbers.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE numbers (number INTEGER)")
        arguments = {"database": str(path), "timeout": 0}
        with writing(DatabaseSink, database_connect=arguments, database_table="numbers") as tester:
            tester.run_spouts(2)
            other.execute("BEGIN EXCLUSIVE")
            assert tester.checkpoint()
            other.execute("ROLLBACK")
            (problem,) = tester.errors("sink")
            assert "sink: cannot commit checkpoint 1: database is locked" in problem.text
            tester.advance(2)
            assert other.execute("SELECT number FROM numbers").fetchall() == [(0,), (1,)]


@pytest.mark.parametrize(
    ("sink", "keys", "error"),
    [
        (FileSink, {}, "sink: no folder to write into"),
        (FileSink, {"file_folder": "x", "file_format": "csv"}, "is text or json, not 'csv'"),
        (DatabaseSink, {}, "sink: no table to write"),
        (DatabaseSink, {"database_module": "nodb"}, "driver cannot be loaded: No module named"),
    ],
)
def test_wrong_settings_are_named(
    sink: type[TwoPhaseSink], keys: dict[str, Any], error: str
) -> None:
    with pytest.raises(ComponentError, match=error):
        writing(sink, **keys).__enter__()


def test_lines_are_texts_or_objects(tmp_path: Path) -> None:
    """In a mode without checkpoints: tuples are acked once their file exists; a tuple without a
    line fails alone."""
    config = {"file.folder": str(tmp_path), "file.lines.per.file": 2}
    with ComponentTester(FileSink, inputs={"rows": ["text"]}, config=config) as sink:
        sink.process(["ä"])
        with pytest.raises(ValueError, match="not a line"):
            sink.process(["two\nlines"])
        assert (sink.acked, sink.failed, visible(tmp_path)) == ([], [2], [])
        sink.process([7])
        assert sink.acked == [1, 3]
    (path,) = visible(tmp_path)
    assert path.read_text() == "ä\n7\n"
    config["file.folder"] = str(tmp_path / "json")
    with ComponentTester(FileSink, inputs={"rows": ["id", "text"]}, config=config) as sink:
        sink.process([1, "two\nlines"])
        sink.finish()
    (path,) = visible(tmp_path / "json")
    assert path.read_text() == '{"id": 1, "text": "two\\nlines"}\n'


def test_its_state_is_known_to_be_undividable_before_the_first_checkpoint(tmp_path: Path) -> None:
    config = {
        "file.folder": str(tmp_path),
        "file.format": "text",
        "topology.reliability.mode": "EFFECTIVELY_ONCE",
    }
    with ComponentTester(FileSink, inputs={"rows": ["text"]}, config=config) as sink:
        assert sink.component._two_phase_state.is_fixed


def test_a_batch_of_lines_replaces_itself(tmp_path: Path) -> None:
    """On an engine that repeats batches."""
    for _ in range(2):
        config = {"file.folder": str(tmp_path)}
        with ComponentTester(FileSink, inputs={"rows": ["text"]}, config=config) as sink:
            for batch in (3, 4):
                sink.component.begin_batch(batch)
                sink.process([batch])
                sink.component.end_batch()
    assert lines_in(tmp_path) == [3, 4]


# --- sinks that are wrong: an engineer's first tries ----------------------------------------------

target: dict[str, list[int]] = {}
"""Content written by a sink of these tests, by name: a file, or the number of a commit. The store
outlives every crash."""


def written_to_target() -> list[int]:
    return [number for each in target.values() for number in each]


class Right(WriteAheadSink):
    """Writes under the name of the transaction, so that a repeated commit is equal."""

    def row_of(self, tup: Any) -> Any:
        return tup.values[0]

    def commit(self, prepared: Any, transaction_id: Any) -> None:
        target[str(transaction_id)] = prepared


class WritesAtOnce(Right):
    def write(self, transaction: Any, tup: Any) -> None:
        target.setdefault("all", []).append(tup.values[0])

    def commit(self, prepared: Any, transaction_id: Any) -> None:
        """All is there already."""


class CommitsTwice(Right):
    def commit(self, prepared: Any, transaction_id: Any) -> None:
        target.setdefault("all", []).extend(prepared)


class CommitsAtPreCommit(Right):
    def pre_commit(self, transaction: Any, transaction_id: Any) -> Any:
        target[str(transaction_id)] = transaction
        return []

    def commit(self, prepared: Any, transaction_id: Any) -> None:
        """All is there already."""


class RemembersInMemory(Right):
    def pre_commit(self, transaction: Any, transaction_id: Any) -> Any:
        self.rows = transaction
        return None

    def commit(self, prepared: Any, transaction_id: Any) -> None:
        target[str(transaction_id)] = getattr(self, "rows", [])


class NotAsAWhole(Right):
    def commit(self, prepared: Any, transaction_id: Any) -> None:
        if str(transaction_id) not in target:
            target[str(transaction_id)] = []
            for each in prepared:
                target[str(transaction_id)].append(each)


def test_a_right_sink_passes() -> None:
    target.clear()
    check_two_phase_sink(Right, written_to_target)


@pytest.mark.parametrize(
    ("sink", "error"),
    [
        (WritesAtOnce, "where it is killed while it writes: seen too early: 1, 2, 3"),
        (CommitsTwice, "where it is killed while it writes: more than once: 1, 2, 3"),
        (CommitsAtPreCommit, "where it is killed after pre_commit: seen too early"),
        (RemembersInMemory, "where it is killed while it writes: missing: 1, 2, 3"),
        (NotAsAWhole, "at line .* of a commit: missing"),
    ],
)
def test_a_wrong_sink_is_caught(sink: type[TwoPhaseSink], error: str) -> None:
    target.clear()
    with pytest.raises(TesterError, match=f"{sink.__name__} is not exact .*{error}"):
        check_two_phase_sink(sink, written_to_target)


class NeverBegins(Right):
    def pre_commit(self, transaction: Any, transaction_id: Any) -> Any:
        raise OSError("no such database")


def test_a_sink_that_lets_no_checkpoint_be_complete_has_not_passed() -> None:
    """Without output and without expected output: the test was void."""
    target.clear()
    with pytest.raises(TesterError, match="NeverBegins let no checkpoint be complete where it is"):
        check_two_phase_sink(NeverBegins, written_to_target)
