"""Back-pressure with real processes: paused instances, their order, and bounded memory."""

import json
import threading
import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

from heron_core.stats import TopologyStats
from tests.process.process_support import TOPOLOGIES, Master, Place, Running, until

PRESSURE = TOPOLOGIES / "pressure.py"
WINDOW_BYTES = 1024 * 1024
HIGH_BYTES = 256 * 1024
"""The topology's own water mark; its window is the engine's."""
TUPLES = 2500
FLOOD_TUPLES = 2000
CHAIN = ("c", "b", "a", "spout")
"""In the expected order of pauses."""
AT_MOST, AT_LEAST = "ATMOST_ONCE", "ATLEAST_ONCE"
POLL_SECS = 0.02
LASTING_SECS = 1.0
STEADY_SECS = 2.0

MIB = 1024 * 1024
FLOOD_SECS = 11.0
SETTLED_SECS = 6.0
BOUND_MIB = 40
"""For each process (PSS). At rest it has up to 12 MiB. A stream manager holds a queue of 4 MiB (the
high-water mark), hands over a window of 1 MiB plus one batch, and towards the spout 2 x 16 messages
(the sockets' limits) of 256 KiB wait: 8 MiB. Twice, because the allocator returns memory of a burst
late, makes 38 MiB in all (measured: 14). An instance holds its window, one unpacked batch (256 KiB,
ten times that as objects) and its buffers (1 MiB at most)."""
GROWTH_MIB = 2
"""After the start, without growth; a leak of 1 % of a spout at full speed exceeds the limit in a
second."""

_never = threading.Event()


def start(place: Place, topology: str, containers: int = 1, **config: object) -> Running:
    options = []
    for key, value in config.items():
        options += ["-o", f"topology.{key.replace('_', '.')}={value}"]
    return place.start(
        *("run", PRESSURE, "-n", topology, "-N", place.name),
        *("--containers", containers, *options),
    )


def tell(place: Place, word: str) -> None:
    """Let the components read this word."""
    (place.results_folder / f"{word}.json").write_text("true")


def go(place: Place, running: Running, master: Master) -> None:
    """Let the spouts begin with all instances up."""

    def all_up() -> bool:
        stats = master.stats()
        found = stats.components.values() if stats else ()
        return bool(found) and all(each.up == each.instances for each in found)

    running.until(all_up, "every instance is there")
    tell(place, "go")


def answered(running: Running, master: Master) -> TopologyStats:
    """The numbers as they are now; on a busy machine the master may need a second to answer."""
    found = running.until(master.stats, "the master answers")
    assert found is not None
    return found


def ever_paused(stats: TopologyStats | None) -> set[str]:
    """Names of the instances that are or were paused, for more than a moment: before the first
    report of an instance's rate, its senders may have to wait."""
    found = stats.paused.values() if stats else ()
    return {each.instance for each in found if each.paused_secs >= LASTING_SECS}


def paused_now(stats: TopologyStats | None) -> set[str]:
    """Names of the paused instances."""
    found = stats.paused.values() if stats else ()
    return {each.instance for each in found if each.causes}


@pytest.mark.parametrize(
    ("mode", "expected", "containers"),
    [
        ("stage", {"left[0]", "left_middle[0]", "left_middle[1]"}, 2),
        ("spout", {"left[0]", "right[0]"}, 2),
    ],
)
def test_who_pauses_for_a_slow_bolt(
    place: Place, mode: str, expected: set[str], containers: int
) -> None:
    """A database behind one branch is a hundred times slower than its input. By default the other
    branch never notices; in Heron's mode its spout waits as well."""
    running = start(place, "Branches", containers, backpressure_mode=mode)
    with Master(place.store_url, place.name) as master:
        go(place, running, master)

        def all_paused() -> bool:
            found = ever_paused(master.stats())
            assert found <= expected
            return found == expected

        running.until(all_paused, f"the pauses of {expected}")
        before = master.processed("right_last")
        steady_until = time.monotonic() + STEADY_SECS
        while time.monotonic() < steady_until:
            assert ever_paused(answered(running, master)) == expected
            _never.wait(POLL_SECS)
        if mode == "stage":
            running.until(lambda: master.processed("right_last") > before, "the right branch works")
        stats = answered(running, master)
    for each in stats.paused.values():
        assert 0.0 < each.share <= 1.0
        assert each.paused_secs > 0.0
        assert set(each.because_of) <= {"left_slow[0]", "left_middle[0]", "left_middle[1]"}
    running.end()
    place.nothing_is_left()


@pytest.mark.parametrize(("containers", "reliability"), [(1, AT_MOST), (3, AT_LEAST)])
def test_pauses_come_stage_by_stage_and_end(
    place: Place, reliability: str, containers: int
) -> None:
    """The last of four bolts hangs in a slow service for a while: one stage after the other waits,
    the spout last; when the service answers again, all go on without a loss."""
    running = start(place, "Chain", containers, reliability_mode=reliability)
    seen = []
    with Master(place.store_url, place.name) as master:
        go(place, running, master)

        def spout_paused() -> bool:
            stats = master.stats()
            found = {name.partition("[")[0] for name in ever_paused(stats)}
            assert found == set(CHAIN[: len(found)]), f"not in the order {CHAIN}: {stats}"
            seen.append(len(found))
            return len(found) == len(CHAIN)

        running.until(spout_paused, "the spout is paused")
        assert len(set(seen)) > 1, "the stages are paused all at once"
        tell(place, "fast")

        def all_through() -> bool:
            stats = master.stats()
            return bool(stats and stats.components["d"].executed == TUPLES)

        running.until(all_through, "every tuple arrives")
        running.until(lambda: paused_now(master.stats()) == set(), "the pauses end")
    tell(place, "finish")
    running.wait().succeeded()
    assert list(place.results_of("d").values()) == [list(range(TUPLES))]
    place.nothing_is_left()


@pytest.mark.parametrize("component", ["spout", "c"])
def test_a_process_that_comes_during_back_pressure_is_paused_at_once(
    place: Place, component: str
) -> None:
    """The kernel kills a paused process: its successor does not add a tuple to the queues."""
    running = start(place, "Chain")
    with Master(place.store_url, place.name) as master:
        go(place, running, master)
        running.until(lambda: len(paused_now(master.stats())) == len(CHAIN), "all are paused")
        victim = running.until(
            lambda: running.process_called(f"heron: {component}[0]"), "the paused one"
        )
        victim.kill()

        def successor() -> dict[str, Any] | None:
            asked = place.heronpy("stats", place.name, "-c", component, "--json").succeeded()
            (row,) = json.loads(asked.out)["instances"]
            return dict(row) if row["restarts"] else None

        running.until(successor, "its successor")
        steady_until = time.monotonic() + STEADY_SECS
        while time.monotonic() < steady_until:
            row = successor()
            assert row is not None
            assert row["executed"] == 0
            assert f"{component}[0]" in paused_now(answered(running, master))
            _never.wait(POLL_SECS)
    running.end()
    place.nothing_is_left()


@pytest.mark.parametrize("containers", [2])
def test_mode_drop_pauses_nobody_and_fails_at_once(place: Place, containers: int) -> None:
    """Fresh prices matter more than all prices: a tuple at a full queue is dropped, counted, and
    failed at its spout at once, not after the message timeout of ten minutes."""
    running = start(place, "Dropping", containers)
    with Master(place.store_url, place.name) as master:

        def dropped() -> int:
            stats = master.stats()
            return sum(each.dropped for each in stats.stream_managers.values()) if stats else 0

        # The excess over the mark is two batches of 256 KiB.
        most_kept = (WINDOW_BYTES + HIGH_BYTES + 3 * 256 * 1024) // 4000
        running.until(lambda: dropped() >= FLOOD_TUPLES - most_kept, "tuples are dropped")
        running.until(lambda: master.component("burst").get("failed") == dropped(), "they fail")
        assert ever_paused(answered(running, master)) == set()
        lost = dropped()
        assert answered(running, master).to_json()["components"]["burst"]["expired"] == 0
    tell(place, "fast")
    tell(place, "finish")
    running.wait().incomplete(f"{lost:,} tuples failed for good")
    assert list(place.results_of("burst").values()) == [lost]
    (arrived,) = place.results_of("last").values()
    assert len(arrived) == len(set(arrived)) == FLOOD_TUPLES - lost


def memory_and_files(running: Running) -> dict[str, tuple[float, int]]:
    """process title -> (PSS in MiB, open file descriptors)."""
    found = {}
    for each in running.processes():
        with suppress(psutil.Error):
            title = " ".join(each.cmdline())
            found[title] = (each.memory_full_info().pss / MIB, each.num_fds())
    return found


def test_memory_and_files_stay_bounded(place: Place) -> None:
    """A spout runs wild (100 bytes a tuple, no ids) into a bolt that sleeps: queues stay
    bounded."""
    running = start(place, "Flood")
    with Master(place.store_url, place.name) as master:
        running.until(lambda: "hundred_bytes[0]" in paused_now(master.stats()), "the spout waits")
    began = time.monotonic()
    settled: dict[str, tuple[float, int]] = {}
    while (elapsed := time.monotonic() - began) < FLOOD_SECS:
        found = memory_and_files(running)
        assert len(found) >= 6, "a process is missing"
        over = {title: mib for title, (mib, _) in found.items() if mib > BOUND_MIB}
        assert not over, f"more than {BOUND_MIB} MiB after {elapsed:.0f} s: {over}"
        if not settled and elapsed > SETTLED_SECS:
            settled = found
        _never.wait(0.5)
    for title, (mib, files) in memory_and_files(running).items():
        assert mib < settled[title][0] + GROWTH_MIB, f"{title} has grown"
        assert files <= settled[title][1], f"{title} opens files"
    running.end()
    place.nothing_is_left()


@pytest.mark.parametrize("reliability", [AT_LEAST])
def test_a_cycle_neither_deadlocks_nor_swells(place: Place, reliability: str) -> None:
    """Bolts that send tuples round (retries, iterations) and hang at the far end for a while: the
    spout waits before the cycle, the cycle goes on, and every tuple makes all rounds."""
    running = start(place, "Cycle", 2, reliability_mode=reliability)
    with Master(place.store_url, place.name) as master:
        go(place, running, master)
        running.until(lambda: paused_now(master.stats()) == {"spout[0]"}, "the spout is paused")
        steady_until = time.monotonic() + STEADY_SECS
        while time.monotonic() < steady_until:
            stats = master.stats()
            assert stats is not None
            assert ever_paused(stats) <= {"spout[0]"}
            queues = {name: each.queue_bytes for name, each in stats.components.items()}
            assert max(queues.values()) < WINDOW_BYTES + HIGH_BYTES + MIB, queues
            _never.wait(POLL_SECS)
    tell(place, "fast")
    tell(place, "finish")
    running.wait().succeeded()
    expected = sorted(list(range(TUPLES)) * 4)
    assert list(place.results_of("again").values()) == [expected]


def test_stats_tell_who_waits_for_whom(place: Place) -> None:
    """For a slow spout: a line for each pause with instance, cause and duration."""
    running = start(place, "Chain")
    with Master(place.store_url, place.name) as master:
        go(place, running, master)
        running.until(lambda: len(paused_now(master.stats())) == len(CHAIN), "all are paused")
    lines = place.heronpy("stats", place.name).succeeded().out.splitlines()
    waiting = [line for line in lines if " is paused because of " in line]
    pairs = [(line.split()[0], line.partition("because of ")[2].split()[0]) for line in waiting]
    assert ("c[0]", "d[0]") in pairs
    assert ("spout[0]", "a[0]") in pairs
    assert all("% of the time" in line for line in waiting)
    data = json.loads(place.heronpy("stats", place.name, "--all", "--json").succeeded().out)
    caused = {
        row["instance"]: row["backpressure_caused_ms"]
        for rows in data["instances"].values()
        for row in rows
    }
    assert {name for name, ms in caused.items() if ms > 0} == {"a[0]", "b[0]", "c[0]", "d[0]"}
    until(lambda: "d[0] pauses c[0]" in running.err, "the view names the cause")
    running.end()
