"""Columns of a real Postgres: lossy values are refused, and a bad row costs one row."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import count
from typing import Any
from uuid import UUID

import psycopg
import pytest

from heron_connectors.database.postgres_columns import Postgres
from heron_connectors.database.sink import DatabaseSink
from heron_core import config as keys
from heron_core.errors import ComponentError
from tests.connectors.runs import classes, given, natively, sinking
from tests.postgres_support import WHERE_POSTGRES_IS, server

pytestmark = WHERE_POSTGRES_IS
KINDS = (
    "smallint", "integer", "bigint", "real", "double precision", "numeric", "numeric(5,2)",
    "numeric(3,-2)", "text", "varchar(3)", "char(3)", "bytea", "boolean", "date", "timestamp",
    "timestamp(3)", "timestamptz", "time", "timetz", "interval", "uuid", "json", "jsonb",
    "integer[]", "text[]", "numeric(5,2)[]", "mood", "small", "inet",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    7, -(2**15), 2**15, 2**31, 2**53 + 1, 2**63, 10**400, True, 2.0, 2.5, 0.1, 1e39, float("nan"),
    float("-inf"), Decimal("1.10"), Decimal("1.005"), Decimal("123.450"), Decimal("1234.5"),
    Decimal(1200), Decimal("NaN"), Decimal("Infinity"), "abc", "abcd", "ab ", "abc ", "007", "",
    "a\0", "a\ud83d", "sad", "{}", '"x"', "[1, NaN]", b"\xff\x00", b"abc", date(2026, 1, 2),
    datetime(2026, 1, 2, 3, 4, 5, 678_000), datetime(2026, 1, 2, 3, 4, 5, 678_901),
    datetime(2026, 1, 2, 3, tzinfo=UTC), time(1, 2, 3, 4), time(1, tzinfo=UTC),
    timedelta(days=-1, microseconds=1), UUID(int=7), [1, None], [2**31], [], ["a", "b"], [[1], [2]],
    [Decimal("1.005")], [1, "a"], (1, 2), {"a": 1, "b": None}, {"a": "\0"}, {"a": float("nan")},
    [{"a": 1}], {1, 2}, object(), "127.0.0.1",
)  # fmt: skip
REFUSED = object()
ALLOWED = {
    "char(3)": "'abc ': the column is character(3), and it has 4 characters",
    "integer[]": "[[1], [2]]: the column is integer[], and it is a list of others",
    "numeric(5,2)[]": "[[1], [2]]: the column is numeric(5,2)[], and it is a list of others",
    **dict.fromkeys(("json", "jsonb"), "[Decimal('1.005')] is ['1.005']"),
}
"""Refused though kept by Postgres, or cut in silence; JSON's form of a decimal."""
_names = count()


@pytest.fixture
def schema() -> str:
    name = f"t{next(_names)}"
    with server().connection() as connection:
        connection.execute(f"CREATE SCHEMA {name}")
        connection.execute(f"SET search_path TO {name}")
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        connection.execute("CREATE DOMAIN small AS numeric(5,2)")
    return name


def read_back(
    connection: psycopg.Connection[Any], dialect: Postgres, column: Any, value: Any
) -> Any:
    """The value as read from Postgres; REFUSED for a refused one."""
    connection.execute("TRUNCATE rows")
    try:
        made = dialect.value(column, value)
        connection.execute("INSERT INTO rows VALUES (%s)", [made])
        ((found,),) = connection.execute("SELECT value FROM rows").fetchall()
    except (psycopg.Error, ValueError, OverflowError, UnicodeError):
        return REFUSED
    return found


def is_equal(kind: str, found: Any, value: Any) -> bool:
    """Whether both are equal; an int may have become another kind of number, rounded to 32 bits,
    and a text has spaces up to the length of its column."""
    if kind.startswith("char(") and isinstance(found, str):
        return bool(found.rstrip() == str(value).rstrip())
    if kind == "real" and isinstance(found, float):
        return bool(found == pytest.approx(value, nan_ok=True))
    if found != found:
        return bool(value != value)
    is_number = isinstance(value, int) and isinstance(found, (float, Decimal))
    return bool(found == value and (type(found) is type(value) or is_number))


@pytest.mark.parametrize("kind", KINDS)
def test_what_fits_is_kept_and_what_would_be_changed_is_refused(kind: str, schema: str) -> None:
    dialect = Postgres()
    with server().connection(schema) as connection:
        connection.execute(f"CREATE TABLE rows (value {kind})")
        (column,) = dialect.columns(connection.cursor(), "rows")
        wrong = []
        for value in VALUES:
            if kind in ("json", "jsonb") and not isinstance(value, (list, dict, bool)):
                continue  # a text is a document, and others are what JSON has for them
            problem = dialect.problem(column, value)
            found = read_back(connection, dialect, column, value)
            if not problem and not is_equal(kind, found, value) and kind not in ("mood", "inet"):
                wrong.append(f"{value!r:.60} is {found!r:.60}")
            if problem and type(found) is type(value) and is_equal(kind, found, value):
                wrong.append(f"{value!r:.60}: {problem}")
        assert not set(wrong) - {ALLOWED.get(kind)}, wrong


def arguments(schema: str) -> dict[str, Any]:
    return {
        "database.module": "psycopg",
        "database.connect": {**server().arguments, "options": f"-csearch_path={schema}"},
        "database.table": "rows",
    }


def written(schema: str, rows: Any, fields: Any, **more: Any) -> tuple[Any, list[Any]]:
    topology = sinking(fields, DatabaseSink, {**arguments(schema), **more})
    with classes(given(rows), DatabaseSink):
        ended = natively(topology, keys.EFFECTIVELY_ONCE)[0]
    with server().connection(schema) as connection:
        return ended, connection.execute("SELECT * FROM rows ORDER BY 1").fetchall()


def table(schema: str, columns: str) -> None:
    with server().connection(schema) as connection:
        connection.execute(f"CREATE TABLE rows ({columns})")


def test_a_bad_row_costs_itself_alone(schema: str) -> None:
    table(schema, 'id int NOT NULL, "Price" numeric(4,2), at timestamptz')
    price, naive = Decimal("1.50"), datetime(2026, 1, 1)
    rows = [
        [1, price, naive.replace(tzinfo=UTC)],
        [2, Decimal("1.505"), None],
        [3, price, naive],
        [None, price, None],
        [5, None, None],
    ]
    more = {"database.columns": ["ID", '"Price"', "at"]}
    ended, found = written(schema, rows, {"id": None, "price": None, "at": None}, **more)
    assert [row[0] for row in found] == [1, 5]
    assert ended.failed == 3
    assert "the column is numeric(4,2)" in ended.errors[0]
    assert "it has no time zone" in ended.errors[1]
    assert "ID=None: the column is NOT NULL" in ended.errors[2]


def test_columns_are_added_with_the_types_that_are_declared(schema: str) -> None:
    table(schema, "id bigint")
    fields = {"id": "bigint", "price": "decimal(4,2)", "who": "struct<name: string>"}
    rows = [[1, Decimal("1.50"), {"name": "é"}], [2, None, None]]
    with pytest.raises(ComponentError, match="rows has no column price"):
        written(schema, rows, fields)
    ended, found = written(schema, rows, fields, **{"database.schema.mode": "merge"})
    assert not ended.failed
    assert found == [(1, Decimal("1.50"), {"name": "é"}), (2, None, None)]
    with server().connection(schema) as connection:
        kinds = [each.kind for each in Postgres().columns(connection.cursor(), "rows")]
    assert kinds == ["bigint", "numeric(4,2)", "jsonb"]


REFUSALS = """
    CREATE TABLE names (name text PRIMARY KEY);
    INSERT INTO names VALUES ('a');
    CREATE TABLE rows (
        id int PRIMARY KEY CHECK (id <> 2),
        name text REFERENCES names DEFERRABLE INITIALLY {when},
        after int REFERENCES rows DEFERRABLE INITIALLY {when});
    CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF NEW.id = 3 THEN RAISE 'never %', NEW.id USING ERRCODE = 'ZZ001'; END IF;
        RETURN NEW; END $$;
    CREATE TRIGGER never BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION never();
"""


@pytest.mark.parametrize("when", ["IMMEDIATE", "DEFERRED"])
def test_what_only_postgres_refuses_costs_its_row(when: str, schema: str) -> None:
    """A reference to a row that comes later holds where it is checked at the end."""
    with server().connection(schema) as connection:
        connection.execute(REFUSALS.format(when=when))
    given = [
        [1, "a", None], [2, "a", None], [3, "a", None], [4, "nobody", None], [1, "a", None],
        [6, "a", 7], [7, "a", 8], [8, "a", None],
    ]  # fmt: skip
    ended, found = written(schema, given, dict.fromkeys(("id", "name", "after")))
    assert [row[0] for row in found] == ([1, 6, 7, 8] if when == "DEFERRED" else [1, 8])
    assert ended.failed == len(given) - len(found)
    said = " ".join(ended.errors)
    for each in ("rows_id_check", "never 3", "rows_name_fkey", "rows_pkey"):
        assert each in said, each


def test_a_statement_that_postgres_does_not_take_costs_no_row(schema: str) -> None:
    table(schema, "id int, name text")
    more = {"database.statement": "INSERT INTO rows (id, nam) VALUES (%s, %s)"}
    ended, found = written(schema, [[1, "a"], [2, "b"]], {"id": None, "name": None}, **more)
    assert (found, ended.failed) == ([], 0)
    assert 'column "nam" of relation "rows" does not exist' in ended.errors[0]
