"""Rows of a real Postgres: which are read, from where on, and what is refused in one line."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from heron_connectors.postgres import fetching
from heron_connectors.postgres.spout import PostgresSpout
from heron_core import config as keys
from heron_core.records import replace
from heronpy_compat.testing import TopologyTester
from tests.connectors.runs import SINK, SOURCE, Collected, classes, reading
from tests.postgres_support import WHERE_POSTGRES_IS, server
from tests.process.process_support import until

pytestmark = WHERE_POSTGRES_IS
EXACT, REPLAYED = keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE
ROWS = 50
_names = count()


class Rows(PostgresSpout):
    outputs = ["id", "value"]


@pytest.fixture
def table() -> Iterator[str]:
    """One with fifty rows."""
    name = f"rows{next(_names)}"
    run(f"CREATE TABLE {name} (id bigint PRIMARY KEY, value text)")
    run(f"INSERT INTO {name} SELECT n, 'v' || n FROM generate_series(1, {ROWS}) n")
    yield name
    gc.collect()  # a spout that was crashed leaves its session open, as its process is still there
    end_sessions()
    run(f"DROP TABLE IF EXISTS {name} CASCADE")


def run(statement: str) -> None:
    with server().connection() as connection:
        connection.execute(statement)


def end_sessions() -> None:
    run(
        "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity"
        " WHERE application_name LIKE 'heronpy %'"
    )


@contextmanager
def topology(
    config: dict[str, Any], mode: str = EXACT, instances: int = 1, types: tuple[str, ...] = ()
) -> Iterator[TopologyTester]:
    spec = reading(["id", "value"], {"postgres.connect": server().arguments, **config}, types)
    source, sink = spec.components
    spec = replace(spec, components=(replace(source, parallelism=instances), sink))
    with (
        classes(Rows, Collected),
        TopologyTester(spec, config={keys.RELIABILITY_MODE: mode}, patch_time=False) as tester,
    ):
        yield tester


def rows(tester: TopologyTester) -> list[list[Any]]:
    (last,) = tester.component(SINK)
    return list(last.rows)


def errors(tester: TopologyTester) -> str:
    return " ".join(each.text for each in tester.errors(SOURCE))


def until_there(tester: TopologyTester, condition: Callable[[], Any], what: str) -> None:
    def is_there() -> bool:
        tester.run_spouts(1)
        return bool(condition())

    until(is_there, what)


def read(tester: TopologyTester, number: int = ROWS) -> list[list[Any]]:
    until_there(tester, lambda: len(rows(tester)) >= number, f"{number} rows")
    tester.finish()
    return rows(tester)


@pytest.mark.parametrize("mode", [EXACT, REPLAYED, keys.ATMOST_ONCE])
def test_each_row_of_a_table_comes_once_and_the_spout_finishes(table: str, mode: str) -> None:
    with topology({"postgres.table": table}, mode) as tester:
        assert read(tester) == [[number, f"v{number}"] for number in range(1, ROWS + 1)]
        assert not errors(tester)


def test_instances_share_the_rows_and_a_killed_one_goes_on_at_its_key(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are added behind and removed from what was read meanwhile: the key says where it was."""
    monkeypatch.setattr(fetching, "FETCH_ROWS", 3)
    with topology({"postgres.table": table}, instances=3) as tester:
        tester.run_spouts(5)
        assert tester.checkpoint()
        tester.run_spouts(2)
        tester.crash(SOURCE)
        run(f"DELETE FROM {table} WHERE id < 10")
        run(f"INSERT INTO {table} VALUES ({ROWS + 1}, 'new')")
        tester.run_spouts(3)
        assert tester.checkpoint()
        tester.crash(SINK)
        until_there(
            tester, lambda: ROWS + 1 in {row[0] for row in rows(tester)}, "the row that was added"
        )
        for _ in range(ROWS):
            tester.run_spouts(1)
        found = [row[0] for row in rows(tester)]
        assert len(found) == len(set(found))
        assert set(range(10, ROWS + 2)) <= set(found)
        assert not errors(tester)


def test_a_session_that_the_server_ends_is_begun_again_at_the_key(table: str) -> None:
    with topology({"postgres.table": table}, REPLAYED) as tester:
        for _ in range(4):
            tester.run_spouts(3)
            (spout,) = tester.component(SOURCE)
            spout._rows.clear()  # as if the answer held no more
            end_sessions()
        assert [row[0] for row in read(tester)] == list(range(1, ROWS + 1))


def test_a_query_with_a_key_of_two_columns_is_read_in_its_order(table: str) -> None:
    query = f"SELECT id % 5 AS id, value, id AS n FROM {table} WHERE value LIKE 'v%';"
    config = {"postgres.query": query, "postgres.key": ["id", "n"]}
    with topology(config) as tester:
        tester.run_spouts(23)
        assert tester.checkpoint()
        tester.run_spouts(2)
        tester.crash(SOURCE)
        wanted = sorted([n % 5, n] for n in range(1, ROWS + 1))
        assert read(tester) == [[rest, f"v{n}"] for rest, n in wanted]


def test_a_declared_type_holds(table: str) -> None:
    run(f"ALTER TABLE {table} ALTER value TYPE numeric USING id / 2.0")
    with topology({"postgres.table": table}, types=("bigint", "decimal(10,2)")) as tester:
        assert [float(row[1]) for row in read(tester)] == [n / 2 for n in range(1, ROWS + 1)]
    with topology({"postgres.table": table}, types=("bigint", "string")) as tester:
        until_there(tester, lambda: len(tester.errors(SOURCE)) >= ROWS, "each is refused")
        assert "value" in errors(tester)
        assert not rows(tester)


def test_a_row_that_python_cannot_hold_costs_itself(table: str) -> None:
    run(f"ALTER TABLE {table} ADD at date")
    run(f"UPDATE {table} SET at = 'infinity' WHERE id = 7")
    run(f"CREATE VIEW {table}_at AS SELECT id, at AS value FROM {table}")
    with topology({"postgres.table": f"{table}_at", "postgres.key": "id"}) as tester:
        found = read(tester, ROWS - 1)
        assert 7 not in {row[0] for row in found}
        assert (
            f"{table}_at, key 7: value: infinity is outside the range of Python's dates"
        ) in errors(tester)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"postgres.table": "absent"}, "has no table absent"),
        ({"postgres.query": "SELECT 1 AS id", "postgres.key": "id"}, "has no column value"),
        (
            {"postgres.query": "SELECT 1 AS id, n AS value FROM generate_series(1, 2) n"}
            | {"postgres.key": "id"},
            "two rows of the query have the key 1: name columns",
        ),
        (
            {"postgres.query": "SELECT NULL::int AS id, 2 AS value", "postgres.key": "id"},
            "a row has NULL in its key id",
        ),
        ({"postgres.table": "pg_tables", "postgres.key": "x"}, "pg_tables has no column id"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(config: dict[str, Any], told: str) -> None:
    with topology(config) as tester:
        until_there(tester, lambda: told in errors(tester), told)


def test_a_table_without_a_primary_key_needs_a_key(table: str) -> None:
    run(f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey")
    with topology({"postgres.table": table}) as tester:
        until_there(tester, lambda: f"{table} has no primary key" in errors(tester), "told")
    with topology({"postgres.table": table, "postgres.key": "id"}) as tester:
        assert len(read(tester)) == ROWS


def test_a_column_that_is_dropped_between_two_sessions_is_named(table: str) -> None:
    """And one that is added changes nothing."""
    with topology({"postgres.table": table}) as tester:
        tester.run_spouts(5)
        assert tester.checkpoint()
        end_sessions()
        run(f"ALTER TABLE {table} ADD more int")
        tester.crash(SOURCE)
        found = rows(tester)
        until_there(tester, lambda: len(rows(tester)) > len(found), "more rows")
        assert tester.checkpoint()
        end_sessions()
        run(f"ALTER TABLE {table} DROP value")
        tester.crash(SOURCE)
        told = f"{table} has no column value, but id, more"
        until_there(tester, lambda: told in errors(tester), told)
        assert [row[0] for row in rows(tester)] == list(range(1, len(rows(tester)) + 1))


def test_a_state_of_another_table_or_of_other_instances_is_refused(table: str) -> None:
    with topology({"postgres.table": table}) as tester:
        tester.run_spouts(3)
        assert tester.checkpoint()
        (spout,) = tester.component(SOURCE)
        saved = spout._state.get("heronpy.postgres_spout")
        assert saved["after"] == ["3"]
        for what, other in (("table", "others"), ("share", [0, 2])):
            with pytest.raises(Exception, match=f"its state belongs to the {what}"):
                spout._restore({**saved, what: other})
