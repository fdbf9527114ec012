"""A topology that reads the rows of a real Postgres, and then its changes during transactions."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.postgres_support import MISSING, binaries, server
from tests.process.process_support import TOPOLOGIES, Place, Running, until
from tests.process.test_recovery import processes, title_of

TOPOLOGY = TOPOLOGIES / "postgres_changes.py"
ROWS_BEFORE = 4000
ROWS_PER_TRANSACTION = 20
TRANSACTIONS_PER_KILL = 10
PACE_SECS = 0.01
pytestmark = pytest.mark.skipif(binaries() is None, reason=MISSING)


class Writer:
    """Inserts numbers, some in each transaction, until it is stopped."""

    def __init__(self, table: str) -> None:
        self._table = table
        self.written = ROWS_BEFORE
        self._over = threading.Event()

    def run(self) -> None:
        with server().connection() as connection:
            connection.execute("SET synchronous_commit TO on")
            while not self._over.wait(PACE_SECS):
                first = self.written
                last = first + ROWS_PER_TRANSACTION - 1
                connection.execute(
                    f"INSERT INTO {self._table} SELECT generate_series(%s::bigint, %s)",
                    [first, last],
                )
                self.written = last + 1

    @contextmanager
    def writing(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()


def lines(place: Place) -> list[dict[str, Any]]:
    """What is written, in order of the files' names."""
    files = sorted((place.path / "out").glob("part-*"), key=lambda each: each.stat().st_mtime_ns)
    return [json.loads(line) for each in files for line in each.read_text().splitlines()]


def kill(running: Running, component: str) -> None:
    processes(running)[title_of(running, f"heron: {component}")].kill()


def run_and_kill(
    place: Place, table: str, mode: str, *victims: str
) -> tuple[list[dict[str, Any]], int]:
    """The source is killed during the first read of the rows, and victims during transactions, then
    the whole topology; the repeated command continues. Returns the written rows and their number.
    """
    with server().connection() as connection:
        connection.execute(f"CREATE TABLE {table} (number bigint PRIMARY KEY)")
        connection.execute(f"CREATE PUBLICATION {table} FOR TABLE {table}")
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [table])
        insert = f"INSERT INTO {table} SELECT generate_series(0, {ROWS_BEFORE - 1})"
        connection.execute(insert)
    more = {
        "postgres.connect": " ".join(f"{name}={each}" for name, each in server().arguments.items()),
        "postgres.slot": table,
        "postgres.publication": table,
        "postgres.snapshot": "initial",
        "file.folder": place.path / "out",
        "file.roll.secs": 0.2,
        "topology.reliability.mode": mode,
    }
    options = [word for pair in more.items() for word in ("-o", f"{pair[0]}={pair[1]}")]
    running, writer = place.start("run", TOPOLOGY, *options), Writer(table)

    def goes_on() -> None:
        wanted = writer.written + TRANSACTIONS_PER_KILL * ROWS_PER_TRANSACTION
        running.until(lambda: numbers_of(lines(place)) >= set(range(wanted)), "changes are written")

    running.until(lambda: lines(place), "rows are written")
    kill(running, "changes[0]")
    with writer.writing():
        goes_on()
        for victim in victims:
            kill(running, victim)
            goes_on()
        running.end()
        running = place.start("run", TOPOLOGY, *options)
        goes_on()
    wanted = set(range(writer.written))
    running.until(lambda: numbers_of(lines(place)) == wanted, "all are written")
    found = lines(place)
    last = max(each["lsn"] for each in found)
    running.until(lambda: is_advanced(table, last), "the slot is advanced behind the last change")
    running.end()
    until(lambda: not running.processes(), "all have ended")
    return found, writer.written


def numbers_of(found: list[dict[str, Any]]) -> set[int]:
    return {each["after"]["number"] for each in found}


def is_advanced(table: str, lsn: int) -> bool:
    """Whether the slot is behind a transaction."""
    with server().connection() as connection:
        ((found,),) = connection.execute(
            "SELECT confirmed_flush_lsn >= %s::text::pg_lsn FROM pg_replication_slots"
            " WHERE slot_name = %s",
            [f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}", table],
        ).fetchall()
    return bool(found)


def test_each_row_and_change_is_written_once_whatever_is_killed(place: Place) -> None:
    found, written = run_and_kill(place, "numbers", "EFFECTIVELY_ONCE", "changes[0]", "written[0]")
    assert [each["after"]["number"] for each in found] == list(range(written))
    reads = [each for each in found if each["operation"] == "read"]
    assert reads == found[: len(reads)]
    assert len(reads) >= ROWS_BEFORE
    assert [each["index"] for each in found[len(reads) :]] == [
        number % ROWS_PER_TRANSACTION for number in range(len(reads), written)
    ]


def test_no_row_or_change_is_missing_where_they_may_come_again(place: Place) -> None:
    """The slot is never advanced behind a change that is not acked, nor the saved position."""
    found, written = run_and_kill(place, "replayed", "ATLEAST_ONCE", "changes[0]")
    assert numbers_of(found) == set(range(written))
