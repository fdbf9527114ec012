"""Public reports about sinks and sources elsewhere, each reduced to its steps and the right result,
and tried here on each engine. References name the report."""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pytest
from deltalake import DeltaTable, write_deltalake
from pyarrow import dataset

from heron_connectors.delta import DeltaSink
from heron_connectors.files.parquet import ParquetSink
from heron_connectors.files.sink import FileSink
from heron_connectors.two_phase import WriteAheadSink
from heron_core import config as keys
from heronpy_compat.testing import TopologyTester, check_two_phase_sink
from tests.connectors.fake_kafka import client_in_memory
from tests.connectors.runs import (
    NATIVE,
    SINK,
    SOURCE,
    SPARK,
    Collected,
    Ended,
    classes,
    given,
    reading,
    sinking,
)
from tests.connectors.sink_trials import killed_on_spark, time_zone, write
from tests.connectors.sinks import SINKS, SinkEntry, Store
from tests.connectors.source_trials import read
from tests.connectors.sources import SOURCES

ENTRIES = {each.name: each for each in SINKS}
SOURCE_ENTRIES = {each.name: each for each in SOURCES}
LATER = datetime(2023, 2, 2, 2, 2, 2, tzinfo=UTC)
Report = Callable[[Path, str], None]
REPORTS: list[tuple[str, Report]] = []
pytestmark = [
    # Killed connections are not closed.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def reported(*references: str) -> Callable[[Report], Report]:
    def add(report: Report) -> Report:
        REPORTS.extend((each, report) for each in references)
        return report

    return add


def put(
    folder: Path,
    engine: str,
    kind: type,
    rows: Sequence[Any],
    fields: dict[str, str | None] | None = None,
    **config: Any,
) -> Ended:
    """Rows with the fields id and value, of a run of its own, into `folder/out`."""
    where = "delta.table" if kind is DeltaSink else f"{kind.__name__[:-4].lower()}.folder"
    settings = {name.replace("_", "."): each for name, each in config.items()}
    entry = SinkEntry("", kind, ENTRIES["DeltaSink"].opened)
    store = Store({where: str(folder / "out"), **settings}, list)
    run = folder / f"run-{len(list(folder.glob('run-*')))}"
    run.mkdir(parents=True)
    return write(entry, store, rows, fields or {"id": None, "value": None}, engine, run)


def delta(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(folder / "out")).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def hive(folder: Path) -> list[dict[str, Any]]:
    table = dataset.dataset(folder / "out", format="parquet", partitioning="hive").to_table()
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def held(ended: Ended) -> None:
    assert not ended.failed, str(ended)


# --- types ----------------------------------------------------------------------------------------


@reported("delta-io/delta-rs#1777", "risingwavelabs/risingwave#13153", "pola-rs/polars#10633")
def times_with_a_zone_are_appended_again_and_again(folder: Path, engine: str) -> None:
    for number in (1, 2):
        held(put(folder, engine, DeltaSink, [[number, LATER]]))
    assert [row["value"] for row in delta(folder)] == [LATER, LATER]
    kind = DeltaTable(str(folder / "out")).to_pyarrow_table().schema.field("value").type
    assert str(kind) == "timestamp[us, tz=UTC]"


@reported("delta-io/delta-rs#3891", "delta-io/delta#1855")
def a_column_without_any_value_is_appended(folder: Path, engine: str) -> None:
    fields: dict[str, str | None] = {"id": "bigint", "value": "string"}
    held(put(folder, engine, DeltaSink, [[1, "a"]], fields))
    held(put(folder, engine, DeltaSink, [[2, None], [3, None]]))
    held(put(folder, engine, DeltaSink, [[4, None, None]], {**fields, "more": "bigint"}))
    assert [row["value"] for row in delta(folder)] == ["a", None, None, None]
    assert all(row["more"] is None for row in delta(folder))


@reported("delta-io/delta-rs#686", "delta-io/delta-rs#685", "delta-io/delta-rs#1455")
def times_of_other_precision_go_into_a_table_that_is_there(folder: Path, engine: str) -> None:
    made = arrow.table({"id": [1], "value": arrow.array([LATER], arrow.timestamp("us", "UTC"))})
    write_deltalake(str(folder / "out"), made)
    held(put(folder, engine, DeltaSink, [[2, LATER]], {"id": "bigint", "value": "timestamp"}))
    assert [row["value"] for row in delta(folder)] == [LATER, LATER]


@reported("delta-io/delta#2248")
def a_struct_that_is_none_stays_none_when_a_field_is_added(folder: Path, engine: str) -> None:
    held(put(folder, engine, DeltaSink, [[1, {"a": 1}], [2, None]]))
    wider: dict[str, str | None] = {"id": "bigint", "value": "struct<a: bigint, b: bigint>"}
    held(put(folder, engine, DeltaSink, [[3, {"a": 3, "b": 4}], [4, None]], wider))
    assert [row["value"] for row in delta(folder)] == [
        {"a": 1, "b": None}, None, {"a": 3, "b": 4}, None,
    ]  # fmt: skip


@reported("delta-io/delta-rs#2991")
def none_in_a_column_that_must_have_values_is_told(folder: Path, engine: str) -> None:
    schema = arrow.schema(
        [arrow.field("id", arrow.int64(), False), arrow.field("value", arrow.bool_(), False)]
    )
    DeltaTable.create(str(folder / "out"), schema)
    ended = put(folder, engine, DeltaSink, [[1, True], [2, None]])
    assert ended.failed or ended.was_refused or ended.errors, str(ended)
    assert {row["value"] for row in delta(folder)} <= {True}


@reported("delta-io/delta-rs#3909", "delta-io/delta-rs#2974", "delta-io/delta-rs#2510")
def decimals_that_just_fit_come_back(folder: Path, engine: str) -> None:
    cases = (("decimal(1,0)", "1"), ("decimal(38,6)", "9" * 32 + "." + "9" * 6))
    for name, (kind, text) in enumerate(cases):
        fields: dict[str, str | None] = {"id": "bigint", "value": kind}
        held(put(folder / str(name), engine, DeltaSink, [[1, Decimal(text)]], fields))
        assert [row["value"] for row in delta(folder / str(name))] == [Decimal(text)]


@reported("risingwavelabs/risingwave#15549", "risingwavelabs/risingwave#16352")
def decimals_in_lists_come_back(folder: Path, engine: str) -> None:
    fields: dict[str, str | None] = {"id": "bigint", "value": "array<decimal(10,2)>"}
    rows = [[1, [Decimal("1.10"), None]], [2, []], [3, None]]
    held(put(folder, engine, DeltaSink, rows, fields))
    assert [row["value"] for row in delta(folder)] == [[Decimal("1.10"), None], [], None]


@reported("delta-io/delta-rs#3877")
def a_date_comes_back(folder: Path, engine: str) -> None:
    held(put(folder, engine, DeltaSink, [[1, date(2025, 10, 20)]]))
    assert [row["value"] for row in delta(folder)] == [date(2025, 10, 20)]


@reported("ModelarData/ModelarDB-RS#187")
def a_number_of_64_bits_without_a_sign_costs_its_row(folder: Path, engine: str) -> None:
    ended = put(folder, engine, DeltaSink, [[1, 7], [2, 11069825858223412227], [3, 8]])
    assert ended.failed == 1
    assert [row["value"] for row in delta(folder)] == [7, 8]


@reported("apache/spark#8555", "apache/spark#28946", "apache/spark#39426")
def a_time_is_the_same_wherever_the_process_is(folder: Path, engine: str) -> None:
    east = datetime(2018, 6, 1, 9, tzinfo=timezone(timedelta(hours=8)))
    for number, zone in enumerate(("UTC", "Asia/Shanghai", "America/New_York")):
        with time_zone(zone):
            held(put(folder, engine, DeltaSink, [[number, east]]))
    assert [row["value"] for row in delta(folder)] == [east] * 3


@reported("narwhals-dev/narwhals#2793")
def a_time_without_a_zone_gets_none(folder: Path, engine: str) -> None:
    held(put(folder, engine, DeltaSink, [[1, datetime(2021, 3, 1, 1, 2, 3)]]))
    assert [row["value"] for row in delta(folder)] == [datetime(2021, 3, 1, 1, 2, 3)]


@reported("DataDog/integrations-core#23224")
def decimals_and_times_are_written_as_json(folder: Path, engine: str) -> None:
    day = date(2026, 4, 8)
    held(put(folder, engine, FileSink, [[1, Decimal("1.10")], [2, day]], file_format="json"))
    text = "".join(each.read_text() for each in (folder / "out").glob("part-*"))
    assert text == '{"id": 1, "value": "1.10"}\n{"id": 2, "value": "2026-04-08"}\n'


# --- partitions -----------------------------------------------------------------------------------


@reported("quixio/quix-streams#1103", "spiceai/spiceai#4264")
def rows_without_a_partition_are_there(folder: Path, engine: str) -> None:
    rows = [[1, "a"], [2, None], [3, None]]
    held(put(folder, engine, ParquetSink, rows, parquet_partition_by=["value"]))
    assert [(row["id"], row["value"]) for row in hive(folder)] == [(1, "a"), (2, None), (3, None)]


@reported("apache/spark#24334", "delta-io/delta#2100", "apache/paimon#6662")
def an_empty_text_is_never_taken_for_none(folder: Path, engine: str) -> None:
    rows = [[1, "a"], [2, ""], [3, None]]
    ended = put(folder, engine, ParquetSink, rows, parquet_partition_by=["value"])
    assert ended.failed == 1
    assert [(row["id"], row["value"]) for row in hive(folder)] == [(1, "a"), (3, None)]


@reported("apache/spark#36810")
def numbers_and_none_are_partitions_together(folder: Path, engine: str) -> None:
    rows = [[1, 7], [2, None], [3, 7]]
    held(put(folder, engine, ParquetSink, rows, parquet_partition_by=["value"]))
    assert [(row["id"], row["value"]) for row in hive(folder)] == [(1, 7), (2, None), (3, 7)]


@reported("delta-io/delta-rs#3013", "delta-io/delta-rs#4292")
def a_partitioned_table_takes_other_rows_later(folder: Path, engine: str) -> None:
    for number, day in ((1, date(2024, 11, 25)), (2, date(2024, 11, 26))):
        rows = [[number, day]]
        held(put(folder, engine, DeltaSink, rows, delta_partition_by=["value"]))
    assert [row["value"] for row in delta(folder)] == [date(2024, 11, 25), date(2024, 11, 26)]


# --- runs, kills and commits ----------------------------------------------------------------------


@reported("apache/beam#26041")
def a_later_run_into_the_same_folder_replaces_no_file(folder: Path, engine: str) -> None:
    for number in range(3):
        held(put(folder, engine, FileSink, [[number, "x"]], file_format="json"))
    text = "".join(each.read_text() for each in (folder / "out").glob("part-*"))
    assert sorted(text.splitlines()) == [f'{{"id": {n}, "value": "x"}}' for n in range(3)]


class LostAnswers(WriteAheadSink):
    """Each second commit reaches the target, and its answer is lost."""

    committed: dict[str, list[Any]] = {}
    calls = 0

    def commit(self, prepared: Any, transaction_id: Any) -> None:
        cls = type(self)
        cls.calls += 1
        cls.committed.setdefault(str(transaction_id), list(prepared))
        if cls.calls % 2:
            raise OSError("connection reset")


@reported("redpanda-data/connect#4591", "MaterializeInc/materialize#38333")
def a_commit_whose_answer_is_lost_counts_once(folder: Path, engine: str) -> None:
    if engine != keys.EFFECTIVELY_ONCE:
        return  # a transaction that is repeated by the engine has another id, or ends the run
    sink: Any = type("Lost", (LostAnswers,), {"committed": {}})
    topology = sinking({"id": None}, sink, {})
    with (
        classes(given([[number] for number in range(4)]), sink),
        TopologyTester(topology, config={keys.RELIABILITY_MODE: engine}) as tester,
    ):
        for _ in range(4):
            tester.run_spouts(1)
            assert tester.checkpoint()
            tester.crash(SINK)
        tester.advance(60)
    rows = [row for each in sink.committed.values() for row in each]
    assert sorted(rows) == [[0], [1], [2], [3]]


@reported("apache/spark#25618", "ArroyoSystems/arroyo#224")
def a_kafka_sink_that_is_killed_in_a_commit_is_exact(folder: Path, engine: str) -> None:
    entry = ENTRIES["KafkaSink"]
    with client_in_memory():
        if engine == SPARK:
            assert killed_on_spark(entry, folder) == "exact"
            return
        store = entry.opened(folder, ("id", "value"))
        check_two_phase_sink(
            entry.kind,
            lambda: [row["id"] for row in store.rows()],
            fields=("id", "value"),
            row=lambda number: [number, "x"],
            config=store.config,
            other_modes=engine != keys.EFFECTIVELY_ONCE,
        )


@reported("apache/seatunnel#10574")
def a_table_that_is_mended_after_a_restore_has_all_rows(folder: Path, engine: str) -> None:
    entry = ENTRIES["DatabaseSink (sqlite)"]
    store = entry.opened(folder, ("id",))
    path = store.config["database.connect"]
    topology = sinking({"id": None}, entry.kind, {**store.config, "database.table": "later"})
    with (
        classes(given([[each] for each in range(4)]), entry.kind),
        TopologyTester(topology, config={keys.RELIABILITY_MODE: NATIVE[0]}) as tester,
    ):
        tester.run_spouts(1)
        assert not tester.checkpoint()  # its columns are not known
        assert any("has no table later" in each.text for each in tester.errors(SINK))
        changed(path, "CREATE TABLE later (id)")
        assert tester.checkpoint()
        changed(path, "DROP TABLE later")
        tester.run_spouts(1)
        assert tester.checkpoint()
        tester.crash(SINK)
        tester.run_spouts(2)
        changed(path, "CREATE TABLE later (id)")
        tester.advance(60)
        assert tester.checkpoint()
    with closing(sqlite3.connect(path)) as connection:
        assert [number for (number,) in connection.execute("SELECT id FROM later")] == [1, 2, 3]


def changed(path: str, statement: str) -> None:
    """The database, by one statement."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)


@reported("apache/iceberg#10892")
def numbers_of_checkpoints_that_begin_again_hide_no_commit(folder: Path, engine: str) -> None:
    """A new run counts its checkpoints from 1 where a previous run has committed 3 already."""
    for run in range(2):
        sink = DeltaSink
        topology = sinking({"id": None}, sink, {"delta.table": str(folder / "out")})
        with (
            classes(given([[3 * run + number] for number in range(3)]), sink),
            TopologyTester(topology, config={keys.RELIABILITY_MODE: NATIVE[0]}) as tester,
        ):
            for _ in range(3 - run):
                tester.run_spouts(1 + run)
                assert tester.checkpoint()
            tester.run_spouts()
            tester.finish()
    assert [row["id"] for row in delta(folder)] == list(range(6))


@reported("apache/flink#1830")
def an_instance_removes_nothing_of_one_whose_number_begins_alike(folder: Path, engine: str) -> None:
    out = folder / "out"
    out.mkdir()
    others = [".part-sink-00011-aa.0000000000001.pending", ".part-sink2-00000-a.1.pending"]
    for each in others:
        (out / each).write_text("of another instance")
    held(put(folder, engine, FileSink, [[1, "x"]], file_format="json"))
    assert {each.name for each in out.glob(".part-*.pending")} == set(others)


@reported("apache/flink#9597", "apache/seatunnel#9826")
def what_is_prepared_outlives_a_restore(folder: Path, engine: str) -> None:
    topology = sinking({"id": None}, FileSink, {"file.folder": str(folder / "out")})
    with (
        classes(given([[number] for number in range(6)]), FileSink),
        TopologyTester(topology, config={keys.RELIABILITY_MODE: NATIVE[0]}) as tester,
    ):
        for _ in range(3):
            tester.run_spouts(2)
            assert tester.checkpoint()
            tester.run_spouts(1)
            tester.crash(SINK)
        tester.run_spouts()
        tester.finish()
    text = "".join(each.read_text() for each in (folder / "out").glob("part-*"))
    assert sorted(map(int, text.split())) == list(range(6))


@reported("apache/hudi#10166", "apache/flink#14468", "apache/flink#3712")
def what_waits_at_the_end_of_the_data_is_there(folder: Path, engine: str) -> None:
    for number, entry in enumerate(SINKS):
        with client_in_memory():
            (folder / str(number)).mkdir(parents=True)
            store = entry.opened(folder / str(number), ("id", "value"))
            rows = [[each, "x"] for each in range(5)]
            fields = {"id": None, "value": None}
            held(write(entry, store, rows, fields, engine, folder / f"{number}-run"))
            assert sorted(row["id"] for row in store.rows()) == list(range(5)), entry.name


@reported("apache/flink#4459", "itinycheng/flink-connector-clickhouse#156")
def rows_that_a_database_does_not_take_are_told(folder: Path, engine: str) -> None:
    entry = ENTRIES["DatabaseSink (sqlite)"]
    store = entry.opened(folder, ("id", "value"))
    config = {**store.config, "database.table": "absent"}
    ended = write(
        entry, Store(config, list), [[1, "x"]], {"id": None, "value": None}, engine, folder
    )
    assert any("the database has no table absent" in each for each in ended.errors), str(ended)


@reported("StarRocks/starrocks-connector-for-apache-flink#105")
def a_run_that_is_stopped_commits_nothing_that_comes_again(folder: Path, engine: str) -> None:
    for number, entry in enumerate(SINKS):
        with client_in_memory():
            (folder / str(number)).mkdir()
            store = entry.opened(folder / str(number), ("id", "value"))
            topology = sinking({"id": None, "value": None}, entry.kind, store.config)
            with (
                classes(given([[each, "x"] for each in range(5)]), entry.kind),
                TopologyTester(topology, config={keys.RELIABILITY_MODE: NATIVE[0]}) as tester,
            ):
                tester.run_spouts(3)
                assert tester.checkpoint()
                tester.run_spouts(1)
            assert sorted(row["id"] for row in store.rows()) == [0, 1, 2], entry.name


# --- sources --------------------------------------------------------------------------------------


@reported("robinhood/faust#439")
def a_record_without_a_value_is_processed_like_others(folder: Path, engine: str) -> None:
    entry = SOURCE_ENTRIES["KafkaSpout (text)"]
    config = entry.filled(folder, ["a", None, "b"], None)
    ended, found = read(entry, config, engine, folder, 3)
    assert found == ["a", None, "b"], str(ended)


@reported("apache/iceberg#13536")
def records_from_before_the_first_run_are_read(folder: Path, engine: str) -> None:
    entry = SOURCE_ENTRIES["KafkaSpout (json)"]
    config = entry.filled(folder, [1, {"a": 2}, [3]], None)
    ended, found = read(entry, config, engine, folder, 3)
    assert found == [1, {"a": 2}, [3]], str(ended)


@reported("apache/iggy#3847", "confluentinc/librdkafka#2279")
def a_row_that_fails_comes_again(folder: Path, engine: str) -> None:
    if engine != keys.ATLEAST_ONCE:
        return  # the others have no acks: what a checkpoint or a batch covers is their question
    entry = SOURCE_ENTRIES["TableSpout (parquet)"]
    config = entry.filled(folder, [1, 2, 3], None)
    kind = type("Source", (entry.kind,), {"outputs": ["value"]})
    with (
        classes(kind, Collected),
        TopologyTester(
            reading(["value"], config), config={keys.RELIABILITY_MODE: engine}
        ) as tester,
    ):
        tester.fail(SINK, lambda tup: tup.values[0] == 2)
        tester.run_spouts()
        tester.advance(5)
        tester.run_spouts()
        (last,) = tester.component(SINK)
        assert sorted(row[0] for row in last.rows) == [1, 2, 3]
        assert len(tester.acked(SOURCE)) == 3


@pytest.fixture(autouse=True)
def no_power_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durability of the disk is out of scope here, and takes most of the time."""
    monkeypatch.setattr(os, "fsync", lambda file: None)


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
