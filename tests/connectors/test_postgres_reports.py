"""What people have reported of readers of Postgres elsewhere, reduced to what is done and what is
right, and tried here. The references are of the reports; the words are ours.

Of these the other tests of Postgres are the trial: apache/seatunnel#11556 (changes while rows are
read were lost) and electric-sql/electric#2313 (those of transactions that begin before a snapshot
came twice): test_postgres_initial.py::test_killed_between_two_rows_it_goes_on_in_another_snapshot.
alias2k/flusso#111, bruin-data/ingestr#900, apache/flink-cdc#106 (a slot held the log of tables that
are not read) and airbytehq/airbyte#49803, airbytehq/airbyte#55846 (a slot was advanced behind what
was saved): test_postgres_changes.py::
test_the_slot_is_advanced_when_a_checkpoint_is_complete_and_not_before.
"""

from typing import Any

import pytest

from tests.connectors.postgres_shop_support import Shop, crash, errors, read, rows, topology
from tests.postgres_support import WHERE_POSTGRES_IS
from tests.process.process_support import until

pytestmark = WHERE_POSTGRES_IS
INITIAL = {"postgres.snapshot": "initial"}
LARGE = "x" * 10_000


def keyed_by(shop: Shop, columns: str, key: str) -> None:
    """The table has other columns, and another primary key."""
    shop.run("DROP TABLE rows")
    shop.run(f"CREATE TABLE rows ({columns}, PRIMARY KEY ({key}))")
    shop.run("ALTER PUBLICATION rows ADD TABLE rows")
    shop.drop_slot()
    shop.make_slot()


def read_in_two_parts(shop: Shop, number: int) -> list[Any]:
    """With a kill in the middle of the table, and a change on each side of that place."""
    with topology(shop, **INITIAL) as tester:
        first = len(read(tester, 4))
        assert tester.checkpoint()
        assert len(rows(tester)) == first < number
        crash(tester)
        shop.run("UPDATE rows SET value = 'changed'")

        def is_there() -> bool:
            tester.run_spouts(1)
            return len(rows(tester)) >= number + first

        until(is_there, "the rows, and the changes of the first part")
        tester.run_spouts(3)
        assert not errors(tester)
        return rows(tester)


@pytest.mark.parametrize(
    ("columns", "key", "row"),
    [
        # apache/flink-cdc#3108: a key of UUIDs cannot be divided by its least and greatest value.
        ("id uuid DEFAULT gen_random_uuid(), value text", "id", "DEFAULT"),
        # apache/seatunnel#11742: of a key of two columns only one is looked at.
        ('id int, part text COLLATE "C", value text', "id, part", "n % 2, 'p' || n"),
    ],
    ids=["uuid", "two-columns"],
)
def test_a_table_is_read_by_whatever_key_it_has(
    shop: Shop, columns: str, key: str, row: str
) -> None:
    keyed_by(shop, columns, key)
    if row == "DEFAULT":
        shop.run("INSERT INTO rows (value) SELECT 'v' || n FROM generate_series(1, 9) n")
    else:
        shop.run(f"INSERT INTO rows SELECT {row}, 'v' || n FROM generate_series(1, 9) n")
    found = read_in_two_parts(shop, 9)
    names = [each.strip() for each in key.split(",")]
    keys = [tuple(row[2][name] for name in names) for row in found]
    first = len(found) - 9
    assert [row[0] for row in found] == ["read"] * 9 + ["update"] * first
    assert len(set(keys[:9])) == 9
    assert set(keys[9:]) == set(keys[:first])
    assert [row[2]["value"] for row in found[first:]] == ["changed"] * 9


def test_a_large_value_that_an_update_leaves_is_no_null(shop: Shop) -> None:
    """lukashes/outboxx#53, redpanda-data/connect#3106, MaterializeInc/materialize#8371 and
    2ndQuadrant/pglogical#8 (of an array that must have a value)."""
    shop.run("ALTER TABLE rows ADD many int[] NOT NULL DEFAULT '{}', ADD n int")
    for column in ("value", "many"):
        shop.run(f"ALTER TABLE rows ALTER {column} SET STORAGE EXTERNAL")
    many = list(range(3000))
    shop.run(f"INSERT INTO rows VALUES (1, '{LARGE}', ARRAY{many}, 0)")
    shop.run("UPDATE rows SET n = 1")
    shop.run("ALTER TABLE rows REPLICA IDENTITY FULL")
    shop.run("UPDATE rows SET n = 2")
    with topology(shop) as tester:
        _, plain, full = read(tester, 3)
    assert plain[2:4] == [{"id": 1, "n": 1}, ["value", "many"]]
    assert full[2:4] == [{"id": 1, "value": LARGE, "many": many, "n": 2}, []]


def test_types_that_python_does_not_have_are_told_and_none_becomes_null(shop: Shop) -> None:
    """xataio/pgstream#451 (infinite times end the snapshot), airbytehq/airbyte#7911 (tsquery is
    null), dlt-hub/verified-sources#657 (timestamp and json)."""
    shop.run("ALTER TABLE rows ADD at timestamp, ADD words tsquery, ADD more json")
    shop.run("INSERT INTO rows VALUES (1, 'a', '-infinity'), (2, 'b', '2026-01-02 03:04:05')")
    shop.run("UPDATE rows SET words = 'a & b', more = '[1]' WHERE id = 2")
    with topology(shop, **INITIAL) as tester:
        ((operation, _, after, _, _),) = read(tester, 1)
        assert (
            f"public.{shop.name}: at: -infinity is outside the range of Python's dates"
        ) in errors(tester)
    assert operation == "read"
    assert str(after.pop("at")) == "2026-01-02 03:04:05"
    assert after == {"id": 2, "value": "b", "words": "'a' & 'b'", "more": [1]}
