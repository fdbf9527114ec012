"""A table of a real Postgres with a publication and a slot, and a topology that reads both."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg

from heron_core import config as keys
from heronpy_compat.connectors.postgres import PostgresChangesSpout
from heronpy_compat.testing import TopologyTester
from tests.connectors.runs import SINK, SOURCE, Collected, classes, reading
from tests.postgres_support import server
from tests.process.process_support import until

OUTPUTS: list[Any] = ["operation", "before", "after", "unchanged", "index"]
EXACT, REPLAYED = keys.EFFECTIVELY_ONCE, keys.ATLEAST_ONCE
_names = count()


class Shop:
    """A table with a publication and a slot, all of one name."""

    def __init__(self) -> None:
        self.name = f"shop{next(_names)}"
        self.connection = server().connection()
        self.run("SET synchronous_commit TO on")
        self.run(f"CREATE TABLE {self.name} (id bigint PRIMARY KEY, value text)")
        self.run(f"CREATE PUBLICATION {self.name} FOR TABLE {self.name}")
        self.make_slot()

    def run(self, statement: str) -> list[Any]:
        done = self.connection.execute(statement.replace("rows", self.name))
        return done.fetchall() if done.description else []

    def make_slot(self) -> None:
        self.run(f"SELECT pg_create_logical_replication_slot('{self.name}', 'pgoutput')")

    def drop_slot(self) -> None:
        def dropped() -> bool:
            try:
                self.run(f"SELECT pg_drop_replication_slot('{self.name}')")
            except psycopg.errors.ObjectInUse:
                return False
            return True

        until(dropped, "the slot is free")

    @property
    def config(self) -> dict[str, Any]:
        return {
            "postgres.connect": server().arguments,
            "postgres.slot": self.name,
            "postgres.publication": self.name,
            "postgres.poll.secs": 0.01,
        }

    def confirmed(self) -> str:
        ((found,),) = self.run(
            "SELECT confirmed_flush_lsn::text FROM pg_replication_slots"
            f" WHERE slot_name = '{self.name}'"
        )
        return str(found)


class Changes(PostgresChangesSpout):
    outputs = OUTPUTS


@contextmanager
def topology(shop: Shop, mode: str = EXACT, **more: Any) -> Iterator[TopologyTester]:
    spec = reading(OUTPUTS, {**shop.config, **more})
    config = {keys.RELIABILITY_MODE: mode}
    with (
        classes(Changes, Collected),
        TopologyTester(spec, config=config, patch_time=False) as tester,
    ):
        yield tester


def rows(tester: TopologyTester) -> list[Any]:
    (last,) = tester.component(SINK)
    return list(last.rows)


def errors(tester: TopologyTester) -> str:
    return " ".join(each.text for each in tester.errors(SOURCE))


def crash(tester: TopologyTester) -> None:
    """As kill -9: what is left of its connection ends with the process."""
    (spout,) = tester.component(SOURCE)
    session = spout._session
    session._connection.pgconn.finish()
    tester.crash(SOURCE)
    session.close()  # nothing reaches the server, and psycopg warns of no cursor that is left open


def until_there(tester: TopologyTester, condition: Callable[[], Any], what: str) -> None:
    def is_there() -> bool:
        tester.run_spouts(1)
        return bool(condition())

    until(is_there, what)


def read(tester: TopologyTester, number: int) -> list[Any]:
    until_there(tester, lambda: len(rows(tester)) >= number, f"{number} changes")
    return rows(tester)
