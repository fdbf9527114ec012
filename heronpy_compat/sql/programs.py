"""A file of SQL as a topology: CREATE TABLE names files of rows, SELECT prints rows as JSON.

    CREATE TABLE clicks (ad STRING, at TIMESTAMP)
    USING json OPTIONS (path 'clicks.json', lag '5 seconds');
    SELECT ad, window.start AS since, count(*) AS clicks
    FROM clicks GROUP BY ad, window(at, '1 minute');

A table behind FROM, or behind JOIN with an interval, is read as a stream, in the order of the file;
behind another JOIN the table is read when the topology is loaded.
"""

import csv
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heron_core.errors import ComponentError
from heron_core.validation import choices
from heronpy_compat.sql.errors import SqlError, shown_sql
from heronpy_compat.sql.planning import SqlStream, SqlTable, planned
from heronpy_compat.sql.queries import checked_query, span_ms, statements
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.generator import Generator

JSON, CSV = "json", "csv"
OPTIONS = ("path", "lag")


@dataclass(frozen=True, slots=True)
class SqlFile:
    """A CREATE TABLE."""

    name: str
    types: tuple[tuple[str, str], ...]
    """(column, type in sqlglot)."""
    form: str
    path: str
    lag_ms: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(name for name, _ in self.types)


class FileRows(Generator):
    """Rows of a file as read, from the first partition; the position is the number of rows."""

    def __init__(self, table: SqlFile) -> None:
        self._table = table
        self._rows: Iterator[Any] = iter(())
        self._position = 0

    def setup(self, context: Context) -> None:
        """Open the file."""
        self._position = 0
        if context.get_partition_index() == 0:
            self._rows = raw_rows(self._table)

    def get(self) -> Any:
        """The next row; the source ends behind the last row."""
        row = next(self._rows)
        self._position += 1
        return row

    def position(self) -> int:
        """How many rows were emitted."""
        return self._position

    def seek(self, position: int) -> None:
        """Continue behind so many rows."""
        self._position = position
        for _ in range(position):
            next(self._rows, None)


def raw_rows(table: SqlFile) -> Iterator[Any]:
    """Rows of a file: lines of JSON as texts, rows of CSV as dicts of texts."""
    with open(table.path, encoding="utf-8", newline="") as file:
        if table.form == CSV:
            yield from csv.DictReader(file)
        else:
            yield from filter(str.strip, file)


def typed_row(table: SqlFile) -> Callable[[Any], dict[str, Any]]:
    """A function of a raw row: the declared columns in their types; a missing column is NULL.

    ComponentError for a row that is not JSON or has a value of another type: the row fails, and is
    counted as failed.
    """

    def row(raw: Any) -> dict[str, Any]:
        result = _parsed(raw, table) if isinstance(raw, str) else raw
        return {name: _typed(result.get(name), kind, name, table) for name, kind in table.types}

    return row


def _parsed(line: str, table: SqlFile) -> dict[str, Any]:
    try:
        result = json.loads(line)
    except ValueError as error:
        raise ComponentError(f"{table.path}: not a line of JSON ({error}): {line!r:.80}") from None
    if not isinstance(result, dict):
        raise ComponentError(f"{table.path}: not an object of JSON: {line!r:.80}")
    return result


def _typed(value: Any, kind: str, name: str, table: SqlFile) -> Any:
    if value is None or (value == "" and table.form == CSV):
        return None
    try:
        return TYPES[kind](value)
    except (TypeError, ValueError):
        raise ComponentError(f"{table.path}: {name} is not of its type: {value!r:.80}") from None


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    named = {"true": True, "false": False}.get(str(value).lower())
    if named is None:
        raise ValueError(value)
    return named


def _timestamp(value: Any) -> datetime:
    result = datetime.fromisoformat(value)
    return result.replace(tzinfo=UTC) if result.tzinfo is None else result.astimezone(UTC)


TYPES: dict[str, Callable[[Any], Any]] = {
    "TEXT": str, "VARCHAR": str, "INT": int, "BIGINT": int, "SMALLINT": int, "FLOAT": float,
    "DOUBLE": float, "BOOLEAN": _boolean, "TIMESTAMP": _timestamp, "TIMESTAMPTZ": _timestamp,
}  # fmt: skip
"""Type in sqlglot -> function of a value of JSON or of a text."""


class FileCatalog:
    """The tables of a file as sources of its queries."""

    def __init__(self, tables: dict[str, SqlFile], builder: Builder) -> None:
        self._tables, self._builder = tables, builder

    def stream(self, name: str) -> SqlStream:
        """See Catalog."""
        table = self._table(name)
        rows = self._builder.new_source(FileRows(table)).map(typed_row(table))
        return SqlStream(rows, table.columns, table.lag_ms)

    def table(self, name: str) -> SqlTable:
        """See Catalog."""
        table = self._table(name)
        try:
            rows = tuple(map(typed_row(table), raw_rows(table)))
        except ComponentError as error:
            raise SqlError(str(error)) from None
        return SqlTable(rows, table.columns)

    def _table(self, name: str) -> SqlFile:
        if name not in self._tables:
            raise SqlError(f"no table is called {name}; {choices('tables', name, self._tables)}")
        return self._tables[name]


def sql_program(path: str) -> Builder:
    """The streamlets of a file; SqlError, in one line, for the first mistake."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        return _built(text, path)
    except SqlError as error:
        raise SqlError(f"{path}: {error}") from None


def _built(text: str, path: str) -> Builder:
    result = statements(text)
    builder, tables, queries = Builder(), {}, []
    for statement in result:
        if type(statement).__name__ == "Create":
            table = _file_table(statement, os.path.dirname(os.path.abspath(path)))
            if table.name in tables:
                raise SqlError(f"two tables are called {table.name}")
            tables[table.name] = table
        else:
            queries.append(checked_query(statement))
    if not queries:
        raise SqlError("a SELECT is missing")
    catalog = FileCatalog(tables, builder)
    for query in queries:
        planned(query, catalog).consume(print_row)
    return builder


def print_row(row: dict[str, Any]) -> None:
    """A row as a line of JSON, a timestamp as an ISO text."""
    print(json.dumps(row, default=_shown, ensure_ascii=False))


def _shown(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _file_table(create: Any, folder: str) -> SqlFile:
    name = getattr(create.this.this, "name", "")
    if create.args.get("kind") != "TABLE" or type(create.this).__name__ != "Schema":
        raise SqlError(f"CREATE TABLE name (column TYPE, …) is expected: {shown_sql(create)}")
    form, options = _properties(create)
    if form not in (JSON, CSV):
        raise SqlError(f"the table {name} is USING {form or 'nothing'}: json or csv")
    if unknown := [each for each in options if each not in OPTIONS]:
        raise SqlError(f"the table {name}: {choices('options', unknown[0], OPTIONS)}")
    path = os.path.join(folder, options.get("path") or "")
    if not os.path.isfile(path):
        raise SqlError(f"the table {name} needs OPTIONS (path '…') of a file: {path} is not a file")
    lag_ms = span_ms(options["lag"], f"the lag of {name}") if "lag" in options else 0
    return SqlFile(name, tuple(map(_column, create.this.expressions)), form, path, lag_ms)


def _properties(create: Any) -> tuple[str, dict[str, str]]:
    form, options = "", {}
    properties = create.args.get("properties")
    for property_node in properties.expressions if properties is not None else ():
        if type(property_node).__name__ == "FileFormatProperty":
            form = property_node.this.name.lower()
        elif type(property_node).__name__ == "OptionsProperty":
            options = {
                option.this.name: option.args["value"].name for option in property_node.expressions
            }
        else:
            raise SqlError(f"CREATE TABLE with {shown_sql(property_node)} is not supported")
    return form, options


def _column(definition: Any) -> tuple[str, str]:
    kind = definition.args["kind"].this.name
    if kind not in TYPES:
        raise SqlError(f"the type of {shown_sql(definition)} is not supported: {', '.join(TYPES)}")
    return definition.name, kind
