"""Rows older than the slot in a real Postgres, and then their changes: each comes exactly once."""

from pathlib import Path
from typing import Any

import pytest

from heron_connectors.postgres import fetching
from heron_core import config as keys
from heronpy_compat.testing import TopologyTester
from tests.connectors.postgres_shop_support import (
    EXACT,
    OUTPUTS,
    REPLAYED,
    Changes,
    Shop,
    crash,
    errors,
    read,
    rows,
    topology,
    until_there,
)
from tests.connectors.runs import Collected, SparkRun, classes, reading
from tests.postgres_support import WHERE_POSTGRES_IS, server

pytestmark = WHERE_POSTGRES_IS
ROWS = 20
INITIAL = {"postgres.snapshot": "initial"}


@pytest.fixture
def shop(shop: Shop) -> Shop:
    """With twenty rows, half older than the slot."""
    shop.drop_slot()
    shop.run(f"INSERT INTO rows SELECT n, 'a' FROM generate_series(1, {ROWS // 2}) n")
    shop.make_slot()
    shop.run(f"INSERT INTO rows SELECT n, 'b' FROM generate_series({ROWS // 2 + 1}, {ROWS}) n")
    return shop


def applied(changes: list[list[Any]]) -> dict[int, Any]:
    """The table made by the changes, in order; AssertionError for a change without its base."""
    found: dict[int, Any] = {}
    for operation, before, after, unchanged, _ in changes:
        assert not unchanged
        if operation in ("read", "insert"):
            assert after["id"] not in found, f"{after} came twice"
        else:
            del found[(before or after)["id"]]
        if after is not None:
            found[after["id"]] = after["value"]
    return found


def table_of(shop: Shop) -> dict[int, Any]:
    return dict(shop.run("SELECT id, value FROM rows"))


def until_applied(tester: TopologyTester, shop: Shop) -> None:
    """All changes are reported, without a surplus."""
    until_there(tester, lambda: applied(rows(tester)) == table_of(shop), "all changes")
    shop.run("INSERT INTO rows VALUES (1000, 'last')")
    until_there(tester, lambda: (rows(tester)[-1][2] or {}).get("id") == 1000, "the last change")
    assert applied(rows(tester)) == table_of(shop)


@pytest.mark.parametrize("mode", [EXACT, REPLAYED])
def test_the_rows_before_the_slot_come_first_and_then_the_changes(shop: Shop, mode: str) -> None:
    with topology(shop, mode, **INITIAL) as tester:
        found = read(tester, ROWS)
        assert [row[0] for row in found] == ["read"] * ROWS
        assert [row[4] for row in found] == list(range(ROWS))
        shop.run("UPDATE rows SET value = 'c' WHERE id = 7")
        until_applied(tester, shop)
        assert not errors(tester)
        assert len(rows(tester)) == ROWS + 2


def test_killed_between_two_rows_it_goes_on_in_another_snapshot(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows on both sides of the place are changed meanwhile, and some cross the place; one
    transaction outside of the snapshot starts before the place."""
    monkeypatch.setattr(fetching, "FETCH_ROWS", 3)
    with topology(shop, **INITIAL) as tester, server().connection() as other:
        tester.run_spouts(8)
        assert tester.checkpoint()
        tester.run_spouts(4)
        crash(tester)
        with other.transaction():
            other.execute(f"UPDATE {shop.name} SET value = 'open' WHERE id IN (2, 18)")
            for statement in (
                "UPDATE rows SET value = 'x' WHERE id IN (1, 20)",
                "UPDATE rows SET id = 103 WHERE id = 3",
                "UPDATE rows SET id = -19 WHERE id = 19",
                "UPDATE rows SET id = -4 WHERE id = 4",
                "UPDATE rows SET id = 117 WHERE id = 17",
                "DELETE FROM rows WHERE id IN (5, 16)",
                "INSERT INTO rows VALUES (0, 'new'), (110, 'new')",
            ):
                shop.run(statement)
            read(tester, 12)
            shop.run("UPDATE rows SET value = 'y' WHERE id IN (1, 20)")
        assert tester.checkpoint()
        tester.run_spouts(2)
        crash(tester)
        until_applied(tester, shop)
        operations = {row[0] for row in rows(tester)}
        assert operations == {"read", "insert", "update", "delete"}
        assert not errors(tester)


def test_a_snapshot_that_is_done_is_kept_no_longer_than_needed(shop: Shop) -> None:
    with topology(shop, **INITIAL) as tester:
        read(tester, ROWS)
        (spout,) = tester.component("source")
        shop.run("INSERT INTO rows VALUES (500, 'after')")
        read(tester, ROWS + 1)
        until_there(tester, lambda: not spout._snapshot.tables, "the parts are forgotten")
        assert tester.checkpoint()
        crash(tester)
        shop.run("INSERT INTO rows VALUES (501, 'after')")
        until_applied(tester, shop)


def test_what_the_publication_leaves_out_is_not_read(shop: Shop) -> None:
    shop.run(
        "ALTER TABLE rows ADD more int DEFAULT 7, ADD twice int GENERATED ALWAYS AS (id) STORED"
    )
    shop.run("ALTER PUBLICATION rows SET TABLE rows (id, value) WHERE (id > 5)")
    with topology(shop, **INITIAL) as tester:
        read(tester, ROWS - 5)
        shop.run("INSERT INTO rows VALUES (3000, 'a', 1)")
        found = read(tester, ROWS - 4)
        assert [row[2]["id"] for row in found] == [*range(6, ROWS + 1), 3000]
        assert {tuple(row[2]) for row in found} == {("id", "value")}


@pytest.mark.parametrize("is_whole", ["false", "true"])
def test_parts_of_a_table_and_heirs_are_read_once(
    shop: Shop, is_whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A partitioned table as partitions or as a whole, and an inherited table; row by row, each
    table with columns of its own."""
    monkeypatch.setattr(fetching, "FETCH_ROWS", 1)
    monkeypatch.setattr(fetching, "FETCH_BYTES", 1)
    shop.run(
        "CREATE TABLE rows_p (more int, id bigint PRIMARY KEY, value text) PARTITION BY RANGE (id)"
    )
    shop.run("CREATE TABLE rows_p1 PARTITION OF rows_p FOR VALUES FROM (1) TO (10)")
    shop.run("CREATE TABLE rows_p2 PARTITION OF rows_p FOR VALUES FROM (10) TO (100)")
    shop.run("CREATE TABLE rows_heir (PRIMARY KEY (id)) INHERITS (rows)")
    shop.run("INSERT INTO rows_p SELECT 1, n, 'p' FROM generate_series(5, 14) n")
    shop.run("INSERT INTO rows_heir VALUES (200, 'heir')")
    shop.run("ALTER PUBLICATION rows SET TABLE rows, rows_p")
    shop.run(f"ALTER PUBLICATION rows SET (publish_via_partition_root = {is_whole})")
    with topology(shop, **INITIAL) as tester:
        read(tester, ROWS + 11)
        shop.run("INSERT INTO rows_p VALUES (1, 20, 'p')")
        found = read(tester, ROWS + 12)
        ids = sorted(row[2]["id"] for row in found if row[2]["value"] == "p")
        assert ids == [*range(5, 15), 20]
        assert [row[0] for row in found] == ["read"] * (ROWS + 11) + ["insert"]
        assert not errors(tester)


def refused(shop: Shop, told: str) -> None:
    with topology(shop, **INITIAL) as tester:
        until_there(tester, lambda: told in errors(tester), told)
        assert not rows(tester)


def test_a_table_that_cannot_be_read_by_its_key_is_refused(shop: Shop) -> None:
    shop.run("ALTER TABLE rows REPLICA IDENTITY NOTHING")
    refused(shop, "REPLICA IDENTITY DEFAULT, or read its changes alone")
    shop.run("ALTER TABLE rows REPLICA IDENTITY DEFAULT")
    shop.run("ALTER TABLE rows DROP CONSTRAINT rows_pkey")
    refused(shop, f"reads public.{shop.name} by its primary key, which is missing")


def test_a_table_that_is_gone_in_the_middle_is_told(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "FETCH_ROWS", 3)
    with topology(shop, **INITIAL) as tester:
        tester.run_spouts(5)
        assert tester.checkpoint()
        crash(tester)
        shop.run("DROP TABLE rows")
        told = f"public.{shop.name} was dropped (or is not published), and its"
        until_there(tester, lambda: told in errors(tester), told)


def test_a_snapshot_needs_a_state(shop: Shop) -> None:
    with topology(shop, keys.ATMOST_ONCE, **INITIAL) as tester:
        told = "postgres.snapshot needs a state, which ATMOST_ONCE does not keep"
        until_there(tester, lambda: told in errors(tester), told)
        assert not rows(tester)
    wrong = pytest.raises(Exception, match=r"postgres\.snapshot is initial or never, not 'always'")
    with wrong, topology(shop, EXACT, **{"postgres.snapshot": "always"}):
        pass
    with topology(shop) as tester:
        read(tester, ROWS // 2)
        (spout,) = tester.component("source")
        saved = spout._saved(spout._position)
        spout._has_snapshot = True
        with pytest.raises(Exception, match="its state started with changes, without the rows"):
            spout._restore(saved)


def test_on_spark_rows_and_changes_come_once(shop: Shop, tmp_path: Path) -> None:
    with classes(Changes, Collected):
        run = SparkRun(reading(OUTPUTS, {**shop.config, **INITIAL}), tmp_path, 3)
        for batch in run.run():
            if batch == 2:
                shop.run("UPDATE rows SET value = 'c'")
            if len(run.last_rows) >= 2 * ROWS:
                break
        assert applied(run.last_rows) == table_of(shop)
        run._host.close()
