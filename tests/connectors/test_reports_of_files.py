"""Public reports about followed files, rules of Delta tables and vanished files, each reduced to
its steps and the right result, and tried here. References name the report."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as arrow
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from heron_connectors.delta import DeltaSink
from heron_connectors.files.spout import FileSpout
from heron_core import config as keys
from heronpy_compat.testing import TopologyTester
from tests.connectors.runs import SINK, SPARK, Collected, SparkRun, classes, reading
from tests.connectors.test_public_reports import delta, held, put

Report = Callable[[Path, str], None]
REPORTS: list[tuple[str, Report]] = []
TURNS = 24
"""Of a spout, for what a step has done: three looks and some lines."""
BATCHES = 3
HEADER = "time,level,text\n"


def reported(*references: str) -> Callable[[Report], Report]:
    def add(report: Report) -> Report:
        REPORTS.extend((each, report) for each in references)
        return report

    return add


def followed(folder: Path, engine: str, *steps: Callable[[Path], object]) -> list[str]:
    """Lines read by a follower of `app.log` after all steps, one by one."""
    path = folder / "app.log"
    config = {"library.file.path": str(path), "library.file.follow": True}
    topology = reading(["line"], {**config, "library.file.follow.secs": 0})
    with classes(FileSpout, Collected):
        if engine == SPARK:
            run = SparkRun(topology, folder / "checkpoint")
            batches = run.run()
            for step in steps:
                step(path)
                for _ in range(BATCHES):
                    next(batches)
            return [row[0] for row in run.last_rows]
        with TopologyTester(topology, config={keys.RELIABILITY_MODE: engine}) as tester:
            for step in steps:
                step(path)
                tester.run_spouts(TURNS)
            (last,) = tester.component(SINK)
            return [row[0] for row in last.rows]


def adding(text: str) -> Callable[[Path], object]:
    def step(path: Path) -> None:
        with path.open("a") as file:
            file.write(text)

    return step


def replacing(text: str) -> Callable[[Path], object]:
    """In the same file, as `>` of a shell does."""
    return lambda path: path.write_text(text)


def renaming(path: Path) -> None:
    path.rename(path.with_name("app.log.1"))


def copying(text: str) -> Callable[[Path], object]:
    """As `copytruncate` does, with a write before the next poll."""

    def step(path: Path) -> None:
        shutil.copyfile(path, path.with_name("app.log.1"))
        path.write_text(text)

    return step


# --- followed files -------------------------------------------------------------------------------


@reported("fluent/fluent-bit#359", "vectordotdev/vector#23619")
def a_file_that_is_written_anew_is_read_once(folder: Path, engine: str) -> None:
    longer = "".join(f"{number}\n" for number in range(10, 20))
    found = followed(folder, engine, adding("1\n2\n"), replacing(longer))
    assert found == ["1", "2", *map(str, range(10, 20))]


@reported("elastic/beats#45300", "elastic/beats#39731", "fluent/fluent-bit#375")
def a_file_that_is_copied_and_emptied_is_read_once(folder: Path, engine: str) -> None:
    found = followed(folder, engine, adding("1\n2\n"), copying("3\n"), adding("4\n"))
    assert found == ["1", "2", "3", "4"]


@reported("logstash-plugins/logstash-input-file#222")
def what_was_not_read_of_an_emptied_file_is_read_of_its_copy(folder: Path, engine: str) -> None:
    def late(path: Path) -> None:
        adding("2\n3\n")(path)
        copying("4\n5\n6\n")(path)

    assert followed(folder, engine, adding("1\n"), late) == ["1", "2", "3", "4", "5", "6"]


@reported("elastic/beats#1956", "vectordotdev/vector#445")
def lines_of_both_files_of_a_rotation_are_read(folder: Path, engine: str) -> None:
    def rotated(path: Path) -> None:
        adding("2\n")(path)
        renaming(path)
        adding("3\n")(path)

    assert followed(folder, engine, adding("1\n"), rotated) == ["1", "2", "3"]


@reported("elastic/beats#1341", "elastic/beats#6984", "vectordotdev/vector#1912")
def a_file_that_gets_the_inode_of_another_one_is_read_whole(folder: Path, engine: str) -> None:
    def replaced(path: Path) -> None:
        path.unlink()
        adding("3\n4\n5\n")(path)

    assert followed(folder, engine, adding("1\n2\n"), replaced) == ["1", "2", "3", "4", "5"]


@reported("vectordotdev/vector#25079", "elastic/beats#51417")
def files_that_begin_with_one_header_are_told_apart(folder: Path, engine: str) -> None:
    def rotated(path: Path) -> None:
        renaming(path)
        adding(f"{HEADER}3\n")(path)

    found = followed(folder, engine, adding(f"{HEADER}1\n2\n"), rotated, copying(f"{HEADER}4\n"))
    assert found == [HEADER.strip(), "1", "2", HEADER.strip(), "3", HEADER.strip(), "4"]


@reported("vectordotdev/vector#10025")
def a_first_line_that_comes_in_parts_is_read_whole(folder: Path, engine: str) -> None:
    steps = [adding(each) for each in (HEADER[:4], HEADER[4:-1], "\n1\n")]
    assert followed(folder, engine, *steps) == [HEADER.strip(), "1"]


@reported("fluent/fluent-bit#1712")
def the_new_file_is_read_though_the_old_one_stays(folder: Path, engine: str) -> None:
    found = followed(folder, engine, adding("1\n"), renaming, adding("2\n"), adding("3\n"))
    assert found == ["1", "2", "3"]


@reported("vectordotdev/vector#13193")
def compressed_files_that_begin_alike_are_read_each(folder: Path, engine: str) -> None:
    for name, text in (("a", f"{HEADER}1\n"), ("b", f"{HEADER}2\n")):
        (folder / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    config = {"library.file.path": str(folder / "*.gz"), "library.file.follow": True}
    topology = reading(["line"], {**config, "library.file.follow.secs": 0})
    with classes(FileSpout, Collected):
        if engine == SPARK:
            run = SparkRun(topology, folder / "checkpoint")
            batches = run.run()
            for _ in range(BATCHES):
                next(batches)
            rows = run.last_rows
        else:
            with TopologyTester(topology, config={keys.RELIABILITY_MODE: engine}) as tester:
                tester.run_spouts(TURNS)
                (last,) = tester.component(SINK)
                rows = last.rows
    assert [row[0] for row in rows] == [HEADER.strip(), "1", HEADER.strip(), "2"]


# --- rules of Delta tables ------------------------------------------------------------------------


@reported("delta-io/delta-rs#4183", "delta-io/delta#1714")
def none_in_a_column_with_a_constraint_costs_its_row(folder: Path, engine: str) -> None:
    kinds = [arrow.field("id", arrow.int64()), arrow.field("value", arrow.float64())]
    table = DeltaTable.create(str(folder / "out"), arrow.schema(kinds))
    table.alter.add_constraint({"positive": "value >= 0"})
    ended = put(folder, engine, DeltaSink, [[1, 200.0], [2, None], [3, 1.0]])
    assert ended.failed == 1, str(ended)
    assert [row["id"] for row in delta(folder)] == [1, 3]


@reported("delta-io/delta#1239")
def a_value_that_an_invariant_of_its_column_refuses_costs_its_row(
    folder: Path, engine: str
) -> None:
    invariant = {"delta.invariants": '{"expression": {"expression": "value > 3"}}'}
    fields = [
        Field("id", PrimitiveType("long")),
        Field("value", PrimitiveType("long"), metadata=invariant),
    ]
    DeltaTable.create(str(folder / "out"), Schema(fields))
    ended = put(folder, engine, DeltaSink, [[1, 4], [2, 2], [3, 5]])
    assert ended.failed == 1, str(ended)
    assert [row["id"] for row in delta(folder)] == [1, 3]


@reported("malon64/floe#99")
def none_is_appended_to_a_column_that_had_none_of_it(folder: Path, engine: str) -> None:
    held(put(folder, engine, DeltaSink, [[1, "a"]]))
    held(put(folder, engine, DeltaSink, [[2, None]]))
    assert [row["value"] for row in delta(folder)] == ["a", None]


@pytest.mark.parametrize("engine", [keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE, SPARK])
@pytest.mark.parametrize(
    "report", dict.fromkeys(each for _, each in REPORTS), ids=lambda each: each.__name__
)
def test_what_was_reported_elsewhere_holds_here(
    report: Report, engine: str, tmp_path: Path
) -> None:
    report(tmp_path, engine)


def test_each_report_is_tried_once() -> None:
    names = [name for name, _ in REPORTS]
    assert len(names) == len(set(names))
