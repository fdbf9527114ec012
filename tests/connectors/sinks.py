"""The tried sinks: the first state of each store, its content as read by independent readers, and
its declared limits."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import cache
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from deltalake import DeltaTable
from pyarrow import parquet
from pyiceberg.catalog import load_catalog

from heron_connectors.database.sink import DatabaseSink
from heron_connectors.delta import DeltaSink
from heron_connectors.files.parquet import ParquetSink
from heron_connectors.files.sink import FileSink
from heron_connectors.iceberg.sink import IcebergSink
from heron_connectors.kafka.sink import KafkaSink
from heron_connectors.spark.folder import SparkSink
from heron_connectors.spark.segments import SegmentLog, writers_of
from heron_connectors.two_phase import TwoPhaseSink
from tests.connectors.fake_kafka import FakeBroker
from tests.connectors.memory_catalog import MemoryCatalog
from tests.connectors.samples import Form
from tests.postgres_support import server

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Store:
    """Where a sink writes."""

    config: Mapping[str, Any]
    rows: Callable[[], list[Row]]
    """Rows seen by an independent reader, in any order."""


@dataclass(frozen=True, slots=True)
class SinkEntry:
    """A sink."""

    name: str
    kind: type[TwoPhaseSink]
    opened: Callable[[Path, tuple[str, ...]], Store]
    """Makes an empty store for rows with these fields, in an empty folder."""
    form: Form = lambda value: value
    """The read form of a value without a type in the store."""
    cannot: Mapping[str, str] = field(default_factory=dict)
    """Property -> reason for its absence."""
    each_line: bool = True
    """Whether kills are tried at each line of a commit, too."""
    each_copied_line: bool = False
    """Whether an attempt hangs at each line of a batch's end, too, while a copy of it goes on."""


def _visible(folder: Path) -> list[Path]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return sorted(each for each in files if not each.name.startswith("."))


def _lines(folder: Path) -> list[bytes]:
    return [line for each in _visible(folder) for line in each.read_bytes().split(b"\n")[:-1]]


def _strict(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def _json_files(folder: Path, fields: tuple[str, ...]) -> Store:
    def rows() -> list[Row]:
        return [json.loads(each, parse_constant=_strict) for each in _lines(folder)]

    return Store({"file.folder": str(folder), "file.format": "json"}, rows)


def _text_files(folder: Path, fields: tuple[str, ...]) -> Store:
    """Lines with the value alone, behind the id."""

    def rows() -> list[Row]:
        found = [each.split(b" ", 1) for each in _lines(folder)]
        return [dict(zip(fields, (int(number), text), strict=False)) for number, text in found]

    return Store({"file.folder": str(folder), "file.format": "text"}, rows)


class IdAndText(FileSink):
    """Writes the id before the text that `FileSink` makes of a field."""

    def line_of(self, tup: Any) -> bytes:
        text: Any = SimpleNamespace(values=tup.values[1:], fields=tup.fields[1:])
        line = super().line_of(text)
        return b"%d %s" % (tup.values[0], line)


def _parquet_files(folder: Path, fields: tuple[str, ...]) -> Store:
    def rows() -> list[Row]:
        found: list[Row] = []
        for each in _visible(folder):
            with parquet.ParquetFile(each) as file:
                found += file.read().to_pylist(maps_as_pydicts="strict")
        return found

    return Store({"parquet.folder": str(folder)}, rows)


def _delta_table(folder: Path, fields: tuple[str, ...]) -> Store:
    path = str(folder / "table")

    def rows() -> list[Row]:
        if not DeltaTable.is_deltatable(path):
            return []
        table = DeltaTable(path).to_pyarrow_table()
        found: list[Row] = table.to_pylist(maps_as_pydicts="strict")
        return found

    return Store({"delta.table": path}, rows)


def _iceberg_table(folder: Path, fields: tuple[str, ...]) -> Store:
    """pyiceberg names the files; an independent reader reads them."""
    catalog = {
        "py-catalog-impl": f"{MemoryCatalog.__module__}.{MemoryCatalog.__name__}",
        "warehouse": f"file://{folder}/warehouse",
    }

    loaded = cache(lambda: load_catalog("default", **catalog))

    def rows() -> list[Row]:
        if not loaded().table_exists("test.rows"):
            return []
        found: list[Row] = []
        for each in loaded().load_table("test.rows").scan().plan_files():
            with parquet.ParquetFile(each.file.file_path.removeprefix("file://")) as file:
                found += file.read().to_pylist(maps_as_pydicts="strict")
        return found

    return Store({"iceberg.table": "test.rows", "iceberg.catalog.properties": catalog}, rows)


def _sqlite_table(folder: Path, fields: tuple[str, ...]) -> Store:
    path = str(folder / "rows.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE rows ({', '.join(fields)})")

    def rows() -> list[Row]:
        with closing(sqlite3.connect(path)) as connection:
            cursor = connection.execute("SELECT * FROM rows")
            names = [each[0] for each in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    return Store({"database.connect": path, "database.table": "rows"}, rows)


_schemas = count()


def _postgres_table(folder: Path, fields: tuple[str, ...]) -> Store:
    """A table with ids, whose other columns are made by the sink."""
    schema = f"s{next(_schemas)}"
    with server().connection() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE TABLE {schema}.rows (id bigint)")

    def rows() -> list[Row]:
        with server().connection(schema) as connection:
            cursor = connection.execute("SELECT * FROM rows")
            names = [each.name for each in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    arguments = {**server().arguments, "options": f"-csearch_path={schema}"}
    return Store(
        {
            "database.module": "psycopg",
            "database.connect": arguments,
            "database.table": "rows",
            "database.schema.mode": "merge",
        },
        rows,
    )


class Database(DatabaseSink):
    def connect(self) -> Any:
        connection = super().connect()
        connection.execute("PRAGMA synchronous = OFF")
        return connection


def _kafka_topic(folder: Path, fields: tuple[str, ...]) -> Store:
    broker = FakeBroker.installed()

    def rows() -> list[Row]:
        return [
            dict(zip(fields, (int(key or b""), value), strict=False))
            for key, value in broker.records
        ]

    config = {
        "kafka.bootstrap.servers": "fake:9092",
        "kafka.topic": "rows",
        "kafka.key.position": 0,
        "kafka.value.position": 1 if len(fields) > 1 else 0,
    }
    return Store(config, rows)


def _segments(folder: Path, fields: tuple[str, ...]) -> Store:
    def rows() -> list[Row]:
        logs = [SegmentLog(str(folder), each) for each in writers_of(str(folder))]
        return [
            dict(zip(segment.fields, row, strict=True))
            for log in logs
            for segment in map(log.segment, log.numbers())
            for part in segment.parts
            for row in log.rows(part)
        ]

    return Store({"spark.folder": str(folder)}, rows)


def as_json(value: Any) -> Any:
    """JSON's form of a value without a type: its text; a list for a tuple."""
    if isinstance(value, (date, time, Decimal, UUID)):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def as_line(value: Any) -> bytes:
    """Its text."""
    return value if isinstance(value, bytes) else str(value).encode()


def as_record(value: Any) -> bytes | None:
    """Text and bytes unchanged, None as None, the rest as JSON."""
    if value is None or isinstance(value, bytes):
        return value
    return (
        value.encode()
        if isinstance(value, str)
        else json.dumps(as_json(value), ensure_ascii=False).encode()
    )


def as_arrow(value: Any) -> Any:
    """A list for a tuple and a set."""
    return list(value) if isinstance(value, (tuple, set)) else value


def as_sqlite(value: Any) -> Any:
    """SQLite lacks truth values; dates and times are texts of the driver."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date) else value


NAMED = "a query names the columns that it reads"
ONE_RECORD = "a record has one value"
POSTGRES = "DatabaseSink (postgres)"
"""It is tried where Postgres is installed."""
NO_FOLDER = "it writes to a server"
ONE_VALUE = "a line has one value: JSON has several"
SINKS = (
    SinkEntry("FileSink (json)", FileSink, _json_files, as_json, each_copied_line=True),
    SinkEntry("FileSink (text)", IdAndText, _text_files, as_line, {"schema": ONE_VALUE}),
    SinkEntry("ParquetSink", ParquetSink, _parquet_files, as_arrow, each_line=False),
    SinkEntry("DeltaSink", DeltaSink, _delta_table, as_arrow, each_line=False),
    SinkEntry("IcebergSink", IcebergSink, _iceberg_table, as_arrow, each_line=False),
    SinkEntry("DatabaseSink (sqlite)", Database, _sqlite_table, as_sqlite),
    SinkEntry(
        POSTGRES, DatabaseSink, _postgres_table, cannot={"folder": NO_FOLDER}, each_line=False
    ),
    SinkEntry(
        "KafkaSink",
        KafkaSink,
        _kafka_topic,
        as_record,
        {"schema": ONE_RECORD, "folder": NO_FOLDER},
        each_copied_line=True,
    ),
    SinkEntry("SparkSink", SparkSink, _segments, cannot={"schema": NAMED}, each_line=False),
)
