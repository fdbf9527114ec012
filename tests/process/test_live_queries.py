"""States of a running topology, asked for by the command, over HTTP and from Python, while the
process that is asked is killed."""

import json
import re
import time
from contextlib import suppress
from typing import Any

import httpx
import pytest

from heron_io.master_client import MasterClient
from heron_io.saved_states import open_saved
from heron_io.state_queries import NoSuchState, StateClient, StateUnavailable
from heron_io.state_store.opening import open_store
from heron_io.user_home import store_url_in
from tests.process.process_support import TOPOLOGIES, Place, Running
from tests.process.test_recovery import processes, title_of
from tests.process.test_ui import address

TOPOLOGY = TOPOLOGIES / "exact.py"
NAME = "Exact"
KEYS = 97
SECS = 2.0
SLACK_SECS = 3.0
"""For the reply on its way on a busy machine, and for the look at the clock."""
NOTHING, WRONG = 1, 2


def start(place: Place, backend: str) -> Running:
    """The topology at work."""
    (place.path / "lines.txt").write_text("line\n" * 10)
    return place.start(
        "run", TOPOLOGY, "--containers", 2,
        "-o", f"exact.folder={place.path}", "-o", f"file.folder={place.path}",
        "-o", f"topology.state.backend={backend}",
    )  # fmt: skip


def client_of(place: Place) -> StateClient:
    return StateClient(NAME, store_url_in(str(place.home)))


def counts(states: StateClient) -> dict[int, int]:
    """Of all keys; empty while queries fail."""
    with suppress(StateUnavailable, NoSuchState):
        return {each.key: each.value for each in states.query("count.count", limit=1000).entries}
    return {}


def asked(states: StateClient, key: int) -> tuple[bool, float]:
    """Whether a key was answered, and the duration."""
    began = time.monotonic()
    try:
        states.get("count.count", key, secs=SECS)
    except StateUnavailable:
        return False, time.monotonic() - began
    return True, time.monotonic() - began


@pytest.mark.parametrize("backend", ["memory", "rocksdb"])
def test_a_running_topology_is_asked_for_its_states(place: Place, backend: str) -> None:
    running = start(place, backend)
    running.until((place.home / "state").exists, "it is registered")
    with client_of(place) as states:
        running.until(lambda: len(counts(states)) == KEYS, "all keys are counted")
        by_the_command(place)
        by_http(place)
        by_the_stream_manager(place, running, states)
        shown = place.heronpy("stats", NAME).succeeded().out
        assert re.search(r"live queries: \d[\d,]*, \d[\d,]* answered", shown), shown
        before = counts(states)
        running.until(lambda: counts(states).get(3, 0) > before[3], "it counts on")
        the_process_that_is_asked_dies(running, states)
        place.heronpy("deactivate", NAME).succeeded()
        running.until(lambda: is_at_rest(states), "each number has come by both ways")
        last = counts(states)
        as_of_a_checkpoint(place, last)
        place.heronpy("activate", NAME).succeeded()
        running.until(lambda: sum(counts(states).values()) > sum(last.values()), "it counts on")
    (place.path / "enough").touch()
    running.wait().succeeded()
    counted: dict[str, int] = {}
    for file in place.path.glob("counted-*"):
        counted |= json.loads(file.read_text("utf-8"))
    assert len(counted) == KEYS
    assert all(counted[str(key)] >= number for key, number in last.items())


def is_at_rest(states: StateClient) -> bool:
    """A number is counted by two ways; in between a count is odd."""
    first = counts(states)
    return len(first) == KEYS and not any(n % 2 for n in first.values()) and first == counts(states)


def by_the_command(place: Place) -> None:
    """Keys, prefixes, all; missing keys; missing states."""

    def query(*arguments: object) -> list[dict[str, Any]]:
        out = place.heronpy("query", NAME, *arguments).succeeded().out
        return [json.loads(line) for line in out.splitlines()]

    (entry,) = query("count.count", "--key", 5)
    assert entry["key"] == 5
    assert entry["value"] > 0
    assert entry["instance"].startswith("count[")
    rows = query("count.count", "--scan", "--limit", 1000)
    assert [row["key"] for row in rows] == list(range(KEYS))
    assert {row["instance"] for row in rows} == {"count[0]", "count[1]"}
    (position,) = query("numbers", "--key", "at", "--limit", 1)[:1]
    assert position["key"] == "at"
    nothing = place.heronpy("query", NAME, "count.count", "--key", "storm")
    assert (nothing.code, nothing.out) == (NOTHING, "")
    assert nothing.err.splitlines()[-1] == "count.count has no entry for the key 'storm'"
    for name, reason in (
        ("count.cuont", "count has no state 'cuont' (it has: put, count)"),
        ("left.count", "left is stateless: only a component that declares states"),
        ("cuont.count", "Exact has no component of 'cuont.count'"),
        ("windows.windows", "windows.windows is a windows state of the engine's own"),
    ):
        wrong = place.heronpy("query", NAME, name, "--scan")
        assert wrong.code == WRONG
        assert wrong.errors[0].startswith(f"heronpy: {reason}")


def by_the_stream_manager(place: Place, running: Running, states: StateClient) -> None:
    """A key's owner is asked without the master, whose numbers include these questions."""
    with open_store(store_url_in(str(place.home))) as store, MasterClient(store, NAME) as master:
        before = master.stats().live_queries["answered"]
        assert all(states.get("count.count", key) > 0 for key in range(KEYS))
        assert states.get("count.count", "nothing", default=-1) == -1
        running.until(
            lambda: master.stats().live_queries["answered"] >= before + KEYS + 1,
            "all are counted",
        )
        managers = master.stats().stream_managers.values()
    direct = [each.live_queries["answered"] for each in managers]
    assert len(direct) == 2
    assert sum(direct) > KEYS / 2, direct  # a busy machine may leave some to the master


def by_http(place: Place) -> None:
    """By HTTP, for readers of the numbers."""
    service = place.start("ui", "--port", 0)
    with httpx.Client(base_url=address(service), timeout=30.0) as client:

        def get(**question: Any) -> httpx.Response:
            return client.get("/api/state", params={"topology": NAME, **question})

        found = service.until(
            lambda: found if (found := get(name="count.count", key="5")).is_success else None,
            "the service knows the topology",
        )
        (entry,) = found.json()["entries"]
        assert (entry["key"], found.json()["state"]) == (5, "count.count")
        first = get(name="count.count", limit=3).json()
        assert [entry["key"] for entry in first["entries"]] == [0, 1, 2]
        assert first["has_more"]
        assert get(name="count.count", key='"none"').json()["entries"] == []
        assert get(name="count.cuont").status_code == 404
        assert get(name="count.count", key="1", prefix="a").status_code == 400
        assert get(name="count.count", map_key="1").status_code == 400
    service.signal()
    service.wait()


def as_of_a_checkpoint(place: Place, last: dict[int, int]) -> None:
    """At rest the next checkpoint equals the instances' state; the answer names the checkpoint."""
    place.heronpy("checkpoint", NAME).succeeded()
    the_owner_alone_is_read(place)
    found = place.heronpy("query", NAME, "count.count", "--scan", "--limit", 1000, "--checkpoint")
    rows = [json.loads(line) for line in found.succeeded().out.splitlines()]
    assert {row["key"]: row["value"] for row in rows} == last
    assert re.search(r"^as of checkpoint \d+ of 20", found.err, re.MULTILINE)
    (row,) = place.heronpy("query", NAME, "count.count", "-k", 5, "--consistent").out.splitlines()
    assert json.loads(row)["value"] == last[5]
    read = place.heronpy("state", "read", NAME, "count.count", "--key-type", "int64")
    table = [json.loads(line) for line in read.succeeded().out.splitlines()]
    assert {row["key"]: row["value"] for row in table} == last


def the_owner_alone_is_read(place: Place) -> None:
    """The topology is known, and its counts are divided by key."""
    with open_store(store_url_in(str(place.home))) as store:
        saved = open_saved(NAME, "count.count", store, str(place.home), is_folder=False)
    assert len(saved.tasks) == 2
    assert len(saved.tasks_of([5])) == 1


def the_process_that_is_asked_dies(running: Running, states: StateClient) -> None:
    """An answer or an error in time, and answers again when its successor has the state."""
    for instance in ("count[0]", "count[1]"):
        victim = processes(running)[title_of(running, f"heron: {instance}")]
        keys = [each.key for each in states.query("count.count", limit=1000).entries
                if each.instance == instance]  # fmt: skip
        victim.kill()
        results = [asked(states, key) for key in keys[:5]]
        assert all(secs < SECS + SLACK_SECS for _, secs in results), results
        running.until(lambda key=keys[0]: asked(states, key)[0], "it answers again")  # type: ignore[misc]
    running.until(lambda: len(counts(states)) == KEYS, "all keys are there again")


def test_a_bolt_of_pystorm_is_asked_for_its_states(place: Place) -> None:
    """States declared by its class, and values kept by put()."""
    running = place.start("run", TOPOLOGIES / "storm_state.py")
    running.until((place.home / "state").exists, "it is registered")
    with StateClient("storm_state", store_url_in(str(place.home))) as states:

        def counted() -> dict[str, int]:
            with suppress(StateUnavailable, NoSuchState):
                return {each.key: each.value for each in states.query("count.count").entries}
            return {}

        running.until(lambda: counted() == {"a": 4, "b": 4, "c": 4}, "all words are counted")
        assert states.get("count.lengths", "b") == {1: "b"}
        assert states.get("count.lengths", "b", map_key=1) == "b"
        kept = states.query("count.put", key="newest").entries
        assert sum(each.value for each in kept) == 12
        with pytest.raises(NoSuchState, match="count, lengths"):
            states.get("count.cuont", "a")
    (place.results_folder / "enough").touch()
    running.wait().succeeded()
