"""An upgrade of the engine, container by container, and updates that wait for their time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.errors import HeronError
from heron_core.operations import AT, OperationKind, OperationState
from heron_core.plans import ContainerPlan, PackingPlan, Resource, packing_to_json
from heron_core.records import replace
from heron_core.state_tree import execution_path, master_path, topology_path
from heron_core.typed_json import to_json
from heron_engine.scheduler.container.engines import OTHERS, Choice, Engines, InstalledEngine
from heron_engine.scheduler.operations import TopologyRequests
from heron_engine.scheduler.upgrade_steps import FLOW_SECS
from heron_io.state_store.file_store import FileStore
from tests.unit.scheduler.operation_support import (
    NAME,
    NEW,
    FakeContainers,
    FakeMaster,
    World,
    run_by,
)

ENGINE = InstalledEngine("/opt/2/bin/python", "", "2")
PLAN = PackingPlan(NAME, tuple(ContainerPlan(each, (), Resource(1, 1, 1)) for each in (1, 2)))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FileStore(str(tmp_path)) as store:
        store.put(topology_path(NAME), {})
        store.put(execution_path(NAME), {"state": "RUNNING"})
        store.put(master_path(NAME), {"host": "h", "pid": 9})
        run_by(store, PLAN)
        master = FakeMaster(store)
        for each in (1, 2):
            master.restarted(each, "1", up=True)
        yield World(store, master, FakeContainers(master), TopologyRequests(store, NAME))


def take_checkpoint(world: World) -> None:
    """Whatever is waited for, a checkpoint comes, and data flows."""
    latest = world.master.checkpoints["latest"] + 1
    world.master.checkpoints |= {"completed": latest, "latest": latest}
    world.now += FLOW_SECS / 3


def polled(world: World, times: int) -> None:
    for _ in range(times):
        world.poll()
        take_checkpoint(world)


@pytest.mark.parametrize("killed_after", [None, *range(2, 40, 9)])
def test_containers_are_replaced_one_by_one_and_the_master_last(
    world: World, killed_after: int | None
) -> None:
    """The runner may die at any moment, and no container is replaced twice."""
    upgrade = world.ask(OperationKind.UPGRADE, engine=to_json(ENGINE))
    for number in range(100):
        if upgrade().is_over:
            break
        if number == killed_after:
            world.start()
        polled(world, 1)
    assert upgrade().state is OperationState.DONE, upgrade().reason
    assert world.containers.restarted == [1, 2, 0]
    assert world.containers.engines == dict.fromkeys((1, 2, 0, OTHERS), Choice(ENGINE))
    assert "container 1 runs heronpy 2 (1 of 3)" in upgrade().notes
    assert upgrade().notes[-1] == "the topology master runs heronpy 2 (3 of 3)"


def test_the_next_container_waits_for_a_checkpoint(world: World) -> None:
    """Registered is not enough: the new container must show a saved state."""
    world.ask(OperationKind.UPGRADE, engine=to_json(ENGINE))
    while not world.containers.restarted:
        polled(world, 1)
    world.master.checkpoints["waiting_for"] = ["count[0]"]
    for _ in range(30):
        world.poll()
        world.now += 0.5
    assert world.containers.restarted == [1]


def test_a_container_that_does_not_come_back_ends_the_upgrade(world: World) -> None:
    """The container runs its previous engine; the rest stay untouched."""
    world.containers.broken = ENGINE.version
    world.master.errors = {4: "ModuleNotFoundError: no module called pandas"}
    upgrade = world.ask(OperationKind.UPGRADE, engine=to_json(ENGINE))
    for _ in range(60):
        polled(world, 1)
    assert upgrade().state is OperationState.FAILED
    assert "container 1 of t does not work with heronpy 2 (/opt/2/bin/python)" in upgrade().reason
    assert "no module called pandas. It was rolled back to its previous version" in upgrade().reason
    assert world.containers.restarted == [1, 1]
    assert world.containers.engines == {1: Choice()}
    assert world.master.registered[1]["version"] == "1"


def test_an_image_that_cannot_start_ends_the_upgrade_at_once(world: World) -> None:
    """With the reason of the cluster, not after the time that a slow start may take."""
    world.containers.broken = ENGINE.version
    world.containers.unstarted = {1: "container 1: ErrImagePull: heronpy:2: not found"}
    world.master.errors = {4: "an older error of another container"}
    upgrade = world.ask(OperationKind.UPGRADE, engine=to_json(ENGINE))
    while world.containers.restarted != [1, 1]:
        world.poll()
        take_checkpoint(world)
        assert world.now < world.containers.back_secs
    polled(world, 5)
    assert upgrade().state is OperationState.FAILED
    assert upgrade().reason.startswith(
        "container 1 of t does not work with heronpy 2 (/opt/2/bin/python): it cannot start "
        "(container 1: ErrImagePull: heronpy:2: not found). It was rolled back to its previous"
    )
    assert world.containers.engines == {1: Choice()}
    assert world.master.registered[1]["version"] == "1"


def test_an_engine_that_cannot_be_started_is_noticed(world: World) -> None:
    """The container comes back by another version than was asked for."""
    upgrade = world.ask(OperationKind.UPGRADE, engine=to_json(replace(ENGINE, version="3")))
    world.containers.starts = "1"
    for _ in range(60):
        polled(world, 1)
    assert "it runs heronpy 1 instead" in upgrade().reason


def test_an_update_and_an_upgrade_are_not_mixed(world: World) -> None:
    world.ask(OperationKind.UPGRADE, engine=to_json(ENGINE))
    with pytest.raises(HeronError, match="an update of t is under way"):
        world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))


def test_an_update_waits_for_its_time_and_others_go_on_meanwhile(world: World) -> None:
    """A maintenance window at night; a rescale by day, and the waiting command may be killed."""
    later = world.ask(OperationKind.UPGRADE, engine=to_json(ENGINE), **{AT: 1000.0})
    world.poll(3)
    assert "waits until 1970-01-01" in later().progress
    now = world.ask(OperationKind.UPDATE, packing=packing_to_json(PLAN))
    polled(world, 10)
    assert (now().state, later().state) == (OperationState.DONE, OperationState.RUNNING)
    world.start()
    polled(world, 3)
    assert not world.containers.restarted
    world.now = 1000.0
    polled(world, 60)
    assert later().state is OperationState.DONE
    assert world.containers.restarted == [1, 2, 0]


def test_what_waits_for_its_time_is_cancelled(world: World) -> None:
    later = world.ask(OperationKind.UPGRADE, engine=to_json(ENGINE), **{AT: 1000.0})
    world.poll(2)
    cancel = world.ask(OperationKind.CANCEL)
    world.poll(2)
    assert cancel().state is OperationState.DONE
    assert later().reason.startswith("cancelled by ")
    again = world.ask(OperationKind.CANCEL)
    world.now = 2000.0
    world.poll(3)
    assert again().reason == "t has neither a running nor a scheduled update"
    assert not world.containers.restarted


def test_a_container_finds_its_engine_and_no_other_in_its_search_path(tmp_path: Path) -> None:
    engines = Engines(str(tmp_path))
    assert engines.of(1) == Choice()
    engines.choose(1, Choice(ENGINE, on_trial=True))
    engines.choose(OTHERS, Choice(ENGINE))
    assert engines.of(1) == Choice(ENGINE, on_trial=True)
    assert engines.of(7) == Choice(ENGINE)
    old, users = tmp_path / "old", tmp_path / "users"
    (old / "heron_core").mkdir(parents=True)
    users.mkdir()
    given = {"PYTHONPATH": f"{old}:{users}", "HOME": "/home/ada"}
    assert ENGINE.environment(given) == {"PYTHONPATH": str(users), "HOME": "/home/ada"}
    in_folder = replace(ENGINE, folder="/opt/3")
    assert in_folder.environment(given)["PYTHONPATH"] == f"/opt/3:{users}"
    assert ENGINE.environment({"HOME": "/home/ada"}) == {"HOME": "/home/ada"}
