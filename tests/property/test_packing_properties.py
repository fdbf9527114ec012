"""Invariants of every packing plan, for any topology and resources."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from heron_core.errors import TopologyError
from heron_core.plans import GIB, MIB, ContainerPlan, PackingPlan, Resource, leaving
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.packing import pack, repack

NOTHING = Resource(0.0, 0, 0)
CORES_TOLERANCE = 1e-9  # sums of floats


def _topology(parallelisms: list[int], config: dict[str, Any]) -> TopologySpec:
    components = tuple(
        ComponentSpec(f"c{number}", number == 0, "module.Class", parallelism)
        for number, parallelism in enumerate(parallelisms)
    )
    return TopologySpec("t", components, config)


@st.composite
def component_maps(draw: st.DrawFn, components: int) -> dict[str, str]:
    """Some of the three component maps, each for some of the components."""
    amounts = {
        "topology.component.rammap": st.integers(16 * MIB, 4 * GIB),
        "topology.component.diskmap": st.integers(1, 4 * GIB),
        "topology.component.cpumap": st.floats(0.1, 4.0).map(lambda cores: round(cores, 2)),
    }
    config = {}
    for key, amount in amounts.items():
        named = draw(st.sets(st.integers(0, components - 1)))
        if named:
            config[key] = ",".join(f"c{number}:{draw(amount)}" for number in sorted(named))
    return config


@st.composite
def dealt_topologies(draw: st.DrawFn) -> TopologySpec:
    """Topologies for round robin; containers are of a given size or not."""
    parallelisms = draw(st.lists(st.integers(1, 8), min_size=1, max_size=5))
    config: dict[str, Any] = dict(draw(component_maps(len(parallelisms))))
    config["topology.stmgrs"] = draw(st.integers(1, sum(parallelisms)))
    if draw(st.booleans()):
        config["topology.container.ram"] = draw(st.integers(170 * GIB, 300 * GIB))
        config["topology.container.cpu"] = draw(st.floats(170.0, 300.0))
        config["topology.container.disk"] = draw(st.integers(170 * GIB, 300 * GIB))
    config["topology.container.ram.padding"] = draw(st.integers(0, 3 * GIB))
    return _topology(parallelisms, config)


@st.composite
def fitted_topologies(draw: st.DrawFn) -> TopologySpec:
    """Topologies for first fit decreasing, in containers that hold any of the instances."""
    parallelisms = draw(st.lists(st.integers(1, 8), min_size=1, max_size=5))
    config: dict[str, Any] = dict(draw(component_maps(len(parallelisms))))
    config["topology.packing.algorithm"] = "first_fit_decreasing"
    config["topology.container.max.instances"] = draw(st.integers(6, 12))
    config["topology.container.padding.percentage"] = draw(st.integers(0, 15))
    config["topology.packing.ffd.sorting.strategy"] = draw(
        st.sampled_from(["RAM_FIRST", "CPU_FIRST"])
    )
    return _topology(parallelisms, config)


def _needed(container: ContainerPlan) -> Resource:
    return sum((each.resource for each in container.instances), start=NOTHING)


def _covers(whole: Resource, part: Resource) -> bool:
    return (
        whole.cpu + CORES_TOLERANCE >= part.cpu
        and whole.ram_bytes >= part.ram_bytes
        and whole.disk_bytes >= part.disk_bytes
    )


def _check_every_instance_once(plan: PackingPlan, topology: TopologySpec) -> None:
    instances = [each for container in plan.containers for each in container.instances]
    expected = [
        (component.name, index)
        for component in topology.components
        for index in range(component.parallelism)
    ]
    by_task = sorted(instances, key=lambda each: each.task)
    assert [each.task for each in by_task] == list(range(1, len(expected) + 1))
    assert [(each.component, each.index) for each in by_task] == expected
    assert [each.id for each in plan.containers] == list(range(1, len(plan.containers) + 1))
    assert all(each.instances for each in plan.containers)


@given(dealt_topologies())
def test_round_robin(topology: TopologySpec) -> None:
    # An instance placed twice or nowhere, or a container too small for its instances, shows only on
    # the cluster, hours after the submit.
    plan = pack(topology)
    _check_every_instance_once(plan, topology)
    assert len(plan.containers) == topology.config["topology.stmgrs"]
    sizes = [len(container.instances) for container in plan.containers]
    assert max(sizes) - min(sizes) <= 1
    padding = Resource(1.0, topology.config["topology.container.ram.padding"], 0)
    for container in plan.containers:
        assert _covers(container.resource, _needed(container) + padding)
    assert pack(topology) == plan


@given(fitted_topologies())
def test_first_fit_decreasing(topology: TopologySpec) -> None:
    # Also containers refused by the cluster for their size.
    plan = pack(topology)
    _check_every_instance_once(plan, topology)
    most = topology.config["topology.container.max.instances"]
    percentage = topology.config["topology.container.padding.percentage"]
    capacity = Resource(float(most), most * GIB, most * GIB)
    share = most * GIB * percentage // 100
    padding = Resource(max(1.0, most * percentage / 100), max(GIB, share), max(GIB, share))
    for container in plan.containers:
        assert len(container.instances) <= most
        assert _covers(container.resource, _needed(container) + padding)
        assert _covers(capacity, container.resource)
    assert pack(topology) == plan


@given(fitted_topologies())
def test_first_fit_opens_no_container_too_early(topology: TopologySpec) -> None:
    # Each container costs a machine: a container is opened only if the instances of later ones do
    # not fit before.
    plan = pack(topology)
    most = topology.config["topology.container.max.instances"]
    capacity = Resource(float(most), most * GIB, most * GIB)
    for position, later in enumerate(plan.containers):
        for earlier in plan.containers[:position]:
            if len(earlier.instances) < most:
                for instance in later.instances:
                    assert not _strictly_covers(capacity, earlier.resource + instance.resource)


def _strictly_covers(whole: Resource, part: Resource) -> bool:
    return whole.cpu > part.cpu + CORES_TOLERANCE and _covers(whole, part)


def _moves_needed(sizes: list[int], added: int, containers: int) -> int:
    """The minimum of moves among the remaining instances, for `containers` containers with the
    lowest numbers, and sizes within one."""
    kept, homeless = sizes[:containers], sum(sizes[containers:])
    kept += [0] * (containers - len(kept))
    least, larger = divmod(sum(sizes) + added, containers)
    # The fullest containers may have one instance more.
    wanted = [least + (place < larger) for place in range(containers)]
    by_size = zip(sorted(kept, reverse=True), wanted, strict=True)
    return homeless + sum(max(0, have - want) for have, want in by_size)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(dealt_topologies(), st.data())
def test_whoever_need_not_move_does_not(topology: TopologySpec, data: st.DataObject) -> None:
    # Whatever moves is started from scratch, and takes its state along.
    plan = pack(topology)
    for _ in range(3):
        component = data.draw(st.sampled_from([each.name for each in topology.components]))
        wanted = {component: data.draw(st.integers(1, 8))}
        total = len(plan.instances) - len(plan.tasks_of[component]) + wanted[component]
        containers = data.draw(st.none() | st.integers(1, total))
        try:
            after = repack(topology, plan, wanted, containers, data.draw(st.booleans()))
        except TopologyError:
            continue  # their sizes do not go into so few containers
        if after is not plan:
            moved = leaving(plan, after) & after.instances.keys()
            stay = [
                sum(each.task in after.instances for each in container.instances)
                for container in plan.containers
            ]
            added = len(after.instances.keys() - plan.instances.keys())
            needed = 0 if containers is None else _moves_needed(stay, added, containers)
            assert len(moved) == needed
            _check_sizes(plan, after)
        plan = after


def _check_sizes(before: PackingPlan, after: PackingPlan) -> None:
    """A container has room for its instances, and its previous size if unchanged."""
    known = {each.id: each for each in before.containers}
    for container in after.containers:
        assert _covers(container.resource, _needed(container))
        previous = known.get(container.id)
        if previous is not None and _tasks(previous) == _tasks(container):
            assert container == previous


def _tasks(container: ContainerPlan) -> set[int]:
    return {each.task for each in container.instances}


@settings(derandomize=True, max_examples=40, deadline=None)
@given(fitted_topologies(), st.data())
def test_first_fit_never_moves_anybody(topology: TopologySpec, data: st.DataObject) -> None:
    plan = pack(topology)
    for _ in range(3):
        component = data.draw(st.sampled_from([each.name for each in topology.components]))
        after = repack(topology, plan, {component: data.draw(st.integers(1, 8))})
        assert not leaving(plan, after) & after.instances.keys()
        _check_sizes(plan, after)
        plan = after
