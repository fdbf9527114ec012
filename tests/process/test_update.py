"""`heronpy update`: a running topology gets new numbers of instances and containers.

Each line of topologies/surviving.py is counted exactly once without a kill, and at least once with
a kill in the middle of an update.
"""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import psutil

from heron_core.state_tree import packing_path, physical_path
from heron_io.master_client import MasterClient
from heron_io.state_store.protocol import StateStore
from tests.process.process_support import TOPOLOGIES, Master, Place, Running, until
from tests.process.survival import NAME, TOPOLOGY, WORDS_PER_LINE, acked, records, settings

LINES, RATE = 1_000_000, 100
"""More than any run here needs; each line is eleven tuples, and the cores are for the updates."""
FLOWING_LINES = 50
UPDATE_SECS = 120.0
"""For operations of a second on an idle machine."""
STAYING = ("topology master", "container 1", "stream manager 1", "lines[0] task 1",
           "lines[1] task 2", "split[0] task 3", "split[1] task 4")  # fmt: skip
"""Instances of container 1 in all of these packing plans."""


@contextmanager
def flowing(place: Place) -> Iterator[tuple[Running, StateStore]]:
    """A run in the middle of its work, on one container."""
    words, _ = settings(place.path, LINES, RATE)
    running = place.start("run", TOPOLOGY, "--containers", 1, *words)
    running.until(lambda: acked(place.path) > FLOWING_LINES, "lines are acked")
    store = place.store()
    try:
        yield running, store
    finally:
        store.close()


def pids(running: Running) -> dict[str, int]:
    """Title -> pid of the topology's processes."""
    found = {}
    for each in running.processes():
        with suppress(psutil.Error):
            title = " ".join(each.cmdline()).rstrip()
            if title.startswith("heron: "):
                found[title.removeprefix("heron: ").removesuffix(f" ({NAME})")] = each.pid
    return found


def staying(running: Running) -> dict[str, int]:
    """The pids of processes unconcerned by the updates."""
    found = pids(running)
    return {each: found[each] for each in STAYING}


def flows(place: Place, running: Running) -> None:
    """Lines are acked from now on."""
    enough = acked(place.path) + FLOWING_LINES
    running.until(lambda: acked(place.path) > enough, "lines are acked")


def containers(store: StateStore, path: Callable[[str], str] = packing_path) -> set[int]:
    """The containers of a plan in the state store."""
    plan = store.get(path(NAME)) or {}
    return {each["id"] for each in plan.get("packing", plan)["containers"]}


def update(place: Place, *words: object) -> str:
    """A successful update; returns its output."""
    return place.heronpy("update", NAME, *words, secs=UPDATE_SECS).succeeded().out


def drained_words(running: Running, store: StateStore, place: Place) -> Counter[str]:
    """End the run with nothing in flight; how often each word of each acked line was counted."""
    client = MasterClient(store, NAME)
    client.ask("drain")
    running.until(
        lambda: (stats := client.try_stats()) and stats.drained, ("all tuples are processed")
    )
    client.close()
    running.end()
    seen = Counter(records(place.path, "seen"))
    wanted = {f"{line}.{at}" for line in set(records(place.path, "acked"))
              for at in range(WORDS_PER_LINE)}  # fmt: skip
    assert not wanted - set(seen), "words of acked lines were lost"
    return seen


def test_more_instances_and_containers_and_back_with_every_word_once(place: Place) -> None:
    """A busy morning, at its time, and a quiet evening: exact counts, untouched remaining
    instances, and each count at its word's instance."""
    place.environment["SURVIVING_STATE"] = "1"
    with flowing(place) as (running, store):
        before = staying(running)
        more = ("--component-parallelism", "count:3", "--container-number", 2)
        said = update(place, *more, "--at", "+1s")
        assert "will be updated at" in said
        assert "count 2 -> 3, containers 1 -> 2" in said
        until(lambda: "count[2] task 8" in pids(running), "its time has come")
        flows(place, running)
        assert staying(running) == before
        assert "count[2] task 8" in pids(running)
        again = place.heronpy("update", NAME, *more, secs=UPDATE_SECS).succeeded().out
        assert again == f"nothing to update: {NAME} has count 3, 2 containers already\n"

        update(place, "--component-parallelism", "count:2", "--container-number", 1)
        flows(place, running)
        assert staying(running) == before
        gone = {"count[2] task 8", "stream manager 2", "container 2"}
        until(lambda: not gone & pids(running).keys(), "what is not needed any more ends")
        seen = drained_words(running, store, place)
    assert set(seen.values()) == {1}, "words were counted twice"
    assert not list(records(place.path, "failed"))
    kept = [json.loads((place.path / f"counted-{task}").read_text()) for task in (5, 6)]
    assert sum(map(Counter, kept), Counter()).total() == seen.total()
    assert not kept[0].keys() & kept[1].keys()
    place.nothing_is_left()


def has_containers(store: StateStore, wanted: set[int]) -> bool:
    """Whether the topology is in these containers."""
    return containers(store) == wanted


def test_the_master_and_a_stream_manager_die_in_the_middle_of_updates(place: Place) -> None:
    """The next master continues the update, without a loss."""
    with flowing(place) as (running, store):
        for number, victim in ((2, "topology master"), (1, "stream manager 1")):
            scaling = place.start("update", NAME, "--container-number", number)
            wanted = set(range(1, number + 1))
            running.until(partial(has_containers, store, wanted), "it is under way")
            os.kill(pids(running)[victim], signal.SIGKILL)
            scaling.wait(UPDATE_SECS).succeeded()
            assert containers(store, physical_path) == wanted
            flows(place, running)
        drained_words(running, store, place)
    place.nothing_is_left()


def test_an_update_of_one_bolt_does_not_wait_for_the_open_windows_of_another(place: Place) -> None:
    """Whose tuples are acked in a day: data stands still for as long as the update waits."""
    running = place.start("run", TOPOLOGIES / "open_windows.py")
    with Master(place.store_url, "OpenWindows") as master:
        running.until(lambda: master.processed("seen") > FLOWING_LINES, "numbers are counted")
        place.heronpy(
            "update", "OpenWindows", "--component-parallelism", "seen:2", secs=UPDATE_SECS / 4
        ).succeeded()
        before = master.component("seen")["executed"]
        running.until(lambda: master.processed("seen") > before + FLOWING_LINES, "data flows again")
        held = master.component("days")
        assert held["failed"] == held["acked"] == 0
        # An update of the windows themselves fails their tuples, which come again.
        place.heronpy(
            "update", "OpenWindows", "--component-parallelism", "days:2", secs=UPDATE_SECS / 4
        ).succeeded()
        known = held["executed"]
        running.until(
            lambda: master.component("numbers")["failed"] >= known, "all that was held has failed"
        )
        running.until(lambda: master.processed("days") >= 2 * known, "all of them are held again")
    running.end()


def has_processed(master: Master, tuples: int) -> bool:
    """Whether the bolt that hangs has come so far."""
    return master.processed("seen") > tuples


def cancelled_while(place: Place, running: Running, file: str, waits: str) -> None:
    """Update the bolt hanging on the file, and cancel the waiting update."""
    hangs = place.path / file
    hangs.touch()
    scaling = place.start("update", "Hanging", "--component-parallelism", "seen:2")
    running.until(lambda: waits in scaling.err, f"the update is {waits}", UPDATE_SECS)
    cancel = place.heronpy("update", "Hanging", "--cancel", secs=UPDATE_SECS).succeeded()
    assert cancel.out == "Hanging: the update is cancelled\n"
    aborted = scaling.wait(UPDATE_SECS)
    assert aborted.code == 1
    assert "Hanging is not updated: cancelled by " in aborted.errors[0]
    hangs.unlink()


def test_an_update_that_hangs_is_cancelled_before_and_after_its_switch(place: Place) -> None:
    """Before the switch without a change, after the switch with a rollback: data flows again."""
    running = place.start("run", TOPOLOGIES / "hanging.py", "-o", f"hanging.folder={place.path}")
    with Master(place.store_url, "Hanging") as master:
        for file, waits in (
            ("hold", "waiting for a checkpoint"),
            ("hang", "waiting for instances"),
        ):
            running.until(partial(has_processed, master, FLOWING_LINES), "data flows")
            cancelled_while(place, running, file, waits)
            enough = master.processed("seen") + FLOWING_LINES
            running.until(partial(has_processed, master, enough), "data flows again")
            assert master.component("seen")["instances"] == 1
    running.end()
