"""Changes of a real Postgres: what is read, from where on, and what is refused in one line."""

from pathlib import Path

import pytest

from heron_connectors.postgres import fetching
from heron_connectors.postgres import slot as postgres_slot
from heron_core import config as keys
from heron_core.records import replace
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
from tests.connectors.runs import SINK, SOURCE, Collected, SparkRun, classes, reading
from tests.postgres_support import WHERE_POSTGRES_IS, server

pytestmark = WHERE_POSTGRES_IS


@pytest.mark.parametrize("mode", [EXACT, REPLAYED, keys.ATMOST_ONCE])
def test_each_kind_of_change_is_told_as_it_was(shop: Shop, mode: str) -> None:
    shop.run("INSERT INTO rows VALUES (1, 'a')")
    shop.run("ALTER TABLE rows ALTER value SET STORAGE EXTERNAL")
    shop.run("UPDATE rows SET value = repeat('x', 10000)")
    shop.run("UPDATE rows SET id = 2")
    shop.run(
        "ALTER TABLE rows ADD twice bigint GENERATED ALWAYS AS (id * 2) STORED, ADD more int[]"
    )
    shop.run("UPDATE rows SET more = '{1,NULL}'")
    shop.run("ALTER TABLE rows REPLICA IDENTITY FULL")
    shop.run("UPDATE rows SET more = NULL")
    shop.run("DELETE FROM rows")
    shop.run("TRUNCATE rows")
    large = "x" * 10_000
    with topology(shop, mode) as tester:
        found = read(tester, 7)
        assert not tester.errors(SOURCE)
    assert found == [
        ["insert", None, {"id": 1, "value": "a"}, [], 0],
        ["update", None, {"id": 1, "value": large}, [], 0],
        ["update", {"id": 1}, {"id": 2}, ["value"], 0],
        ["update", None, {"id": 2, "more": [1, None]}, ["value"], 0],
        [
            "update",
            {"id": 2, "value": large, "more": [1, None]},
            {"id": 2, "value": large, "more": None},
            [],
            0,
        ],
        ["delete", {"id": 2, "value": large, "more": None}, None, [], 0],
        ["truncate", None, None, [], 0],
    ]


def test_a_change_that_python_cannot_hold_costs_itself(shop: Shop) -> None:
    shop.run("ALTER TABLE rows ADD at date")
    shop.run("INSERT INTO rows VALUES (1, 'a', 'infinity'), (2, 'b', '2026-01-02')")
    with topology(shop) as tester:
        assert read(tester, 1)[0][2]["id"] == 2
        assert (
            f"public.{shop.name}: at: infinity is outside the range of Python's dates"
        ) in errors(tester)


def test_a_transaction_that_is_larger_than_a_page_is_read_in_parts_and_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the middle of it, it goes on there; a page has ten messages, a part three."""
    monkeypatch.setattr(postgres_slot, "PAGE_CHANGES", 10)
    monkeypatch.setattr(fetching, "FETCH_ROWS", 3)
    monkeypatch.setattr(fetching, "FETCH_BYTES", 100)
    for first in (0, 50, 52):
        shop.run(
            f"INSERT INTO rows SELECT generate_series({first}, {first} + 49)"
            if first == 0
            else f"INSERT INTO rows VALUES ({first}), ({first + 1})"
        )
    with topology(shop) as tester:
        tester.run_spouts(20)
        assert tester.checkpoint()
        tester.run_spouts(7)
        crash(tester)
        found = read(tester, 54)
        tester.run_spouts(5)
        assert [row[2]["id"] for row in rows(tester)] == list(range(54))
    assert [row[4] for row in found] == [*range(50), 0, 1, 0, 1]


def test_the_slot_is_advanced_when_a_checkpoint_is_complete_and_not_before(shop: Shop) -> None:
    before = shop.confirmed()
    shop.run("INSERT INTO rows VALUES (1)")
    with topology(shop) as tester:
        read(tester, 1)
        tester.run_spouts(5)
        assert shop.confirmed() == before
        assert tester.checkpoint()
        until_there(tester, lambda: shop.confirmed() != before, "the slot is advanced")
        shop.run("CREATE TABLE IF NOT EXISTS others AS SELECT 1")
        now = shop.confirmed()
        until_there(
            tester,
            lambda: tester.checkpoint() and shop.confirmed() != now,
            "the slot does not hold the log of tables that are not read",
        )


def test_a_slot_that_another_reader_has_advanced_is_refused(shop: Shop) -> None:
    shop.run("INSERT INTO rows VALUES (1)")
    with topology(shop) as tester:
        read(tester, 1)
        assert tester.checkpoint()
        shop.run("INSERT INTO rows VALUES (2)")
        shop.run(f"SELECT pg_replication_slot_advance('{shop.name}', pg_current_wal_lsn())")
        crash(tester)
        until_there(
            tester, lambda: "another reader has advanced the slot" in errors(tester), "told"
        )
        assert len(rows(tester)) == 1


def test_a_slot_of_a_standby_that_has_taken_over_is_refused(shop: Shop) -> None:
    """The standby may lack the newest changes, and has others at their positions."""
    shop.run("INSERT INTO rows VALUES (1)")
    with topology(shop) as tester:
        read(tester, 1)
        assert tester.checkpoint()
        (spout,) = tester.component(SOURCE)
        timeline = spout._log.timeline
        server().promote()
        shop.connection = server().connection()
        shop.run("INSERT INTO rows VALUES (2)")
        told = f"(timeline {timeline}, and now {timeline + 1}): changes before 0/"
        until_there(tester, lambda: told in errors(tester), "told")
        assert len(rows(tester)) == 1
    with topology(shop) as tester:  # without that state, from where the slot is
        assert [each[2]["id"] for each in read(tester, 2)] == [1, 2]


def test_a_slot_that_is_not_there_is_named_with_the_statement_that_makes_it(shop: Shop) -> None:
    shop.drop_slot()
    with topology(shop) as tester:
        statement = f"SELECT pg_create_logical_replication_slot('{shop.name}', 'pgoutput')"
        until_there(tester, lambda: statement in errors(tester), "told")
        assert not rows(tester)
    shop.make_slot()


def test_a_second_reader_waits_until_the_first_one_has_ended(shop: Shop) -> None:
    shop.run("INSERT INTO rows VALUES (1)")
    with server().connection() as other, topology(shop) as tester:
        lock = f"(hashtextextended('heronpy:{shop.name}', 0))"
        other.execute(f"SELECT pg_advisory_lock{lock}")
        tester.run_spouts(3)
        (spout,) = tester.component(SOURCE)
        assert spout._patience.busy_since is not None
        assert not rows(tester)
        other.execute(f"SELECT pg_advisory_unlock{lock}")
        read(tester, 1)
        assert spout._patience.busy_since is None


def test_a_session_that_the_server_ends_is_begun_again_without_a_change_twice(shop: Shop) -> None:
    with topology(shop, REPLAYED) as tester:
        for number in range(4):
            shop.run(f"INSERT INTO rows VALUES ({number})")
            read(tester, number + 1)
            shop.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name LIKE 'heronpy %'"
            )
        assert [row[2]["id"] for row in rows(tester)] == list(range(4))


def test_a_change_that_fails_comes_again_until_it_is_acked(shop: Shop) -> None:
    for number in range(3):
        shop.run(f"INSERT INTO rows VALUES ({number})")
    with topology(shop, REPLAYED) as tester:
        is_failing = True
        tester.fail(SINK, lambda tup: is_failing and tup.values[2]["id"] == 1, times=None)
        until_there(tester, lambda: len(tester.acked(SOURCE)) == 2, "the others are acked")
        (spout,) = tester.component(SOURCE)
        assert list(spout._pending.values()) == [["insert", None, {"id": 1, "value": None}, [], 0]]
        is_failing = False
        until_there(tester, lambda: len(tester.acked(SOURCE)) == 3, "it comes again")
        assert not spout._pending


def test_more_than_one_instance_is_refused_in_one_line(shop: Shop) -> None:
    spec = reading(OUTPUTS, shop.config)
    source, sink = spec.components
    two = replace(spec, components=(replace(source, parallelism=2), sink))
    with (
        classes(Changes, Collected),
        pytest.raises(Exception, match="a slot has one reader at a time: set its parallelism to 1"),
        TopologyTester(two),
    ):
        pass


def test_on_spark_each_change_comes_once_and_the_slot_is_advanced(
    shop: Shop, tmp_path: Path
) -> None:
    before = shop.confirmed()
    for number in range(9):
        shop.run(f"INSERT INTO rows VALUES ({number})")
    with classes(Changes, Collected):
        run = SparkRun(reading(OUTPUTS, shop.config), tmp_path, 2)
        for _ in run.run():
            if len(run.last_rows) >= 9 and shop.confirmed() != before:
                break
        assert [row[2]["id"] for row in run.last_rows] == list(range(9))
        run._host.close()
