"""Requests in a real state store, carried out against a fake master and fake containers."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heron_core.errors import HeronError, StateStoreError
from heron_core.operations import Operation, OperationKind, OperationState
from heron_core.plans import packing_to_json
from heron_core.state_tree import (
    checkpoints_path,
    execution_path,
    keys_path,
    operation_path,
    operations_path,
    packing_path,
    topology_path,
)
from heron_core.topology import TopologySpec, topology_to_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.operation_runner import TopologyKilled
from heron_engine.scheduler.operation_steps import SILENT_SECS
from heron_engine.scheduler.operations import HISTORY_MAX, TopologyRequests
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.signatures import Trust, states_key
from heron_io.security import Keys
from heron_io.state_store.file_store import FileStore
from tests.unit.scheduler.operation_support import (
    NAME,
    NEW,
    OLD,
    OTHER,
    FakeContainers,
    FakeMaster,
    World,
    run_by,
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FileStore(str(tmp_path)) as store:
        store.put(topology_path(NAME), {})
        store.put(keys_path(NAME), to_json(Keys.new(states=b"k" * 32)))
        store.put(execution_path(NAME), {"state": "RUNNING"})
        run_by(store, OLD)
        master = FakeMaster(store)
        yield World(store, master, FakeContainers(master), TopologyRequests(store, NAME))


def test_changes_of_the_state_come_in_the_order_in_which_they_were_asked(world: World) -> None:
    """Also after a time without answers: the later change must not come first."""
    world.master.answers = False
    paused, active = world.ask(OperationKind.DEACTIVATE), world.ask(OperationKind.ACTIVATE)
    world.poll(3)
    assert (paused().state, active().state) == (OperationState.RUNNING, OperationState.PENDING)
    assert paused().progress == "waiting for the topology master"
    world.master.answers = True
    world.poll(3)
    assert paused().result == active().result == {"changed": True}
    assert not world.master.paused


def test_a_checkpoint_is_asked_for_and_waited_for(world: World) -> None:
    checkpoint = world.ask(OperationKind.CHECKPOINT)
    world.poll(2)
    assert checkpoint().progress == "waiting for words[0]"
    world.master.checkpoints |= {"completed": 4, "latest": 4, "size_bytes": 120}
    world.poll()
    assert checkpoint().result == {"number": 4, "size_bytes": 120, "secs": 0.5, "alignment_ms": {}}


def test_a_checkpoint_that_fails_says_why(world: World) -> None:
    checkpoint = world.ask(OperationKind.CHECKPOINT)
    world.poll(2)
    world.master.checkpoints |= {"latest": 4, "failed": 1, "failure": "no space is left"}
    world.poll()
    assert checkpoint().state == OperationState.FAILED
    assert checkpoint().reason == "checkpoint 4 failed: no space is left"


def test_a_master_that_never_answers_is_told(world: World) -> None:
    world.master.answers = False
    paused = world.ask(OperationKind.DEACTIVATE)
    world.poll()
    world.now += SILENT_SECS + 1
    world.poll()
    assert (paused().state, paused().reason) == (OperationState.FAILED, "nobody answers")


def test_a_kill_drains_and_ends(world: World) -> None:
    world.master.quiet = False
    world.ask(OperationKind.KILL, wait_secs=5.0)
    world.poll(3)
    assert "drain" in world.master.commands
    world.master.quiet = True
    with pytest.raises(TopologyKilled, match="killed by"):
        world.poll()


def test_a_kill_goes_on_under_another_runner(world: World) -> None:
    world.master.quiet = False
    kill = world.ask(OperationKind.KILL, wait_secs=5.0)
    world.poll(2)
    world.start()
    world.poll()
    assert kill().state is OperationState.RUNNING
    world.now += 6.0
    world.poll()
    assert kill().notes == ("still busy after 5 s: ending anyway",)
    with pytest.raises(TopologyKilled):
        world.poll()


def test_an_impatient_kill_does_not_wait_for_a_patient_one(world: World) -> None:
    world.master.quiet = False
    world.ask(OperationKind.KILL, wait_secs=600.0)
    world.poll(2)
    world.ask(OperationKind.KILL, wait_secs=0)
    with pytest.raises(TopologyKilled):
        world.poll()


def test_what_has_ended_is_killed_without_a_drain(world: World) -> None:
    world.store.put(execution_path(NAME), {"state": "ENDED"})
    world.ask(OperationKind.KILL, wait_secs=5.0)
    with pytest.raises(TopologyKilled):
        world.poll()
    assert world.master.commands == []


def test_an_update_that_is_under_way_is_cancelled(world: World) -> None:
    """An update by mistake: the command ends after the rollback."""
    update = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll()
    cancel = world.ask(OperationKind.CANCEL)
    world.poll(2)
    assert cancel().state is OperationState.RUNNING
    world.master.end_update(OLD, world.master.update["reason"])
    world.poll(3)
    assert cancel().state is OperationState.DONE
    assert update().state is OperationState.FAILED
    assert "t is not updated: cancelled by " in update().reason


def test_an_update_says_what_it_waits_for_and_is_done(world: World) -> None:
    update = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll()
    assert update().progress == "waiting until tuples in flight are processed: words[0]"
    world.master.end_update(NEW)
    world.poll()
    assert update().state is OperationState.DONE


def test_an_update_goes_on_under_another_runner_and_is_asked_once(world: World) -> None:
    update = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll()
    world.start()
    world.poll()
    assert world.master.commands.count("update") == 1
    world.master.end_update(NEW)
    world.start()
    world.poll()
    assert update().state is OperationState.DONE
    assert world.master.commands.count("update") == 1


def test_an_update_that_is_aborted_says_why(world: World) -> None:
    update = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll()
    world.master.end_update(OLD, "no room")
    world.poll()
    assert (update().state, update().reason) == (OperationState.FAILED, "t is not updated: no room")


def test_a_master_that_dies_with_its_answer_is_not_asked_again(world: World) -> None:
    """Its successor continues from the stored state."""
    world.master.answers = False
    update = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll()
    assert update().progress == "waiting for the topology master"
    world.store.put(packing_path(NAME), packing_to_json(NEW))
    world.master.answers = True
    world.master.end_update(NEW)
    world.poll()
    assert update().state is OperationState.DONE
    assert "update" not in world.master.commands


def test_a_second_update_is_refused(world: World) -> None:
    world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    with pytest.raises(HeronError, match="an update of t is under way: wait until it is done"):
        world.ask(OperationKind.UPDATE, packing=packing_to_json(OTHER))


def test_of_two_updates_asked_at_once_the_second_fails(world: World) -> None:
    """Neither command saw the second update."""
    first = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    asked = world.store.get(operation_path(NAME, 1))
    world.store.put(operation_path(NAME, 2), asked)
    world.poll(2)
    second = world.requests.get(2)
    assert second is not None
    assert (first().state, second.state) == (OperationState.RUNNING, OperationState.FAILED)
    assert "under way" in second.reason


def test_containers_restart_one_by_one_and_not_twice_under_another_runner(world: World) -> None:
    world.master.registered = {each: {"host": "h", "pid": each, "secs": 1.0} for each in (1, 2)}
    restart = world.ask(OperationKind.RESTART, containers=[1, 2])
    world.poll()
    assert restart().result == {"restarted": [1]}
    world.start()
    world.poll(3)
    assert restart().state is OperationState.DONE
    assert world.containers.restarted == [1, 2]


def test_a_request_of_a_topology_that_has_ended_is_taken_back(world: World) -> None:
    world.store.delete(topology_path(NAME))
    with pytest.raises(HeronError, match="t has just ended"):
        world.ask(OperationKind.ACTIVATE)
    assert world.store.children(operations_path(NAME)) == []


def test_nonsense_is_taken_away_or_fails(world: World) -> None:
    empty = world.ask(OperationKind.UPDATE)
    world.store.put(operation_path(NAME, 2), {"kind": "explode"})
    world.poll(2)
    assert world.requests.get(2) is None
    assert empty().state is OperationState.FAILED
    assert "makes no sense" in empty().reason


def test_old_requests_are_forgotten(world: World) -> None:
    for _ in range(HISTORY_MAX + 3):
        world.ask(OperationKind.ACTIVATE)
    world.poll(HISTORY_MAX + 4)
    assert sorted(world.requests.all()) == list(range(4, HISTORY_MAX + 4))


def test_a_state_store_that_is_away_stops_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    with monkeypatch.context() as away:
        away.setattr(world.store, "put", _unreachable)
        with pytest.raises(StateStoreError):
            world.poll()
    world.poll()
    world.master.end_update(NEW)
    world.poll()
    assert update().state is OperationState.DONE


def _unreachable(*_: object) -> None:
    raise StateStoreError("away")


def with_savepoint(world: World, tmp_path: Path) -> Callable[[], Operation]:
    """A kill with a savepoint is asked for, of a topology with states in a folder."""
    config = {"topology.checkpoint.store": f"{tmp_path}/states"}
    world.store.put(topology_path(NAME), topology_to_json(TopologySpec(NAME, (), config)))
    world.store.put(checkpoints_path(NAME), {"latest": 4, "completed": [{"number": 4, "at": 5.0}]})
    return world.ask(OperationKind.KILL, wait_secs=5.0, savepoint=f"{tmp_path}/savepoint")


def test_a_kill_with_a_savepoint_ends_when_it_is_there(world: World, tmp_path: Path) -> None:
    kill = with_savepoint(world, tmp_path)
    world.poll(3)
    assert kill().progress == "waiting for words[0]"
    assert not (tmp_path / "savepoint").exists()
    world.start()  # whoever takes it over goes on
    world.poll(2)
    world.master.checkpoints |= {"completed": 4, "latest": 4}
    with pytest.raises(TopologyKilled):
        world.poll(5)
    assert kill().result["savepoint"] == f"{tmp_path}/savepoint"
    assert json.loads((tmp_path / "savepoint/description.json").read_text())["checkpoint"] == 4
    assert "drain" not in world.master.commands  # all of that would be done again


def test_a_savepoint_that_another_machine_takes_is_signed_as_its_users_own(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a sandbox of Aurora or a container of YARN: its folder has a different key, or lacks a
    key."""
    mine, others = b"m" * 32, b"o" * 32
    monkeypatch.setenv("HERONPY_HOME", f"{tmp_path}/sandbox")
    pair = Keys.new(states=states_key(mine, NAME))
    world.store.put(keys_path(NAME), to_json(pair))
    with_savepoint(world, tmp_path)
    world.poll(2)
    world.master.checkpoints |= {"completed": 4, "latest": 4}
    with pytest.raises(TopologyKilled):
        world.poll(5)
    folder = open_checkpoint_store(f"{tmp_path}/savepoint").savepoint()
    assert Trust(mine).is_signed(folder, folder.description())
    assert not Trust(others).is_signed(folder, folder.description())
    assert not Trust().is_signed(folder, folder.description())
    assert not (tmp_path / "sandbox").exists(), "the machine's own key is not even made"


def test_without_its_savepoint_nothing_is_killed(world: World, tmp_path: Path) -> None:
    kill = with_savepoint(world, tmp_path)
    world.poll(2)
    world.master.checkpoints |= {"latest": 4, "failed": 1, "failure": "no space is left"}
    world.poll(3)
    assert kill().state == OperationState.FAILED
    assert kill().reason == "checkpoint 4 failed: no space is left"
    assert world.master.commands[-1] == "checkpoint"  # the others go on at once


def test_a_savepoint_in_a_folder_that_is_in_use_is_refused(world: World, tmp_path: Path) -> None:
    (tmp_path / "savepoint").mkdir()
    (tmp_path / "savepoint/mine").touch()
    kill = with_savepoint(world, tmp_path)
    world.poll(2)
    assert "savepoint is not empty: name a folder that is new" in kill().reason
    assert "checkpoint" not in world.master.commands


def test_each_action_and_each_failure_is_told_to_the_master(world: World) -> None:
    """Each request and each refusal is an event of the topology, with its user."""
    world.ask(OperationKind.DEACTIVATE)
    world.poll(3)
    world.master.answers = False
    late = world.ask(OperationKind.ACTIVATE)
    world.poll()
    world.now += SILENT_SECS + 1
    world.poll()
    assert late().state == OperationState.FAILED
    world.master.answers = True
    world.now += SILENT_SECS
    world.poll()
    assert world.master.actions == [
        "deactivate", "activate", "activate failed: nobody answers",
    ]  # fmt: skip


def test_an_action_that_is_resumed_is_told_once(world: World) -> None:
    world.master.quiet = False
    world.ask(OperationKind.KILL, wait_secs=5.0)
    world.poll(2)
    world.start()
    world.poll()
    assert world.master.actions == ["kill, draining for at most 5 s"]
