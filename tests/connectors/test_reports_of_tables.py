"""Public reports about file sources and sinks of Flink, file sources of PySpark and pyiceberg, each
reduced to its steps and the right result, and tried here. References name the report."""

import gzip
import os
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as arrow
import pytest
from pyarrow import parquet
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType, NestedField, StringType, StructType

from heron_connectors.files.spout import FileSpout
from heron_connectors.iceberg.sink import IcebergSink
from heron_connectors.tables.source import TableSpout
from heron_core import config as keys
from heron_core.errors import ComponentError
from heronpy_compat import Spout
from heronpy_compat.testing import TopologyTester
from tests.connectors.reports_support import Report, Reports
from tests.connectors.runs import (
    SINK,
    SOURCE,
    SPARK,
    Collected,
    Ended,
    SparkRun,
    classes,
    natively,
    on_spark,
    reading,
)
from tests.connectors.sink_trials import write
from tests.connectors.sinks import SINKS, Store

pytestmark = [
    # What is killed closes nothing.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
reported = Reports()
ICEBERG = next(each for each in SINKS if each.kind is IcebergSink)
TABLE = "test.rows"
TURNS = 12
"""Of a spout, for what a step has done."""
BATCHES = 3


def kind_of(spout: type[Spout], outputs: Sequence[str]) -> type[Spout]:
    return type("Source", (spout,), {"outputs": list(outputs)})


def rows_of(
    path: Path, engine: str, *columns: str, types: Sequence[str] = (), **more: Any
) -> tuple[Ended, list[list[Any]]]:
    """Output of a TableSpout over a file or a folder, to its end."""
    config = {f"table.{name}": value for name, value in more.items()}
    config |= {"table.path": str(path), "table.columns": list(columns)}
    topology = reading(columns, config, types)
    with classes(kind_of(TableSpout, columns), Collected):
        if engine == SPARK:
            return on_spark(topology, path.parent / "checkpoint")
        return natively(topology, engine)


def good_rows(*arguments: Any, **more: Any) -> list[list[Any]]:
    """Rows of a readable table."""
    ended, rows = rows_of(*arguments, **more)
    assert ended == Ended(), str(ended)
    return rows


def followed(folder: Path, engine: str, *steps: Any) -> list[Any]:
    """Numbers read by a TableSpout that follows the folder, after all steps."""
    (folder / "in").mkdir()
    config = {"table.path": str(folder / "in"), "table.columns": ["id"], "table.follow": True}
    topology = reading(["id"], {**config, "table.follow.secs": 0, "table.format": "parquet"})
    with classes(kind_of(TableSpout, ["id"]), Collected):
        if engine == SPARK:
            run = SparkRun(topology, folder / "checkpoint")
            batches = run.run()
            for step in steps:
                step(folder / "in")
                for _ in range(BATCHES):
                    next(batches)
            return [row[0] for row in run.last_rows]
        with TopologyTester(topology, config={keys.RELIABILITY_MODE: engine}) as tester:
            for step in steps:
                step(folder / "in")
                tester.run_spouts(TURNS)
            (last,) = tester.component(SINK)
            return [row[0] for row in last.rows]


def file_of(name: str, *numbers: int, changed: float | None = None) -> Any:
    """A step: such a file appears, as a whole."""

    def step(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        beside = path.with_name(f".{path.name}")
        parquet.write_table(arrow.table({"id": list(numbers)}), beside)
        if changed is not None:
            os.utime(beside, (changed, changed))
        beside.rename(path)

    return step


# --- file sources of Flink and Spark --------------------------------------------------------------


@reported("apache/flink#6613")
def a_file_that_is_older_than_those_before_it_is_read(folder: Path, engine: str) -> None:
    found = followed(
        folder, engine, file_of("a.parquet", 1, changed=2e9), file_of("b.parquet", 2, changed=1e9)
    )
    assert found == [1, 2]


@reported("apache/flink#2198", "apache/spark#23782", "apache/spark#3419")
def a_file_that_is_touched_is_not_read_again(folder: Path, engine: str) -> None:
    def touched(inside: Path) -> None:
        os.utime(inside / "a.parquet", (2e9, 2e9))

    steps = [file_of("a.parquet", 1), touched, file_of("b.parquet", 2), touched]
    assert followed(folder, engine, *steps) == [1, 2]


@reported("apache/spark#17120")
def files_of_one_name_in_two_folders_are_both_read(folder: Path, engine: str) -> None:
    steps = [file_of("x/rows.parquet", 1), file_of("y/rows.parquet", 2)]
    assert followed(folder, engine, *steps) == [1, 2]


@reported("apache/flink#18299", "apache/flink#14174")
def a_compressed_file_is_read_on_where_it_was(folder: Path, engine: str) -> None:
    path = folder / "lines.txt.gz"
    lines = [f"line {number}" for number in range(9)]
    path.write_bytes(gzip.compress("".join(f"{each}\n" for each in lines).encode()))
    topology = reading(["line"], {"library.file.path": str(path)})
    with classes(kind_of(FileSpout, ["line"]), Collected):
        if engine == SPARK:
            run = SparkRun(topology, folder / "checkpoint", 2)
            for number in run.run():
                if number == 1:
                    run.restart()
            found = run.last_rows
        else:
            with TopologyTester(topology, config={keys.RELIABILITY_MODE: engine}) as tester:
                tester.run_spouts(4)
                if engine == keys.EFFECTIVELY_ONCE:
                    tester.checkpoint()
                    tester.run_spouts(2)
                    tester.crash(SOURCE)
                tester.run_spouts()
                (last,) = tester.component(SINK)
                found = last.rows
    assert [row[0] for row in found] == lines


@reported("apache/flink#10573")
def lines_longer_than_any_buffer_are_whole(folder: Path, engine: str) -> None:
    lines = ["a" * (1 << 16), "b" * ((1 << 20) + 1), "", "ü" * 70_001, "the last one has no end"]
    path = folder / "lines.txt"
    path.write_text("\n".join(lines), "utf-8")
    topology = reading(["line"], {"library.file.path": str(path)})
    with classes(kind_of(FileSpout, ["line"]), Collected):
        if engine == SPARK:
            ended, found = on_spark(topology, folder / "checkpoint")
        else:
            ended, found = natively(topology, engine)
    assert ended == Ended()
    assert [row[0] for row in found] == lines


@reported(
    "hazelcast/hazelcast#22221", "apache/flink#9884", "databricks/spark-csv#425",
    "databricks/spark-csv#433", "apache/spark#57608",
)  # fmt: skip
def a_value_in_quotes_may_have_line_ends(folder: Path, engine: str) -> None:
    (folder / "rows.csv").write_bytes(
        b'id,text\r\n1,"two\nlines"\r\n2,"x, ""y""\r\n\r\nz"\r\n3,\r\n'
    )
    found = good_rows(folder / "rows.csv", engine, "id", "text")
    assert found == [[1, "two\nlines"], [2, 'x, "y"\r\n\r\nz'], [3, ""]]


@reported("apache/flink#5514")
def a_damaged_file_is_named_and_the_rest_is_read_without_it(folder: Path, engine: str) -> None:
    inside = folder / "in"
    inside.mkdir()
    for number in (1, 3):
        file_of(f"{number}.parquet", number)(inside)
    (inside / "2.parquet").write_bytes(b"PAR1 no such file PAR1")
    try:
        ended, _ = rows_of(inside, engine, "id")
    except ComponentError as error:
        ended = Ended([str(error)], 0, True)
    assert any("2.parquet" in each for each in ended.errors), str(ended)
    (inside / "2.parquet").unlink()
    assert good_rows(folder / "in", engine, "id") == [[1], [3]]


@reported("apache/spark#13007", "apache/spark#13041")
def names_of_columns_may_be_empty_or_have_line_ends(folder: Path, engine: str) -> None:
    (folder / "rows.csv").write_text('"",second,"third\none"\nhello,there,1\n')
    found = good_rows(folder / "rows.csv", engine, "second", "third\none")
    assert found == [["there", 1]]


@reported("apache/spark#38446", "databricks/spark-csv#390")
def a_backslash_is_a_character_like_others(folder: Path, engine: str) -> None:
    (folder / "rows.csv").write_text('id,text\n1,"test\\\\\\\\"\n2,a\\,b\n')
    ended, found = rows_of(folder / "rows.csv", engine, "id", "text")
    assert found == [[1, "test\\\\\\\\"]]
    assert len(ended.errors) == 1, "a comma outside of quotes is one: the row has three values"


@reported("apache/spark#9211", "apache/spark#23665", "twitter/scalding#966")
def blank_lines_are_no_rows_of_json(folder: Path, engine: str) -> None:
    (folder / "rows.jsonl").write_text('\n{"id": 1}\n\n  \n{"id": 2}\n\n')
    assert good_rows(folder / "rows.jsonl", engine, "id") == [[1], [2]]


@reported("apache/spark#22938", "apache/spark#14929", "apache/spark#11756")
def a_line_that_is_no_json_is_told_and_is_no_row_of_nulls(folder: Path, engine: str) -> None:
    (folder / "rows.jsonl").write_text('{"id": 1}\n{"a":{, b:3}\n[1]\n{"id": 2}\n')
    ended, found = rows_of(folder / "rows.jsonl", engine, "id")
    assert found == [[1], [2]]
    assert ended.errors
    if engine != SPARK:
        assert len(ended.errors) == 2, str(ended)


@reported("databricks/spark-csv#216", "databricks/spark-csv#415", "apache/spark#14118")
def a_column_of_numbers_with_gaps_is_one_of_numbers(folder: Path, engine: str) -> None:
    (folder / "rows.csv").write_text("A,B,C,D\n1,,,\n,1.5,,\n,,true,\n,,,2026-01-02\n")
    found = good_rows(folder / "rows.csv", engine, "A", "B", "C", "D")
    assert found == [
        [1, None, None, None], [None, 1.5, None, None], [None, None, True, None],
        [None, None, None, date(2026, 1, 2)],
    ]  # fmt: skip


@reported("databricks/spark-csv#192", "databricks/spark-csv#290")
def null_in_a_column_of_numbers_is_none(folder: Path, engine: str) -> None:
    (folder / "rows.csv").write_text("id,price\n1,304\n2,null\n3,NULL\n")
    found = good_rows(folder / "rows.csv", engine, "id", "price", types=("bigint", "bigint"))
    assert found == [[1, 304], [2, None], [3, None]]


@reported("apache/iceberg#6779", "apache/spark#55884", "apache/spark#20621", "apache/spark#31549")
def what_a_folder_names_is_never_changed(folder: Path, engine: str) -> None:
    values = {"hour": ["01", "2"], "zip": ["000123", "7"], "day": ["2018-02-15AAA", "2018-02-15"]}
    values |= {"part": ["-0", "1"]}
    for column, names in values.items():
        for number, name in enumerate(names):
            inside = folder / column / f"{column}={name}"
            inside.mkdir(parents=True)
            parquet.write_table(arrow.table({"id": [number]}), inside / "rows.parquet")
        found = good_rows(folder / column, engine, "id", column)
        assert sorted(found, key=lambda row: row[0]) == [[0, names[0]], [1, names[1]]]
        (folder / "checkpoint").rename(folder / f"{column}-checkpoint") if engine == SPARK else None


@reported("apache/spark#22374")
def a_file_that_begins_with_something_else_is_told(folder: Path, engine: str) -> None:
    (folder / "rows.csv").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1id\n1\n")
    try:
        ended, found = rows_of(folder / "rows.csv", engine, "id")
    except ComponentError as error:
        ended, found = Ended([str(error)], 0, True), []
    assert found == []
    assert ended.errors


# --- pyiceberg ------------------------------------------------------------------------------------


class Table:
    """A table of a catalog in a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/warehouse",
        }
        self._config = {"iceberg.table": TABLE, "iceberg.catalog.properties": properties}
        self.catalog = load_catalog("default", **properties)
        self._runs = 0

    def made(self, *fields: NestedField, **more: Any) -> None:
        self.catalog.create_namespace_if_not_exists("test")
        self.catalog.create_table(TABLE, Schema(*fields), **more)

    def put(self, engine: str, rows: Sequence[Any], fields: Any = None, **more: Any) -> Ended:
        """Rows of a run of its own."""
        self._runs += 1
        config = {f"iceberg.{name.replace('_', '.')}": value for name, value in more.items()}
        store = Store({**self._config, **config}, list)
        columns = fields or {"id": None, "value": None}
        return write(ICEBERG, store, rows, columns, engine, self._folder / f"run-{self._runs}")

    def rows(self) -> list[dict[str, Any]]:
        found = self.catalog.load_table(TABLE).scan().to_arrow().sort_by("id")
        return list(found.to_pylist())

    def values(self) -> list[Any]:
        return [row["value"] for row in self.rows()]


def held(ended: Ended) -> None:
    assert not ended.failed, str(ended)


@reported("apache/iceberg-python#863", "apache/iceberg-python#2270")
def times_of_any_zone_are_the_same_instants(folder: Path, engine: str) -> None:
    table, noon = Table(folder), datetime(2024, 6, 27, 12, tzinfo=UTC)
    zones = [ZoneInfo("Etc/UTC"), ZoneInfo("America/New_York"), timezone(timedelta(hours=5.5))]
    rows = [[number, noon.astimezone(each)] for number, each in enumerate(zones)]
    held(table.put(engine, rows))
    assert table.values() == [noon] * 3


@reported("apache/iceberg-python#3127", "apache/paimon#9455")
def a_declared_type_of_nanoseconds_is_refused_and_not_cut(folder: Path, engine: str) -> None:
    kind = {"value": "timestamp[ns, tz=US/Pacific]"}
    try:
        ended = Table(folder).put(engine, [[1, datetime(2024, 6, 27, tzinfo=UTC)]], types=kind)
    except ComponentError as error:
        ended = Ended([str(error)], 0, True)
    assert ended.was_refused
    assert any("'value'" in each for each in ended.errors), str(ended)


@reported("apache/iceberg-go#398", "apache/iceberg-python#1255")
def no_struct_is_none_though_its_fields_are_required(folder: Path, engine: str) -> None:
    table = Table(folder)
    struct = StructType(NestedField(3, "a", StringType(), required=True))
    table.made(NestedField(1, "id", LongType()), NestedField(2, "value", struct))
    ended = table.put(engine, [[1, {"a": "x"}], [2, None], [3, {"a": None}]])
    assert ended.failed == 1, str(ended)
    assert table.values() == [{"a": "x"}, None]


@reported("apache/iceberg#510", "apache/iceberg#457", "apache/iceberg-python#674")
def a_required_column_takes_rows_of_a_stream_without_types(folder: Path, engine: str) -> None:
    table = Table(folder)
    table.made(
        NestedField(1, "value", StringType(), required=True),
        NestedField(2, "id", LongType(), required=True),
    )
    for number in range(2):
        held(table.put(engine, [[number, "x"]]))
    assert table.values() == ["x", "x"]


@reported("apache/iceberg#13019", "apache/iceberg#7783", "StarRocks/starrocks#43321")
def rows_without_a_value_to_divide_by_are_there(folder: Path, engine: str) -> None:
    table = Table(folder)
    spec = PartitionSpec(PartitionField(2, 1000, BucketTransform(4), "bucket"))
    table.made(
        NestedField(1, "id", LongType()), NestedField(2, "value", StringType()), partition_spec=spec
    )
    held(table.put(engine, [[1, "a"], [2, None], [3, None]]))
    held(table.put(engine, [[4, None]]))
    assert table.values() == ["a", None, None, None]


@reported(
    "apache/iceberg-python#669", "apache/iceberg-python#1979", "apache/iceberg-python#1789",
    "apache/iceberg#9350", "StarRocks/starrocks#66071",
)  # fmt: skip
def decimals_of_every_width_come_back(folder: Path, engine: str) -> None:
    cases = [
        ("decimal(38,0)", "32768"), ("decimal(8,2)", "-123456.78"), ("decimal(16,2)", "3.1"),
        ("decimal(24,3)", "9" * 21 + ".999"), ("decimal(38,38)", "0." + "9" * 38),
    ]  # fmt: skip
    table = Table(folder)
    fields = {"id": "bigint"} | {f"c{at}": kind for at, (kind, _) in enumerate(cases)}
    values = [Decimal(text) for _, text in cases]
    held(table.put(engine, [[1, *values], [2, *[None] * len(cases)]], fields))
    found = table.rows()
    assert list(found[0].values())[1:] == values
    assert list(found[1].values())[1:] == [None] * len(cases)


@reported("apache/iceberg-python#751")
def decimals_of_other_scales_beside_each_other_keep_theirs(folder: Path, engine: str) -> None:
    table = Table(folder)
    fields = {"id": "bigint", "a": "decimal(32,16)", "b": "decimal(32,2)"}
    for number in range(2):
        held(table.put(engine, [[number, Decimal("1.5"), Decimal("2.25")]], fields))
    kinds = [str(each.field_type) for each in table.catalog.load_table(TABLE).schema().fields]
    assert kinds == ["long", "decimal(32, 16)", "decimal(32, 2)"]


@reported("apache/iceberg-python#584", "apache/iceberg-python#109", "ClickHouse/ClickHouse#73829")
def columns_of_any_name_come_back(folder: Path, engine: str) -> None:
    table = Table(folder)
    names = ["TEST:A1B2.RAW.ABC-GG-1-A", "$data", "my/data", "größe", "a key"]
    fields = dict.fromkeys(["id", *names])
    held(table.put(engine, [[1, *names]], fields))
    assert [table.rows()[0][each] for each in names] == names


@reported("apache/iceberg-python#2123", "duckdb/duckdb-iceberg#1401")
def a_table_is_divided_by_a_column_of_any_name(folder: Path, engine: str) -> None:
    for number, name in enumerate(["a key", "a.b", "1st", "größe"]):
        table = Table(folder / str(number))
        held(
            table.put(engine, [[1, "x"], [2, None]], {"id": None, name: None}, partition_by=[name])
        )
        assert [row[name] for row in table.rows()] == ["x", None], name


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durability of the disk is out of scope here, and takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


@reported.on_each_engine
def test_what_was_reported_elsewhere_holds_here(
    report: Report, engine: str, tmp_path: Path
) -> None:
    report(tmp_path, engine)


def test_each_report_is_tried_once() -> None:
    reported.check_each_once()
