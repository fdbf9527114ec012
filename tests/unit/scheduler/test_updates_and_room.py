"""An update waits for containers that are large enough, and says what the cluster says."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heron_core.operations import OperationKind, OperationState
from heron_core.plans import ContainerPlan, PackingPlan, Resource, packing_to_json
from heron_core.state_tree import (
    execution_path,
    packing_path,
    topology_path,
)
from heron_engine.scheduler.operation_steps import CAPACITY_SECS
from heron_engine.scheduler.operations import TopologyRequests
from heron_io.state_store.file_store import FileStore
from tests.unit.scheduler.operation_support import (
    NAME,
    NEW,
    OLD,
    FakeContainers,
    FakeMaster,
    World,
    run_by,
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with FileStore(str(tmp_path)) as store:
        store.put(topology_path(NAME), {})
        store.put(execution_path(NAME), {"state": "RUNNING"})
        run_by(store, OLD)
        master = FakeMaster(store)
        yield World(store, master, FakeContainers(master), TopologyRequests(store, NAME))


def test_containers_are_large_enough_before_an_update_begins(world: World) -> None:
    """Else what is moved into them would be killed for its memory."""
    world.containers.small = "container 1 (640 MB, 1 vcores) to have 900 MB, 1 vcores"
    request = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll(3)
    assert world.containers.room == [NEW]
    assert request().progress == f"waiting for room: {world.containers.small}"
    assert "update" not in world.master.commands
    world.containers.small = ""
    world.poll()
    assert "update" in world.master.commands


@pytest.mark.parametrize("killed_after", range(6))
def test_whoever_carries_an_update_out_may_die_at_any_moment(
    world: World, killed_after: int
) -> None:
    """While it waits for room, for containers, for instances: the next one goes on, and the master
    is asked once."""
    moments: tuple[Callable[[], object], ...] = (
        lambda: setattr(world.containers, "small", "container 1"),
        lambda: setattr(world.containers, "small", ""),
        lambda: world.master.update.update(step="containers"),
        lambda: world.master.update.update(step="instances"),
        lambda: world.master.end_update(NEW),
    )
    request = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    for number, moment in enumerate(moments):
        if number == killed_after:
            world.start()
        moment()
        world.poll()
    if killed_after == len(moments):
        world.start()
    world.poll()
    assert request().state is OperationState.DONE
    assert world.master.commands.count("update") == 1


def test_containers_that_the_cluster_does_not_enlarge_leave_the_old_plan(world: World) -> None:
    world.containers.small = "container 1 (640 MB, 1 vcores) to have 9000 MB, 1 vcores"
    request = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll()
    world.now += CAPACITY_SECS + 1
    world.poll()
    assert world.containers.room == [NEW, None]
    assert "does not enlarge container 1 (640 MB, 1 vcores) to have 9000 MB" in request().reason
    assert "update" not in world.master.commands
    assert world.store.get(packing_path(NAME)) == packing_to_json(OLD)


def test_an_update_without_its_containers_says_what_the_cluster_says(world: World) -> None:
    """By then the cluster is asked for them no more."""
    request = world.ask(OperationKind.UPDATE, packing=packing_to_json(NEW))
    world.poll()
    world.master.update |= {"step": "containers"}
    world.containers.waits = "YARN has not granted container 4 (640 MB, 1 vcores) yet"
    world.poll()
    world.containers.waits = ""
    world.poll()
    world.master.end_update(OLD, "container 4 did not come up within 30 s")
    world.poll()
    assert request().state is OperationState.FAILED
    assert request().reason == (
        "t is not updated: container 4 did not come up within 30 s "
        "(YARN has not granted container 4 (640 MB, 1 vcores) yet)"
    )


def test_an_update_whose_containers_cannot_start_is_cancelled_with_the_reason(world: World) -> None:
    """Waiting does not help them; a container of the old plan that fails is another matter."""
    wanted = PackingPlan(NAME, (ContainerPlan(4, (), Resource(1, 1, 1)),))
    request = world.ask(OperationKind.UPDATE, packing=packing_to_json(wanted))
    world.containers.unstarted = {1: "container 1: CrashLoopBackOff, exit code 1"}
    world.poll()
    world.master.update |= {"step": "containers"}
    world.poll()
    assert "cancel" not in world.master.commands
    world.containers.waits = "container 4: ErrImagePull: heronpy:2: not found"
    world.containers.unstarted[4] = world.containers.waits
    world.poll(2)
    assert world.master.commands.count("cancel") == 1
    world.master.end_update(OLD, world.master.update["reason"])
    world.poll()
    assert request().reason == (
        "t is not updated: what it adds cannot start: "
        "container 4: ErrImagePull: heronpy:2: not found"
    )
