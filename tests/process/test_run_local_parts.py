"""Graphs with local parts: a client's process, and the topology submitted by the client."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from tests.process.process_support import GONE_SECS, TOPOLOGIES, Place, until

NUMBERS, SLOW_ROWS = 3000, 10
ENDLESS = 10**9
ON_THEIR_WAY = 3
"""Elements of `send` in front of the window: of the caller, the queue and the local part."""
CLIENT = TOPOLOGIES / "flow_client.py"
VICTIMS = {300: "map-1[0] ", 900: "source[0] ", 1500: "sink[0] "}
"""Number of rows read -> the instance killed then."""


class Client:
    """A running client, and its printed lines."""

    def __init__(self, place: Place, mode: str, count: int) -> None:
        self.place = place
        self.process = subprocess.Popen(
            [sys.executable, str(CLIENT), place.name, mode, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=place.path,
            env=place.environment,
        )
        self.rows: list[list[int]] = []
        self.told: list[dict[str, Any]] = []
        self.on_row = {number: victim for number, victim in VICTIMS.items() if mode == "squares"}
        self.killed: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            told = json.loads(line)
            if "row" not in told:
                self.told.append(told)
                continue
            self.rows.append(told["row"])
            if victim := self.on_row.get(len(self.rows)):
                self._kill(victim)

    def _kill(self, victim: str) -> None:
        for process in self.place.processes():
            with suppress(psutil.Error):
                title = " ".join(process.cmdline())
                if f"heron: {victim}" in title:
                    process.kill()
                    self.killed.append(victim)

    def say(self, line: str) -> None:
        """Write a line to the client's stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def ended(self) -> int:
        """The exit code of the client."""
        until(lambda: self.process.poll() is not None, "the client has ended")
        self._reading.join()
        assert self.process.returncode is not None
        return self.process.returncode


@contextmanager
def client(place: Place, mode: str, count: int = NUMBERS) -> Iterator[Client]:
    started = Client(place, mode, count)
    try:
        yield started
    finally:
        started.process.kill()
        with started.process:  # closes the pipes
            started.process.wait()


def test_nothing_is_lost_between_a_client_and_a_topology_whatever_is_killed(place: Place) -> None:
    """Killed: an instance behind the source, of the source, and the client's sink."""
    with client(place, "squares") as running:
        assert running.ended() == 0
    assert running.killed == list(VICTIMS.values())
    assert {tuple(row) for row in running.rows} == {(each, each**2) for each in range(NUMBERS)}
    assert running.told == [{"unread": 0, "unsettled": 0}]
    place.nothing_is_left(GONE_SECS)


def test_a_slow_client_pauses_the_topology_in_bounded_memory(place: Place) -> None:
    """A megabyte waits at most in either direction; waiting rows are not sent again."""
    with client(place, "slow") as running:
        until(lambda: running.told, "the client waits")

        def waits_full() -> bool:
            running.say("how many?")
            told = running.told[-1]
            return int(told.get("unread", 0)) >= 90

        until(waits_full, "rows wait in the client")
        assert len(running.rows) == SLOW_ROWS
        assert max(told.get("unread", 0) for told in running.told) <= 100
        assert max(told.get("unsettled", 0) for told in running.told) <= 500 + ON_THEIR_WAY
        running.say("read")
        assert running.ended() == 0
    assert len(running.rows) == NUMBERS
    place.nothing_is_left(GONE_SECS)


def test_the_topology_of_a_client_that_dies_is_killed(place: Place) -> None:
    with client(place, "endless", ENDLESS) as running:
        until(lambda: len(running.rows) > 100, "rows come")
        running.process.kill()
        running.ended()
        place.nothing_is_left(2 * GONE_SECS)
