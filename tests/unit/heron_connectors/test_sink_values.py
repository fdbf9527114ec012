"""A sink stores each value, or its tuple is reported, counted and not acked: values beyond tables,
folders and JSON, and declared types."""

import json
import math
import sqlite3
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as arrow
import pytest
from deltalake import DeltaTable
from pyarrow import dataset

from heron_connectors.database.sink import DatabaseSink
from heron_connectors.delta import DeltaSink
from heron_connectors.files.parquet import ParquetSink
from heron_connectors.files.sink import FileSink
from heron_connectors.kafka.records import bytes_of
from heron_core.errors import ComponentError
from heron_tester.errors import TesterError
from heronpy_compat import Spout, Stream, Topology
from heronpy_compat.testing import ComponentTester, TopologyTester

MODES = ("EFFECTIVELY_ONCE", "ATLEAST_ONCE", "ATMOST_ONCE")
TYPES = {
    "id": "bigint",
    "price": "decimal(10,2)",
    "who": "struct<name: string, age: int>",
}


class Rows(Spout):
    """Only its fields matter."""

    outputs = [Stream(fields=["id", "value"])]


class TypedRows(Spout):
    outputs = TYPES


def topology(kind: Any, mode: str, config: Mapping[str, Any], spout: Any = Rows) -> type[Topology]:
    settings = {"topology.reliability.mode": mode, **config}

    class Sinking(Topology):
        config = settings
        rows = spout.spec()
        sink = kind.spec(inputs=[rows])

    return Sinking


def write(
    kind: type, mode: str, config: Mapping[str, Any], rows: list[Any], spout: Any = Rows
) -> tuple[list[Any], list[str], int]:
    """Write rows, to the end of the run; (acked ids, errors, failed for good or to be replayed)."""
    with TopologyTester(topology(kind, mode, config, spout)) as tester:
        for row in rows:
            tester.feed("rows", row, tup_id=row[0], replays=0)
        tester.run()
        if mode == "EFFECTIVELY_ONCE":
            assert tester.checkpoint()
        tester.advance(10)
        tester.finish()
        errors = [each.text for each in tester.errors("sink")]
        failed = tester.metrics("sink")["failed"]
        return sorted(tester.acked("rows")), errors, failed


def files(folder: Path) -> Any:
    return dataset.dataset(folder, format="parquet", partitioning="hive").to_table().to_pylist()


# --- partitions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_partition_values_that_give_one_folder_share_it(tmp_path: Path, mode: str) -> None:
    day = date(2013, 1, 1)
    values = [1, "1", 2, day, str(day), None, Decimal(1)]
    config = {"parquet.folder": str(tmp_path), "parquet.partition.by": "value"}
    acked, errors, failed = write(
        ParquetSink, mode, config, [[at, x] for at, x in enumerate(values)]
    )
    assert (errors, failed) == ([], 0)
    assert acked == list(range(len(values)))
    found = files(tmp_path)
    assert sorted(row["id"] for row in found) == list(range(len(values)))
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_dir()) == [
        "value=1", "value=2", "value=2013-01-01", "value=__HIVE_DEFAULT_PARTITION__",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("x" * 300, "its folder's name would have 306 bytes, and 255 is the limit"),
        ("ü" * 100, "its folder's name would have 606 bytes"),
        ("", "that folder has the rows without a value"),
        ("__HIVE_DEFAULT_PARTITION__", "that folder has the rows without a value"),
        ("\ud83d", "half a character is not a folder's name"),
    ],
    ids=["long", "long-bytes", "empty", "name-of-none", "surrogate"],
)
def test_a_partition_value_without_a_folder_costs_its_row_alone(
    tmp_path: Path, kind: type, mode: str, value: str, problem: str
) -> None:
    name = "parquet.folder" if kind is ParquetSink else "delta.table"
    config = {name: str(tmp_path / "out"), f"{name.partition('.')[0]}.partition.by": ["value"]}
    rows = [[0, "a"], [1, value], [2, "b"]]
    _, errors, failed = write(kind, mode, config, rows)
    assert failed == 1
    assert any(problem in each for each in errors)
    assert ids_in(kind, tmp_path / "out") == [0, 2]


def ids_in(kind: type, folder: Path) -> list[int]:
    if kind is DeltaSink:
        table = DeltaTable(str(folder)).to_pyarrow_table()
    else:
        table = dataset.dataset(folder, format="parquet", partitioning="hive").to_table()
    return sorted(table.column("id").to_pylist())


def test_a_component_with_a_name_too_long_for_files_is_refused_at_once(tmp_path: Path) -> None:
    class Sinking(Topology):
        rows = Rows.spec()
        sink = FileSink.spec(name="s" * 200, inputs=[rows], config={"file.folder": str(tmp_path)})

    with pytest.raises((ComponentError, TesterError), match="is too long for files"):
        TopologyTester(Sinking).__enter__()


# --- JSON -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (math.nan, "value=nan has no JSON: Out of range float values"),
        ([1.0, -math.inf], "value=[1.0, -inf] has no JSON"),
        (b"bytes", "value=b'bytes' has no JSON: a bytes is not a value of JSON"),
        ({1, 2}, "a set is not a value of JSON"),
        ("\ud83d", "half a character (a lone surrogate) is not text"),
        ({1: "a", "1": "b"}, "two keys have the same text"),
        ({"deep": [{None: 0, "null": 1}]}, "two keys have the same text"),
    ],
    ids=["nan", "infinity", "bytes", "set", "surrogate", "keys", "deep-keys"],
)
def test_what_has_no_json_is_named_and_never_written(
    tmp_path: Path, mode: str, value: Any, problem: str
) -> None:
    config = {"file.folder": str(tmp_path), "file.format": "json"}
    _, errors, failed = write(FileSink, mode, config, [[0, "a"], [1, value], [2, "b"]])
    assert failed == 1
    assert any(problem in each for each in errors)
    assert [each["id"] for each in lines_in(tmp_path)] == [0, 2]


def lines_in(folder: Path) -> list[Any]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    texts = [each.read_text() for each in sorted(folder.glob("part-*"))]
    return [json.loads(line, parse_constant=refuse) for line in "".join(texts).splitlines()]


def test_json_has_the_text_of_what_it_has_no_type_for(tmp_path: Path) -> None:
    number = UUID(int=7)
    values = [Decimal("1.10"), datetime(2013, 1, 1, 5), date(2013, 1, 1), number, {"a": (1, None)}]
    config = {"file.folder": str(tmp_path), "file.format": "json"}
    write(FileSink, "EFFECTIVELY_ONCE", config, [[at, x] for at, x in enumerate(values)])
    assert [each["value"] for each in lines_in(tmp_path)] == [
        "1.10", "2013-01-01 05:00:00", "2013-01-01", str(number), {"a": [1, None]},
    ]  # fmt: skip


def test_a_kafka_record_is_json_as_well() -> None:
    assert bytes_of({"ü": [1, 2.5]}) == '{"ü": [1, 2.5]}'.encode()
    with pytest.raises(ValueError, match="has no JSON"):
        bytes_of({"a": math.nan})


# --- types ----------------------------------------------------------------------------------------


def target_of(kind: type, folder: Path) -> dict[str, Any]:
    return {"parquet.folder" if kind is ParquetSink else "delta.table": str(folder)}


def table_in(kind: type, folder: Path) -> Any:
    if kind is DeltaSink:
        return DeltaTable(str(folder)).to_pyarrow_table()
    return dataset.dataset(folder, format="parquet").to_table()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
def test_a_column_has_the_declared_type_though_its_first_rows_are_none(
    tmp_path: Path, kind: type, mode: str
) -> None:
    """And though the first decimals are short, and the first structs lack a field."""
    config = target_of(kind, tmp_path)
    first: list[Any] = [[0, None, None], [1, Decimal("1.10"), {"name": "ada"}]]
    more: list[Any] = [[2, Decimal("12345678.45"), {"name": "bob", "age": 7}], [3, 7, None]]
    for rows in (first, more):
        acked, errors, failed = write(kind, mode, config, rows, TypedRows)
        assert (acked, failed) == ([row[0] for row in rows], 0), errors
    table = table_in(kind, tmp_path).sort_by("id")
    assert table.schema.field("price").type == arrow.decimal128(10, 2)
    assert [each.name for each in table.schema.field("who").type] == ["name", "age"]
    assert table.column("price").to_pylist() == [
        None, Decimal("1.10"), Decimal("12345678.45"), Decimal("7.00"),
    ]  # fmt: skip
    ada, bob = table.column("who").to_pylist()[1:3]
    assert (ada, bob) == ({"name": "ada", "age": None}, {"name": "bob", "age": 7})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
def test_an_untyped_row_that_does_not_fit_the_others_is_told_counted_and_not_acked(
    tmp_path: Path, kind: type, mode: str
) -> None:
    rows = [[0, 1], [1, "x"], [2, 3], [3, "\ud83d"]]
    acked, errors, failed = write(kind, mode, target_of(kind, tmp_path), rows)
    assert failed == 2
    assert any("value='x' is not int64" in each for each in errors)
    assert ids_in(kind, tmp_path) == [0, 2]
    # Without tracking, ATMOST_ONCE, an ack only means an emit.
    assert acked == {"EFFECTIVELY_ONCE": [], "ATLEAST_ONCE": [0, 2]}.get(mode, [0, 1, 2, 3])


@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
def test_fields_of_a_struct_that_its_type_has_not_are_never_left_out(
    tmp_path: Path, kind: type
) -> None:
    name = "parquet" if kind is ParquetSink else "delta"
    config = {**target_of(kind, tmp_path), f"{name}.types": {"value": "array<struct<a: int>>"}}
    rows = [[0, [{"a": 1}]], [1, [{"a": 1}, {"a": 2, "b": 3}]], [2, None]]
    _, errors, failed = write(kind, "EFFECTIVELY_ONCE", config, rows)
    assert failed == 1
    assert any("value has a field 'b'" in each for each in errors)
    assert ids_in(kind, tmp_path) == [0, 2]


def test_a_delta_table_gets_a_column_with_its_first_value_not_one_of_type_void(
    tmp_path: Path,
) -> None:
    config = target_of(DeltaSink, tmp_path)
    for rows in ([[0, None]], [[1, "text"]], [[2, None]]):
        acked, _, failed = write(DeltaSink, "EFFECTIVELY_ONCE", config, rows)
        assert (len(acked), failed) == (1, 0)
    found = {row["id"]: row["value"] for row in table_in(DeltaSink, tmp_path).to_pylist()}
    assert found == {0: None, 1: "text", 2: None}


def test_a_delta_table_that_is_to_stay_as_it_is_gets_no_column(tmp_path: Path) -> None:
    write(DeltaSink, "EFFECTIVELY_ONCE", target_of(DeltaSink, tmp_path), [[0, "a"]])
    config = {**target_of(DeltaSink, tmp_path), "delta.schema.mode": "refuse"}
    made = topology(DeltaSink, "EFFECTIVELY_ONCE", config, TypedRows)
    with pytest.raises((ComponentError, TesterError), match="has no column 'price'"):
        TopologyTester(made).__enter__()


class StructRows(Spout):
    outputs = {"id": "bigint", "who": "struct<name: string, age: int>"}


class TextIds(Spout):
    outputs = {"id": "string", "who": "struct<name: string>"}


@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
def test_a_new_field_of_a_struct_is_merged_and_nothing_is_cast_away(
    tmp_path: Path, kind: type
) -> None:
    config = target_of(kind, tmp_path)
    write(kind, "EFFECTIVELY_ONCE", config, [[0, {"name": "ada", "tags": [{"a": 1}]}]])
    more = [[1, {"name": "bob", "tags": [{"a": 2, "b": "x"}], "age": 7}], [2, {"name": 3}], [3, 4]]
    _, errors, failed = write(kind, "EFFECTIVELY_ONCE", config, more)
    assert failed == 2, errors
    columns = {"id": arrow.int64(), "value": arrow.struct(
        [("name", arrow.string()), ("tags", arrow.list_(arrow.struct(
            [("a", arrow.int64()), ("b", arrow.string())]))), ("age", arrow.int64())])}  # fmt: skip
    if kind is DeltaSink:
        rows = table_in(kind, tmp_path).to_pylist()
    else:
        schema = arrow.schema(list(columns.items()))
        rows = dataset.dataset(tmp_path, schema, format="parquet").to_table().to_pylist()
    assert {row["id"]: row["value"] for row in rows} == {
        0: {"name": "ada", "tags": [{"a": 1, "b": None}], "age": None},
        1: {"name": "bob", "tags": [{"a": 2, "b": "x"}], "age": 7},
    }


@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
def test_the_type_of_a_column_is_that_of_the_rows_before_in_later_runs_too(
    tmp_path: Path, kind: type
) -> None:
    config = target_of(kind, tmp_path)
    for rows, fails in (([[0, 1]], 0), ([[1, "x"]], 1), ([[2, 3]], 0)):
        _, errors, failed = write(kind, "EFFECTIVELY_ONCE", config, rows)
        assert failed == fails, errors
    assert ids_in(kind, tmp_path) == [0, 2]
    made = topology(kind, "EFFECTIVELY_ONCE", config, TextIds)
    with pytest.raises(
        (ComponentError, TesterError), match="id as int64, but the column is declared as string"
    ):
        TopologyTester(made).__enter__()


@pytest.mark.parametrize("kind", [ParquetSink, DeltaSink])
def test_a_target_that_is_to_stay_as_it_is_gets_no_column_and_no_field(
    tmp_path: Path, kind: type
) -> None:
    name = "parquet" if kind is ParquetSink else "delta"
    config = {**target_of(kind, tmp_path), f"{name}.types": {"value": "struct<name: string>"}}
    refusing = {**target_of(kind, tmp_path), f"{name}.schema.mode": "refuse"}
    write(kind, "EFFECTIVELY_ONCE", config, [[0, {"name": "ada"}]])
    rows = [[1, {"name": "bob", "age": 7}], [2, {"name": "eve"}]]
    _, errors, failed = write(kind, "EFFECTIVELY_ONCE", refusing, rows)
    assert failed == 1
    assert any("value has a field 'age'" in each for each in errors)
    assert ids_in(kind, tmp_path) == [0, 2]
    made = topology(kind, "EFFECTIVELY_ONCE", refusing, StructRows)
    with pytest.raises((ComponentError, TesterError), match=r"no column 'who'.*refuse"):
        TopologyTester(made).__enter__()


def test_a_row_that_does_not_fit_costs_that_row_on_an_engine_of_batches(tmp_path: Path) -> None:
    with ComponentTester(
        ParquetSink, inputs={"rows": ["id", "value"]}, config=target_of(ParquetSink, tmp_path)
    ) as sink:
        sink.component.begin_batch(0)
        for row in ([0, 1], [1, "x"], [2, 3]):
            sink.process(row)
        sink.component.end_batch()
        assert sink.metrics()["failed"] == 1
        (problem,) = sink.errors
        assert "value='x' is not int64" in str(problem)
    assert ids_in(ParquetSink, tmp_path) == [0, 2]


@pytest.mark.parametrize("mode", MODES)
def test_a_nan_that_sqlite_would_store_as_null_is_refused(tmp_path: Path, mode: str) -> None:
    path = str(tmp_path / "rows.db")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE rows (id BIGINT, value DOUBLE)")
    database.close()
    config = {"database.connect": path, "database.table": "rows"}
    rows = [[0, 0.5], [1, math.nan], [2, math.inf]]
    _, errors, failed = write(DatabaseSink, mode, config, rows)
    assert failed == 1
    assert any(
        ("value=nan: the value is NaN, which sqlite stores as NULL") in each for each in errors
    )
    with sqlite3.connect(path) as database:
        found = database.execute("SELECT id, value FROM rows ORDER BY id").fetchall()
    database.close()
    assert found == [(0, 0.5), (2, math.inf)]
