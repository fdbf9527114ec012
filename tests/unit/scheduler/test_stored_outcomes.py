"""How topologies have ended: what stays in the state store when their nodes are removed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_core import config as keys
from heron_core.state_tree import (
    OUTCOMES_PATH,
    execution_path,
    outcome_path,
    packing_path,
    scheduler_path,
    topology_path,
)
from heron_engine.scheduler.registration import forget
from heron_engine.scheduler.stored_outcomes import (
    LOST,
    OUTCOMES_MAX,
    ended_text,
    record_end,
    stored_outcome,
    stored_outcomes,
)
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_tracker.model.ended import READ_AGAIN_SECS, EndedTopologies

HOUR = 3600.0
FAILED = {"state": "FAILED", "reason": "no source", "ended_at": "yesterday"}
PACKING = {"containers": [{"id": 1, "instances": [1, 2]}, {"id": 2, "instances": [3]}]}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateStore]:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    with open_store(f"file://{tmp_path}/state") as opened:
        yield opened


def register(store: StateStore, name: str, **config: Any) -> None:
    """The nodes of a topology that a cluster runs by itself."""
    store.put(topology_path(name), {"name": name, "config": config})
    store.put(execution_path(name), {"state": "RUNNING", "user": "ada", "submitted_at": "today"})
    store.put(packing_path(name), PACKING)
    store.put(scheduler_path(name), {"kind": "yarn", "cluster": "west"})


def test_a_failed_topology_is_seen_for_a_day_by_each_machine(store: StateStore) -> None:
    register(store, "words")
    record_end(store, "words", FAILED, lambda: 1000.0)
    assert stored_outcomes(store, lambda: 1000.0) == {}, "it is still there"
    store.delete(topology_path("words"))
    (seen,) = stored_outcomes(store, lambda: 1000.0 + 24 * HOUR).values()
    assert (seen["state"], seen["reason"], seen["user"]) == ("FAILED", "no source", "ada")
    assert (seen["containers"], seen["instances"], seen["cluster"]) == (2, 3, "west")
    assert ended_text(seen) == "FAILED at yesterday: no source"
    assert stored_outcomes(store, lambda: 1001.0 + 24 * HOUR) == {}


@pytest.mark.parametrize(("hours", "is_kept"), [(0, False), (1, True)])
def test_a_key_says_for_how_long(store: StateStore, hours: int, is_kept: bool) -> None:
    register(store, "words", **{keys.ENDED_VISIBLE_HOURS: hours})
    store.put(outcome_path("words"), {**FAILED, "reason": "of the run before"})
    record_end(store, "words", FAILED, lambda: 0.0)
    assert stored_outcome(store, "words").get("visible_until") == (HOUR if is_kept else None)


def test_removed_nodes_leave_what_they_say(store: StateStore) -> None:
    register(store, "words")
    store.put(execution_path("words"), {**FAILED, "user": "ada"})
    forget(store, "words")
    assert stored_outcomes(store)["words"]["reason"] == "no source"
    register(store, "killed")
    forget(store, "killed", is_over=True)
    assert stored_outcomes(store)["killed"]["state"] == "KILLED"
    register(store, "lost")
    store.delete(scheduler_path("lost"))
    forget(store, "lost")
    assert stored_outcomes(store)["lost"]["state"] == LOST


def test_what_never_began_leaves_nothing(store: StateStore) -> None:
    register(store, "words")
    forget(store, "words", ended={})
    forget(store, "unknown")
    assert store.children(OUTCOMES_PATH) == []


def test_records_do_not_pile_up(store: StateStore) -> None:
    for number in range(OUTCOMES_MAX):
        store.put(outcome_path(f"n{number}"), {"at": 10.0 + number, "visible_until": 1e9})
    store.put(outcome_path("over"), {"at": 5000.0, "visible_until": 5001.0})
    register(store, "words")
    record_end(store, "words", FAILED, lambda: 6000.0)
    left = set(store.children(OUTCOMES_PATH))
    assert len(left) == OUTCOMES_MAX
    assert not left & {"n0", "over"}
    assert "words" in left


def test_a_malformed_record_hides_no_other(store: StateStore, tmp_path: Path) -> None:
    register(store, "words")
    forget(store, "words", ended=FAILED)
    store.put(outcome_path("odd"), ["FAILED"])
    assert list(stored_outcomes(store)) == ["words"]


def test_the_service_shows_what_failed_or_was_lost(store: StateStore) -> None:
    now = [100.0]
    ended = EndedTopologies(store, lambda: now[0])
    for name, state in (("a", "FAILED"), ("b", LOST), ("c", "ENDED"), ("d", "KILLED")):
        store.put(outcome_path(name), {"state": state, "visible_until": 1000.0})
    assert ended.find([]) == ["a", "b"]
    assert ended.outcome("c") is None
    assert ended.find(["a"]) == ["b"], "it runs again"
    store.put(outcome_path("b"), {"state": "ENDED", "visible_until": 1000.0})
    assert ended.find([]) == ["a", "b"]
    now[0] += READ_AGAIN_SECS
    assert ended.find([]) == ["a"]
    now[0] = 1001.0
    assert ended.find([]) == []
