"""CSV and JSON as tables: each value as it is, or its row is left out and told."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from heron_connectors.emitted_rows import RowLeftOut
from heron_connectors.tables.source import TableSpout
from heron_connectors.tables.split_watermarks import SplitWatermarks, event_ms
from heron_connectors.tables.table_files import FileTable
from heron_core.errors import ComponentError
from heronpy_compat import Grouping, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import Count, Given, KeyedWindowBolt, Tumbling
from tests.unit.heron_connectors.test_tables import alone, drained


def rows_of(path: Path, text: str | bytes, **options: Any) -> list[Any]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    config = {key: options.pop(key) for key in list(options) if key.startswith("table.")}
    with alone(TableSpout.of(path, **options), **config) as spout:
        return drained(spout)


def told(spout: Any) -> tuple[list[Any], str]:
    """What it emits until it has finished, and what was raised meanwhile."""
    found, errors = [], []
    while not spout.finished:
        try:
            found += [each.values for each in spout.next_tuple()]
        except RowLeftOut as error:
            errors.append(str(error))
    return found, "; ".join(errors)


def test_numbers_with_zeros_in_front_stay_texts(tmp_path: Path) -> None:
    text = "id,plus,big,n,d\n007,+1,12345678901234567890,7,1.5\n12,2,1,-3,2\n"
    assert rows_of(tmp_path / "x.csv", text) == [
        ["007", "+1", "12345678901234567890", 7, 1.5], ["12", "2", "1", -3, 2.0],
    ]  # fmt: skip
    types = {"id": "int", "plus": "bigint", "big": "decimal(20,0)", "n": "double"}
    assert rows_of(tmp_path / "x.csv", text, types=types)[0] == [
        7, 1, Decimal(12345678901234567890), 7.0, 1.5,
    ]  # fmt: skip


def test_a_text_after_two_hundred_thousand_integers_makes_texts_of_them(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("n\n" + "".join(f"{number}\n" for number in range(200_000)) + "text\n")
    table = FileTable(str(path))
    (piece,) = table.pieces([str(path)])
    found = [row for rows in table.rows(piece, ["n"], 199_998) for row in rows]
    assert found == [["199998"], ["199999"], ["text"]]


def test_a_value_that_is_not_of_its_declared_type_costs_its_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("n,t\n1,a\nx,b\n3,c\n4,d,e\n,f\n300,g\n")
    with alone(TableSpout.of(path, types={"n": "tinyint"})) as spout:
        found, errors = told(spout)
        assert found == [[1, "a"], [3, "c"], [None, "f"]]
        for each in (
            "n='x' is not of type tinyint",
            "n='300' is not of type tinyint",
            "3 columns where 2",
        ):
            assert each in errors


@pytest.mark.parametrize(
    ("encoding", "data", "said"),
    [
        ("utf-8", "1,é\n".encode() + b"2,\xff\xfe\n3,c\n", r"name=b'\xff\xfe' is not utf-8"),
        ("utf-8", "1,é\n".encode() + b"\xff,b\n3,c\n", r"id=b'\xff' is not utf-8"),
        ("cp1252", "1,é\n".encode("cp1252") + b"2,\x81\n3,c\n", r"name=b'\x81' is not cp1252"),
    ],
)
@pytest.mark.parametrize("types", [{}, {"id": "int", "name": "string"}])
def test_a_value_that_is_not_of_the_encoding_costs_its_row(
    tmp_path: Path, types: dict[str, str], encoding: str, data: bytes, said: str
) -> None:
    """Types are inferred from the others: the ids stay numbers."""
    path = tmp_path / "x.csv"
    path.write_bytes(b"id,name\n" + data)
    with alone(TableSpout.of(path, types=types, encoding=encoding)) as spout:
        found, errors = told(spout)
    assert found == [[1, "é"], [3, "c"]]
    assert said in errors


def test_a_column_that_is_not_read_may_have_any_bytes(tmp_path: Path) -> None:
    assert rows_of(tmp_path / "x.csv", b"id,name\n1,\xff\n", columns=["id"]) == [[1]]


def test_an_encoding_that_python_does_not_have_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"table.encoding is 'utf-9', which is not an"):
        rows_of(tmp_path / "x.csv", "n\n1\n", encoding="utf-9")


class Orders(TableSpout):
    outputs = {"day": "date", "id": "string"}


def test_types_of_the_outputs_are_those_of_the_columns(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,day\n007,2024-02-03\n")

    class Read(Topology):
        orders = Orders.spec(config={"table.path": str(tmp_path / "x.csv")})

    with TopologyTester(Read) as tester:
        tester.run_spouts(2)
        assert tester.values("orders") == [[date(2024, 2, 3), "007"]]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"delimiter": ";"}, "a;b\n1;x,y\n"),
        ({"delimiter": "\t"}, "a\tb\n1\tx,y\n"),
        ({"quote": "'"}, "a,b\n1,'x,y'\n"),
        ({}, 'a,b\n1,"x,y"\n'),
        ({"header": False, "columns": ["a", "b"]}, '1,"x,y"\n'),
        ({"encoding": "latin-1"}, b'a,b\n1,"x,y"\n'),
    ],
)
def test_csv_is_read_as_it_is_written(tmp_path: Path, options: Any, text: Any) -> None:
    assert rows_of(tmp_path / "x.csv", text, **options) == [[1, "x,y"]]


def test_a_quoted_value_may_have_line_ends_delimiters_and_quotes(tmp_path: Path) -> None:
    long = "line\n" * 250_000
    text = f'a,b\n1,"two\nlines, and ""quotes"""\n2,"{long}"\n3,\n'
    assert rows_of(tmp_path / "x.csv", text) == [
        [1, 'two\nlines, and "quotes"'], [2, long], [3, ""],
    ]  # fmt: skip


def test_times_of_csv_without_a_zone_are_utc_where_an_instant_is_declared(tmp_path: Path) -> None:
    text = "at,wall,day\n2024-01-01T05:00:00,2024-01-01 05:00,2024-01-01\n"
    types = {"at": "timestamp", "wall": "timestamp_ntz"}
    at = datetime(2024, 1, 1, 5)
    found = rows_of(tmp_path / "x.csv", text, types=types)
    assert found == [[at.replace(tzinfo=UTC), at, date(2024, 1, 1)]]


def test_json_records_of_any_length_keep_their_values(tmp_path: Path) -> None:
    records: list[Any] = [
        {"a": 1, "b": "x" * 3_000_000, "c": {"d": [1, "2", None]}},
        {"a": "2024-01-01T00:00:00", "c": "text"},
        {"a": 2**70, "b": None, "more": 1},
    ]
    text = "\n\n".join(map(json.dumps, records))
    found = rows_of(tmp_path / "x.jsonl", text, columns=["a", "b", "c"])
    assert found == [[each.get(name) for name in "abc"] for each in records]


def test_a_json_record_that_does_not_fit_costs_its_row(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"n": 1}\nno json\n{"n": "2"}\n[3]\n{"n": null}\n{"at": "2024-01-01"}\n')
    types = {"n": "int", "at": "date"}
    with alone(TableSpout.of(path, columns=["n", "at"], types=types)) as spout:
        found, errors = told(spout)
        assert found == [[1, None], [None, None], [None, date(2024, 1, 1)]]
        assert errors.count("a row is left out") == 3
        assert "n='2' is not of type int" in errors


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pyarrow.compress(data, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_tables_may_be_compressed(tmp_path: Path, ending: str) -> None:
    data = b"a,b\n" + b"".join(b"%d,x\n" % at for at in range(30))
    rows = [[at, "x"] for at in range(30)]
    assert rows_of(tmp_path / f"x.csv.{ending}", PACKED[ending](data)) == rows
    lines = b"".join(b'{"a": %d, "b": "x"}\n' % at for at in range(30))
    assert rows_of(tmp_path / f"x.jsonl.{ending}", PACKED[ending](lines)) == rows


def test_a_folder_that_says_a_number_with_zeros_is_a_text(tmp_path: Path) -> None:
    for name in ("zip=007", "zip=12"):
        (tmp_path / name).mkdir()
        parquet.write_table(pyarrow.table({"n": [1]}), tmp_path / name / "x.parquet")
        (tmp_path / "csv" / name).mkdir(parents=True)
        (tmp_path / "csv" / name / "x.csv").write_text("n\n1\n")
    for folder in (tmp_path / "csv", tmp_path):
        with alone(TableSpout.of(folder, columns=["zip", "n"])) as spout:
            assert drained(spout)[-2:] == [["007", 1], ["12", 1]]


def test_maps_are_dicts(tmp_path: Path) -> None:
    kind = pyarrow.map_(pyarrow.string(), pyarrow.int64())
    column = pyarrow.array([[("a", 1)], [], None], kind)
    parquet.write_table(pyarrow.table({"m": column}), tmp_path / "x.parquet")
    with alone(TableSpout.of(tmp_path)) as spout:
        assert drained(spout) == [[{"a": 1}], [{}], [None]]


class Hours(KeyedWindowBolt):
    outputs = ["key", "start_ms", "end_ms", "count"]
    key_fields = ["key"]
    timestamp_field = "at"
    window = Tumbling(3_600_000)
    aggregate = Count()
    watermarks = Given()
    late_stream = "late"


def test_a_backfill_that_two_instances_read_has_no_late_events(tmp_path: Path) -> None:
    hour = 3_600_000
    for number in range(4):
        first = number * 24 * hour
        lines = (f"{first + at * hour // 10},k\n" for at in range(240))
        (tmp_path / f"{number}.csv").write_text("at,key\n" + "".join(lines))
    source = TableSpout.of(tmp_path, columns=["at", "key"])
    times = {"table.timestamp.field": "at"}

    class Backfill(Topology):
        events = source.spec(par=2, config=times)
        hours = Hours.spec(inputs={events: Grouping.fields("key")})

    with TopologyTester(Backfill) as tester:
        tester.run_spouts(1000)
        counted = [row[-1] for row in tester.values("hours")]
        assert tester.values("hours", stream="late") == []
    assert counted == [10] * 96


def test_what_is_no_table_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"table.delimiter": ";;"}, "must be one character"),
        ({"table.types": {"a": "number"}}, "number"),
        ({"table.timestamp.field": "b"}, "'b', which is not one of its columns: a"),
    ]
    for config, complaint in cases:
        with pytest.raises(ComponentError, match=complaint), alone(TableSpout.of(path), **config):
            pass


def test_a_source_is_as_far_as_the_slowest_of_its_splits() -> None:
    marks = SplitWatermarks(5)
    assert marks.rises_to() is None
    marks.first("a", 100)
    marks.first("b", 200)
    marks.seen("a", 150)
    assert (marks.rises_to(), marks.rises_to()) == (145, None)
    marks.seen("a", 900)
    assert marks.rises_to() == 195
    marks.end("b")
    assert marks.rises_to() == 895
    assert event_ms(datetime(1970, 1, 1)) == event_ms(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    with pytest.raises(ValueError, match="is not a time"):
        event_ms("noon")
