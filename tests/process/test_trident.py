"""Trident in real processes: counts are exact whatever is killed (T2, N2)."""

import json
import sqlite3
from collections import Counter
from contextlib import suppress

import pytest

from heron_connectors.requests.client import DRPCClient
from heron_connectors.requests.table import RequestLimits
from heron_connectors.requests.thrift_interface import DRPCExecutionException
from heronpy_compat.trident import OpaqueSerializer, TransactionalSerializer
from tests.process.process_support import EXAMPLES, TOPOLOGIES, Place, Running
from tests.unit.heron_connectors.request_server_support import HOST, serving
from tests.unit.heronpy_compat.trident.trident_oracles import ASKED, requested_counts

TOPOLOGY = TOPOLOGIES / "trident_counts.py"
REQUESTS = EXAMPLES / "storm_starter" / "trident_word_count.py"
PARTITIONS, LINES = 3, 400
VICTIMS = (
    "heron: b-1",
    "heron: spout-lines[0]",
    "heron: mastercoord-bg0",
    "heron: stream manager 1",
    "heron: b-2",
    "heron: b-0[1]",
)
UPDATED_LINES = 140
"""Of a partition: at the slow pace of the updates they take some 15 s."""
END_SECS = 120.0
INTERVAL = "topology.trident.batch.emit.interval.millis"
CALL_SECS, REQUEST_SECS = 60.0, 5.0


def expected(lines: int) -> Counter[str]:
    """The counts of so many lines in each partition."""
    return Counter(
        word
        for partition in range(PARTITIONS)
        for number in range(lines)
        for word in ("all", f"p{partition}", f"w{number % 17}")
    )


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
    assert counts_in_database(place, kind) == expected(LINES)
    assert counts_in_memory(place) == expected(LINES)
    place.nothing_is_left()


def test_counts_are_exact_when_the_topology_is_scaled(place: Place) -> None:
    """The bolts without a state of their own get more tasks while batches are under way."""
    place.environment.update(TRIDENT_KIND="opaque", TRIDENT_LINES=str(UPDATED_LINES))
    # A slow pace: the updates are to come before the end.
    running = place.start("run", TOPOLOGY, "-o", f"{INTERVAL}=150")
    running.until(lambda: progress(place) > 40, "data flows")
    for parallelism in ("b-0:3", "spout-lines:3"):
        update = ("update", "TridentCounts", "--component-parallelism", parallelism)
        place.heronpy(*update).succeeded()
    running.wait(END_SECS).succeeded()
    assert counts_in_database(place, "opaque") == expected(UPDATED_LINES)
    assert counts_in_memory(place) == expected(UPDATED_LINES)


def test_requests_query_a_state_and_survive_the_coordinator(place: Place) -> None:
    """T4: a call is answered with the present counts, also by the successor of a killed process. A
    call fetched by the dying process ends by the server's time-out."""
    with serving(RequestLimits(request_secs=REQUEST_SECS)) as server:
        port = server.addresses.topologies[1]
        running = place.start("run", REQUESTS, "-o", f"drpc.servers={HOST}:{port}")
        with DRPCClient(HOST, server.addresses.callers[1], timeout_secs=CALL_SECS) as drpc:

            def is_answered() -> bool:
                with suppress(DRPCExecutionException):
                    return sorted(json.loads(drpc.execute("words", ASKED))) == requested_counts()
                return False

            running.until(is_answered, "the words are counted")
            for victim in ("heron: mastercoord-bg1", "heron: mastercoord-bg0"):
                process = running.until(lambda: running.process_called(victim), "it runs")  # noqa: B023
                process.kill()
                running.until(is_answered, "the counts are the same")
        running.end()


@pytest.mark.parametrize(("kind", "store"), [("sliding-count", ""), ("tumbling-count", "sqlite")])
def test_windows_are_exact_whatever_is_killed(place: Place, kind: str, store: str) -> None:
    """Storm's windowing topologies: each window is counted once, or again with the same count."""
    place.environment.update(TRIDENT_WINDOW=kind, TRIDENT_STORE=store, TRIDENT_ROUNDS="60")
    running = place.start("run", TOPOLOGIES / "trident_windows.py")
    for victim in ("heron: b-0", "heron: spout-spout1", "heron: mastercoord-bg0"):
        before = windows_counted(place)
        running.until(lambda: windows_counted(place) > before, f"data flows before {victim} dies")  # noqa: B023
        running.until(lambda: running.process_called(victim), f"{victim} runs").kill()  # noqa: B023
    running.wait(END_SECS).succeeded()
    words, lines = 36 * 60, (place.results_folder / "counts").read_text().splitlines()
    counts = [int(line) for line in lines]
    if kind == "tumbling-count":
        assert set(counts) == {100}
        # A batch that a kill interrupts after its windows fires the windows again.
        assert words // 100 <= len(counts) <= words // 100 + 2 * 3
    else:
        assert list(dict.fromkeys(counts)) == list(range(10, 101, 10))
        assert words // 10 <= len(counts) <= words // 10 + 2 * 3 * 4
    place.nothing_is_left()


def test_windows_by_duration_in_real_time(place: Place) -> None:
    """Each word is in one window of three seconds, except for words of the open window."""
    place.environment.update(TRIDENT_WINDOW="tumbling-duration", TRIDENT_ROUNDS="45")
    running = place.start("run", TOPOLOGIES / "trident_windows.py", "-o", f"{INTERVAL}=100")
    running.wait(END_SECS).succeeded()
    counts = [int(line) for line in (place.results_folder / "counts").read_text().splitlines()]
    assert len(counts) >= 2
    assert 0 < sum(counts) <= 36 * 45


def windows_counted(place: Place) -> int:
    path = place.results_folder / "counts"
    return path.read_text().count("\n") if path.exists() else 0
