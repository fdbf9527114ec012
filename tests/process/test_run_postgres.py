"""A topology that reads the changes of a real Postgres while transactions are written."""

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
ROWS_PER_TRANSACTION = 20
TRANSACTIONS_PER_KILL = 10
PACE_SECS = 0.01
pytestmark = pytest.mark.skipif(binaries() is None, reason=MISSING)


class Writer:
    """Inserts numbers, some in each transaction, until it is stopped."""

    def __init__(self) -> None:
        self.written = 0
        self._over = threading.Event()

    def run(self) -> None:
        with server().connection() as connection:
            connection.execute("SET synchronous_commit TO on")
            while not self._over.wait(PACE_SECS):
                first = self.written
                last = first + ROWS_PER_TRANSACTION - 1
                connection.execute(
                    "INSERT INTO numbers SELECT generate_series(%s::bigint, %s)", [first, last]
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


def test_each_change_is_written_once_whatever_is_killed(place: Place) -> None:
    """Source and sink are killed while transactions are written, then all of it; the same command
    goes on, and the slot has no log left that was done."""
    with server().connection() as connection:
        connection.execute("CREATE TABLE numbers (number bigint PRIMARY KEY)")
        connection.execute("CREATE PUBLICATION numbers FOR TABLE numbers")
        connection.execute("SELECT pg_create_logical_replication_slot('numbers', 'pgoutput')")
    how = " ".join(f"{name}={each}" for name, each in server().arguments.items())
    more = {
        "postgres.connect": how,
        "postgres.slot": "numbers",
        "postgres.publication": "numbers",
        "file.folder": place.path / "out",
    }
    options = [word for pair in more.items() for word in ("-o", f"{pair[0]}={pair[1]}")]
    running, writer = place.start("run", TOPOLOGY, *options), Writer()

    def goes_on() -> None:
        wanted = writer.written + TRANSACTIONS_PER_KILL * ROWS_PER_TRANSACTION
        running.until(lambda: len(lines(place)) >= wanted, "changes are written")

    with writer.writing():
        goes_on()
        for victim in ("changes[0]", "written[0]"):
            kill(running, victim)
            goes_on()
        running.end()
        running = place.start("run", TOPOLOGY, *options)
        goes_on()
    running.until(lambda: len(lines(place)) >= writer.written, "all are written")
    found = lines(place)
    assert [each["after"]["number"] for each in found] == list(range(writer.written))
    assert [each["index"] for each in found] == [
        number % ROWS_PER_TRANSACTION for number in range(writer.written)
    ]

    def slot_is_advanced() -> bool:
        with server().connection() as connection:
            ((found,),) = connection.execute(
                "SELECT confirmed_flush_lsn >= %s::text::pg_lsn FROM pg_replication_slots"
                " WHERE slot_name = 'numbers'",
                [f"{last['lsn'] >> 32:X}/{last['lsn'] & 0xFFFFFFFF:X}"],
            ).fetchall()
        return bool(found)

    last = found[-1]
    running.until(slot_is_advanced, "the slot is advanced behind the last change")
    running.end()
    until(lambda: not running.processes(), "all have ended")
