"""Trident in real processes: counts are exact whatever is killed (T2, N2)."""

import sqlite3
from collections import Counter

import pytest

from heronpy_compat.trident import OpaqueSerializer, TransactionalSerializer
from tests.process.process_support import TOPOLOGIES, Place, Running

TOPOLOGY = TOPOLOGIES / "trident_counts.py"
PARTITIONS, LINES = 3, 400
EXPECTED = Counter(
    word
    for partition in range(PARTITIONS)
    for number in range(LINES)
    for word in ("all", f"p{partition}", f"w{number % 17}")
)
VICTIMS = (
    "heron: b-1",
    "heron: spout-lines[0]",
    "heron: mastercoord-bg0",
    "heron: stream manager 1",
    "heron: b-2",
    "heron: b-0[1]",
)
END_SECS = 120.0


def progress(place: Place) -> int:
    path = place.results_folder / "memory"
    return path.read_text().count("\n") if path.exists() else 0


def kill_one_after_the_other(place: Place, running: Running) -> None:
    """Each once data flows, and the next one once it flows again."""
    for victim in VICTIMS:
        before = progress(place)
        running.until(lambda: progress(place) > before + 40, f"data flows before {victim} dies")  # noqa: B023
        process = running.until(lambda: running.process_called(victim), f"{victim} runs")  # noqa: B023
        process.kill()


def counts_in_memory(place: Place) -> dict[str, int]:
    lines = (place.results_folder / "memory").read_text().splitlines()
    return {word: int(count) for word, count in map(str.split, lines)}


def counts_in_database(place: Place, kind: str) -> dict[str, int]:
    with sqlite3.connect(place.results_folder / "counts.db") as database:
        rows = list(database.execute("select word, value from counts"))
    if kind == "opaque":
        return {word: OpaqueSerializer().deserialize(value).curr for word, value in rows}
    return {word: TransactionalSerializer().deserialize(value).val for word, value in rows}


@pytest.mark.parametrize("kind", ["transactional", "opaque"])
def test_counts_are_exact_whatever_is_killed(place: Place, kind: str) -> None:
    """A state bolt, a spout, the coordinator, the stream manager and an operator die by kill -9."""
    place.environment["TRIDENT_KIND"] = kind
    running = place.start("run", TOPOLOGY)
    kill_one_after_the_other(place, running)
    running.wait(END_SECS).succeeded()
    assert counts_in_database(place, kind) == EXPECTED
    assert counts_in_memory(place) == EXPECTED
    place.nothing_is_left()
