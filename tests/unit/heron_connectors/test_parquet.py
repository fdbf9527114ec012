"""ParquetSink: acked means committed, ids are written once, a full disk does not leave half
files."""

import multiprocessing
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from pyarrow import dataset

from heron_api.batch_aware import BatchAware
from heron_connectors.files.parquet import ParquetSink
from heron_connectors.files.part_files import PartFiles
from heron_core.errors import ComponentError
from heron_tester.errors import TesterError
from heronpy_compat import Grouping, Spout, Topology
from heronpy_compat.testing import ComponentTester, TopologyTester

FIELDS = ["id", "day", "minutes"]
JANUARY, FEBRUARY = date(2013, 1, 1), date(2013, 2, 1)


def sink_in(folder: Path, **config: Any) -> ComponentTester:
    keys = {f"parquet.{name.replace('_', '.')}": value for name, value in config.items()}
    return ComponentTester(
        ParquetSink,
        inputs={"rows": FIELDS},
        config={"parquet.folder": str(folder), **keys},
        name="sink",
    )


def rows_in(folder: Path, *columns: str) -> list[list[Any]]:
    found = dataset.dataset(folder, format="parquet", partitioning="hive").to_table()
    return sorted([row[name] for name in columns or FIELDS] for row in found.to_pylist())


def visible(folder: Path) -> list[str]:
    """Whatever a reader would take for data."""
    return sorted(
        str(each.relative_to(folder))
        for each in folder.rglob("*")
        if each.is_file() and not each.name.startswith(".")
    )


def without_writers(folder: Path) -> list[str]:
    """Names without their random writers."""
    return [re.sub("-[0-9a-f]{16}-0000", "", each) for each in visible(folder)]


def test_a_tuple_is_acked_when_its_file_is_there(tmp_path: Path) -> None:
    with sink_in(tmp_path, rows_per_file=2) as sink:
        sink.process([1, JANUARY, 5])
        assert (sink.acked, visible(tmp_path)) == ([], [])
        sink.process([2, JANUARY, 7])
        assert sink.acked == [1, 2]
        assert without_writers(tmp_path) == ["part-sink-00000-00000000.parquet"]
    assert rows_in(tmp_path) == [[1, JANUARY, 5], [2, JANUARY, 7]]


def test_rows_do_not_wait_longer_than_they_may(tmp_path: Path) -> None:
    with sink_in(tmp_path, roll_secs=5) as sink:
        sink.process([1, JANUARY, 5])
        sink.advance(4.9)
        assert sink.acked == []
        sink.advance(0.2)
        assert sink.acked == [1]
        sink.advance(4)
        sink.process([2, JANUARY, 6])
        sink.advance(4)  # the time of this row began with it
        assert sink.acked == [1]


def test_partitions_are_folders(tmp_path: Path) -> None:
    with sink_in(tmp_path, partition_by=["day"]) as sink:
        for number, day in enumerate([JANUARY, None, FEBRUARY, JANUARY]):
            sink.process([number, day, 0])
        sink.finish()
        assert sorted(sink.acked) == [1, 2, 3, 4]
    assert without_writers(tmp_path) == [
        "day=2013-01-01/part-sink-00000-00000000.parquet",
        "day=2013-02-01/part-sink-00000-00000002.parquet",
        "day=__HIVE_DEFAULT_PARTITION__/part-sink-00000-00000001.parquet",
    ]
    assert rows_in(tmp_path, "id", "day") == [
        [0, "2013-01-01"], [1, None], [2, "2013-02-01"], [3, "2013-01-01"]
    ]  # fmt: skip


def test_a_successor_goes_on_with_the_names(tmp_path: Path) -> None:
    """A restart neither replaces a file nor leaves half-written files of its predecessor."""
    for number in range(2):
        with sink_in(tmp_path) as sink:
            sink.process([number, JANUARY, 0])
            sink.finish()
        (tmp_path / ".part-sink-00000-00000009.parquet.1.tmp").write_text("half")
    with sink_in(tmp_path) as sink:
        sink.process([2, JANUARY, 0])
        assert not list(tmp_path.glob("*.tmp"))
        sink.finish()
    assert len(visible(tmp_path)) == 3
    assert [row[0] for row in rows_in(tmp_path)] == [0, 1, 2]


def test_an_id_is_written_once(tmp_path: Path) -> None:
    """Replayed while waiting, after the commit, and after a restart."""
    with sink_in(tmp_path, id_field="id", rows_per_file=2) as sink:
        sink.process([1, JANUARY, 5])
        sink.process([1, JANUARY, 5])
        assert sink.acked == []
        sink.process([2, JANUARY, 5])
        assert sorted(sink.acked) == [1, 2, 3]
        sink.process([2, JANUARY, 5])
        assert sink.acked[-1] == 4
    with sink_in(tmp_path, id_field="id") as sink:
        for number in (1, 2, 3):
            sink.process([number, JANUARY, 5])
        assert sink.acked == [1, 2]
        sink.finish()
    assert [row[0] for row in rows_in(tmp_path)] == [1, 2, 3]


def test_an_id_has_to_be_one(tmp_path: Path) -> None:
    with sink_in(tmp_path, id_field="id") as sink:
        with pytest.raises(ComponentError, match=r"id=None is not an id"):
            sink.process([None, JANUARY, 5])
        assert sink.failed == [1]


@contextmanager
def full_disk(bytes_left: int) -> Iterator[None]:
    """No file of this process may grow larger: write() stops in the middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize("id_field", [None, "id"])
def test_a_full_disk_fails_tuples_and_is_told_once(tmp_path: Path, id_field: str | None) -> None:
    with sink_in(tmp_path, rows_per_file=2, id_field=id_field) as sink:
        with full_disk(100):
            for number in range(4):
                sink.process([number, JANUARY, 5])
            assert sink.failed == [1, 2]  # the others wait until the disk is tried again
            sink.advance(2)
            sink.process([4, JANUARY, 5])
        assert sink.failed == [1, 2, 3, 4, 5]
        (problem,) = sink.errors
        assert "sink: cannot write into" in problem.text
        assert "2 rows are failed" in problem.text
        assert "\n" not in problem.text.strip()
        assert visible(tmp_path) == []
        assert not list(tmp_path.glob("*.tmp"))
        sink.advance(2)
        for number in range(5):
            sink.process([number, JANUARY, 5])
        sink.finish()
        assert sorted(sink.acked) == [6, 7, 8, 9, 10]
    assert [row[0] for row in rows_in(tmp_path)] == [0, 1, 2, 3, 4]


def test_a_row_that_does_not_fit_fails_alone(tmp_path: Path) -> None:
    with sink_in(tmp_path, rows_per_file=3) as sink:
        for minutes in (5, "late", 7):
            sink.process([1, JANUARY, minutes])
        assert (sink.acked, sink.failed) == ([1, 3], [2])
        (problem,) = sink.errors
        assert "minutes='late' is not int64" in problem.text
    assert rows_in(tmp_path, "minutes") == [[5], [7]]


def test_types_can_be_given(tmp_path: Path) -> None:
    """A file with None as first values has the usual types."""
    with sink_in(tmp_path, types={"minutes": "int32"}) as sink:
        sink.process([1, JANUARY, None])
        sink.finish()
    (path,) = tmp_path.glob("*.parquet")
    assert dataset.dataset(path).schema.field("minutes").type == arrow.int32()


def test_a_batch_replaces_itself(tmp_path: Path) -> None:
    """An engine of batches died after the files and before its note: the batch comes again, here
    with one partition less, as non-deterministic user code may do."""
    for days in ([JANUARY, FEBRUARY], [JANUARY]):
        with sink_in(tmp_path, partition_by="day") as sink:
            component = sink.component
            assert isinstance(component, BatchAware)
            component.begin_batch(7)
            for number, day in enumerate(days):
                sink.process([number, day, 0])
            assert len(sink.acked) == len(days)
            assert component.__getstate__() == {}
            component.end_batch()
    assert visible(tmp_path) == ["day=2013-01-01/part-sink-00000-batch-000000007.parquet"]
    assert rows_in(tmp_path, "id", "day") == [[0, "2013-01-01"]]


def test_batches_in_a_row_are_all_there(tmp_path: Path) -> None:
    with sink_in(tmp_path) as sink:
        for batch in range(3):
            sink.component.begin_batch(batch)
            if batch != 1:
                sink.process([batch, JANUARY, 0])
            sink.finish()
            sink.component.end_batch()
    assert [row[0] for row in rows_in(tmp_path)] == [0, 2]


def test_a_full_disk_ends_a_batch_with_an_error(tmp_path: Path) -> None:
    with sink_in(tmp_path) as sink:
        sink.component.begin_batch(0)
        sink.process([1, JANUARY, 0])
        with full_disk(100), pytest.raises(ComponentError, match="cannot write into"):
            sink.component.end_batch()
        assert visible(tmp_path) == []


def _lock_and_wait(folder: str, locked: Any, over: Any) -> None:
    files = PartFiles(folder, "sink", 0)
    files.lock()
    locked.set()
    over.wait()


def test_two_processes_do_not_write_under_one_name(tmp_path: Path) -> None:
    """A stopped predecessor wakes up, or two topologies have the same folder."""
    processes = multiprocessing.get_context("spawn")
    locked, over = processes.Event(), processes.Event()
    other = processes.Process(target=_lock_and_wait, args=(str(tmp_path), locked, over))
    other.start()
    try:
        assert locked.wait(30)
        files, second = PartFiles(str(tmp_path), "sink", 0), PartFiles(str(tmp_path), "sink", 1)
        with pytest.raises(ComponentError, match="another process writes part-sink-00000"):
            files.lock()
        second.lock()
        second.unlock()
    finally:
        other.kill()
        other.join()
    files.lock()
    files.unlock()


class Rows(Spout):
    """Only its fields matter."""

    outputs = FIELDS


def topology(grouping: Any, folder: Path, **config: Any) -> type:
    keys = {"parquet.folder": str(folder), **config}

    class Sinking(Topology):
        config = {"topology.reliability.mode": "ATLEAST_ONCE"}
        rows = Rows.spec()
        sink = ParquetSink.spec(par=2, inputs={rows: grouping}, config=keys)

    return Sinking


def test_a_crash_before_the_commit_loses_nothing_and_ids_come_once(tmp_path: Path) -> None:
    keys = {"parquet.id.field": "id", "parquet.rows.per.file": 3}
    with TopologyTester(topology(Grouping.fields("id"), tmp_path, **keys)) as tester:
        for number in range(20):
            tester.feed("rows", [number, JANUARY, 0], tup_id=number)
        tester.run()
        tester.crash("sink")
        tester.advance(60)  # what was acked in vain times out
        for number in set(range(20)) - set(tester.acked("rows")):
            tester.feed("rows", [number, JANUARY, 0], tup_id=number)
        for number in range(5):
            tester.feed("rows", [number, JANUARY, 0], tup_id=f"again {number}")
        tester.advance(10)
        assert set(range(20)) <= set(tester.acked("rows"))
    assert [row[0] for row in rows_in(tmp_path)] == list(range(20))


@pytest.mark.parametrize(
    ("grouping", "config", "error"),
    [
        (Grouping.SHUFFLE, {"parquet.id.field": "id"}, "same id must go to the same"),
        (Grouping.SHUFFLE, {"parquet.partition.by": ["dya"]}, "no field 'dya' in id, day, minutes"),
        (Grouping.SHUFFLE, {"parquet.partition.by": FIELDS}, "must stay columns"),
        (
            Grouping.SHUFFLE,
            {"parquet.types": {"day": "dat"}},
            "'dat' for column 'day' is not a type",
        ),
        (Grouping.SHUFFLE, {"parquet.folder": None}, "no folder to write into"),
    ],
)
def test_wrong_settings_are_named(
    tmp_path: Path, grouping: Any, config: dict[str, Any], error: str
) -> None:
    with pytest.raises((ComponentError, TesterError), match=error):
        TopologyTester(topology(grouping, tmp_path, **config)).__enter__()
