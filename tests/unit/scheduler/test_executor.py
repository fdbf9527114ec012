"""Which processes a container has, and what of them another plan changes."""

import os
from collections.abc import Iterator

import pytest

from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.plans import (
    MASTER_CONTAINER,
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    Resource,
    packing_to_json,
)
from heron_core.records import replace
from heron_core.supervision import RELOAD
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.container.executor import ContainerSpec, changed_specs, process_specs
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_io.processes import SupervisorLink
from heron_io.security import Keys

TOPOLOGY = TopologySpec("words", (ComponentSpec("lines", True, "words.Lines", 1),))
NOTHING = Resource(0.0, 0, 0)


def packed(*tasks: int) -> PackingPlan:
    """A plan with these tasks in container 1."""
    instances = tuple(InstancePlan(task, "lines", task - 1, NOTHING) for task in tasks)
    return PackingPlan("words", (ContainerPlan(1, instances, NOTHING),))


def container(number: int) -> ContainerSpec:
    """One whose plan has tasks 1 and 2."""
    return ContainerSpec(TOPOLOGY, packed(1, 2), number, "file:///s", Keys.new(), "/logs", "/run")


def names(specs: list[ProcessSpec]) -> list[str]:
    """What runs."""
    return [spec.name for spec in specs]


@pytest.fixture
def status_pipe() -> Iterator[tuple[int, SupervisorLink]]:
    """What the executor's own supervisor reads, and the executor's end."""
    readable, writable = os.pipe2(os.O_NONBLOCK)
    yield readable, SupervisorLink(-1, writable)
    os.close(readable)
    os.close(writable)


def test_the_stream_manager_is_first_so_that_it_ends_last() -> None:
    first, *instances = process_specs(container(1))
    assert first.name == "stream manager 1"
    assert names(instances) == ["lines[0] (task 1)", "lines[1] (task 2)"]
    ends_all = {ExitCode.SUPERSEDED, ExitCode.ENDED}
    assert first.final_codes == ends_all, "replaced, or its topology is over"


def test_the_memory_of_an_instance_is_limited_by_the_rammap_alone() -> None:
    limited = replace(TOPOLOGY, config={"topology.component.rammap": "lines:536870912"})
    first, *instances = process_specs(replace(container(1), topology=limited))
    assert [each.memory_bytes_max for each in instances] == [536870912] * 2
    assert first.memory_bytes_max is None
    assert {each.memory_bytes_max for each in process_specs(container(1))} == {None}


def test_the_first_container_has_the_topology_master_alone() -> None:
    (master,) = process_specs(container(MASTER_CONTAINER))
    assert (master.name, master.final_codes) == ("topology master", frozenset({ExitCode.ENDED}))


def test_the_plan_that_the_stream_manager_works_by_counts() -> None:
    message = {"packing": packing_to_json(packed(2, 3))}
    changed = changed_specs(container(1), message, SupervisorLink(-1))
    assert names(changed) == [
        "stream manager 1", "lines[1] (task 2)", "lines[2] (task 3)"
    ]  # fmt: skip


@pytest.mark.parametrize("message", [None, {}, {"packing": None}, {"packing": {"containers": 7}}])
def test_what_is_no_plan_changes_nothing(message: dict[str, object] | None) -> None:
    with pytest.raises(HeronError, match="packing plan"):
        changed_specs(container(1), message, SupervisorLink(-1))


def test_the_master_s_notice_is_passed_on(status_pipe: tuple[int, SupervisorLink]) -> None:
    # Which containers there are is for whoever runs them: the scheduler, or a cluster's.
    readable, link = status_pipe
    assert names(changed_specs(container(MASTER_CONTAINER), None, link)) == ["topology master"]
    assert os.read(readable, 100) == RELOAD
