"""A value that a column of a database would change or refuse costs its row, and no other."""

import sqlite3
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from heron_connectors.database.columns import DatabaseColumn
from heron_connectors.database.sink import DatabaseSink
from heron_connectors.database.sqlite_columns import Sqlite
from heron_core.errors import ComponentError
from heronpy_compat import Spout, Topology
from heronpy_compat.testing import TopologyTester

MODES = ("EFFECTIVELY_ONCE", "ATLEAST_ONCE", "ATMOST_ONCE")
KINDS = (
    "", "integer", "bigint", "real", "double", "text", "varchar(3)", "blob", "numeric",
    "decimal(10,2)", "date", "boolean", "any",
)  # fmt: skip
STRICT_KINDS = ("integer", "real", "text", "blob", "any")
VALUES = (
    7, 2**53 + 1, 2.0, 2.5, True, "x", "007", "1e3", " 5 ", "٣", "", b"7", date(2026, 1, 2),
    datetime(2026, 1, 2, 3), "2026-01-02",
)  # fmt: skip


class Rows(Spout):
    outputs = ["id", "value"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "rows.db")


def make(path: str, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for each in statements:
            database.execute(each)
        database.commit()


def rows_in(path: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT * FROM rows ORDER BY id").fetchall()


def write(
    path: str, rows: Any, mode: str = "EFFECTIVELY_ONCE", kind: Any = DatabaseSink, **more: Any
) -> list[str]:
    """What the sink says of rows."""
    given: dict[str, Any] = {
        "database.connect": path,
        "database.table": "rows",
        "topology.reliability.mode": mode,
    }
    given |= {"topology.bolt.retries": 0, **more}

    class Writing(Topology):
        config = given
        rows = Rows.spec()
        sink = kind.spec(inputs=[rows])

    with TopologyTester(Writing) as tester:
        for row in rows:
            tester.feed("rows", list(row), tup_id=row[0], replays=0)
        tester.run()
        if mode == "EFFECTIVELY_ONCE":
            assert tester.checkpoint()
        tester.advance(10)
        tester.finish()
        return [each.text for each in tester.errors("sink") if "other run" not in each.text]


@pytest.mark.parametrize(
    ("kind", "strict"),
    [*((each, "") for each in KINDS), *((each, " STRICT") for each in STRICT_KINDS)],
)
def test_what_sqlite_would_change_is_what_is_refused(kind: str, strict: str, path: str) -> None:
    """The judge is sqlite itself."""
    make(path, f"CREATE TABLE rows (value {kind}){strict}")
    with closing(sqlite3.connect(path)) as database:
        (column,) = Sqlite().columns(database.cursor(), "rows")
        for value in VALUES:
            database.execute("DELETE FROM rows")
            text = str(value) if isinstance(value, date) else value
            try:
                database.execute("INSERT INTO rows VALUES (?)", [text])
                ((found,),) = database.execute("SELECT value FROM rows").fetchall()
                is_kept = found == text and isinstance(found, str) == isinstance(text, str)
            except sqlite3.Error:
                is_kept = False
            problem = Sqlite().problem(column, value)
            # In a STRICT table a text of digits and a whole fraction are converted, too.
            assert (not problem) == is_kept or (strict and problem and is_kept), (value, problem)


@pytest.mark.parametrize("mode", MODES)
def test_a_bad_row_costs_itself_alone(mode: str, path: str) -> None:
    make(path, "CREATE TABLE rows (id INTEGER NOT NULL, value TEXT NOT NULL)")
    said = write(path, [[1, "a"], [2, 5], [3, None], ["4", "d"], [5, "e"]], mode)
    assert rows_in(path) == [(1, "a"), (5, "e")]
    assert ["value=5: sqlite makes a text" in each for each in said] == [True, False, False]
    assert "value=None: the column is NOT NULL" in said[1]
    assert "id='4': sqlite makes a number" in said[2]


def test_a_default_and_a_rowid_take_no_value(path: str) -> None:
    make(path, "CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT)")
    assert write(path, [[1, None]]) == []
    (first, second) = Sqlite().columns(sqlite3.connect(path).cursor(), "rows")
    assert (first.is_required, second) == (False, DatabaseColumn("value", "text"))


def test_a_column_that_is_missing_is_refused_or_added(path: str) -> None:
    make(path, "CREATE TABLE rows (id INTEGER)", "INSERT INTO rows VALUES (0)")
    with pytest.raises(ComponentError, match="rows has no column value, and database"):
        write(path, [[1, "a"]])
    assert write(path, [[1, "a"], [2, 7]], **{"database.schema.mode": "merge"}) == []
    assert rows_in(path) == [(0, None), (1, "a"), (2, 7)]


class Twin(DatabaseSink):
    """Another instance adds the column at the same moment."""

    def _add_column(self, name: str, kind: str) -> None:
        if self._arguments:
            make(self._arguments, f"ALTER TABLE rows ADD COLUMN {name}")
        super()._add_column(name, kind)


def test_a_column_that_two_instances_add_at_once_is_added_once(path: str) -> None:
    make(path, "CREATE TABLE rows (id INTEGER)")
    assert write(path, [[1, "a"]], kind=Twin, **{"database.schema.mode": "merge"}) == []
    assert rows_in(path) == [(1, "a")]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"database.schema.mode": "drop"}, "database.schema.mode is merge or refuse, not drop"),
        (
            {"database.schema.mode": "merge", "database.statement": "INSERT INTO rows VALUES (?)"},
            "merge is for sqlite and Postgres, and for tables without database.statement",
        ),
    ],
)
def test_a_mode_that_is_wrong_is_refused(more: dict[str, Any], said: str, path: str) -> None:
    make(path, "CREATE TABLE rows (id INTEGER, value)")
    with pytest.raises(ComponentError, match=said):
        write(path, [[1, "a"]], **more)


def test_a_table_that_is_not_there_is_named_and_nothing_is_lost(path: str) -> None:
    class Late(DatabaseSink):
        """The table is made when somebody reads the error."""

        def record(self) -> None:
            """Nothing."""

    settings = {"database.connect": path, "database.table": "rows"}
    mode = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}

    class Writing(Topology):
        config = {**settings, **mode}
        rows = Rows.spec()
        sink = Late.spec(inputs=[rows])

    with TopologyTester(Writing) as tester:
        tester.feed("rows", [1, "a"], tup_id=1)
        tester.run()
        assert not tester.checkpoint()
        assert any("has no table rows" in each.text for each in tester.errors("sink"))
        make(path, "CREATE TABLE rows (id, value)")
        assert tester.checkpoint()
    assert rows_in(path) == [(1, "a")]
