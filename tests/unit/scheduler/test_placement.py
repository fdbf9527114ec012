"""Constraints of components: who shares a container, and which labels a container's node needs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.placement import component_labels, container_labels
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.packing import pack, repack
from heron_engine.scheduler.packing.groups import shares

EDGE = {"place": "edge"}
FIRST_FIT = {"topology.packing.algorithm": "first_fit_decreasing"}


def lights(config: dict[str, Any], **constraints: dict[str, Any]) -> TopologySpec:
    """Sensors that are read at the edge, and what is counted in the middle."""
    components = (
        ComponentSpec("lights", True, "module.Lights", 4),
        ComponentSpec("filter", False, "module.Filter", 2),
        ComponentSpec("count", False, "module.Count", 3),
    )
    return TopologySpec("traffic", components, {**config, keys.CONSTRAINTS: constraints})


def names(spec: TopologySpec, plan: Any) -> list[set[str]]:
    """The components of each container."""
    return [{each.component for each in container.instances} for container in plan.containers]


@pytest.mark.parametrize("algorithm", [{}, FIRST_FIT])
def test_components_with_equal_constraints_share_containers(algorithm: dict[str, Any]) -> None:
    spec = lights(algorithm, lights=EDGE, filter=EDGE)
    plan = pack(spec)
    assert names(spec, plan) == [{"lights", "filter"}, {"count"}]
    assert container_labels(spec, plan) == {1: (("place", "edge"),), 2: ()}
    assert [each.task for each in plan.containers[1].instances] == [7, 8, 9]


def test_containers_are_shared_out_by_the_number_of_instances() -> None:
    spec = lights({keys.STMGRS: 3}, lights=EDGE, filter=EDGE)
    assert [len(each.instances) for each in pack(spec).containers] == [3, 3, 3]
    with pytest.raises(TopologyError, match=r"topology.stmgrs is 1, and 2 groups .* at least 2"):
        pack(lights({keys.STMGRS: 1}, lights=EDGE))


def test_a_component_decides_over_the_labels_of_the_topology() -> None:
    spec = lights({keys.NODE_LABELS: {"place": "west", "gpu": True}}, lights=EDGE)
    assert component_labels(spec)["lights"] == (("gpu", "true"), ("place", "edge"))
    assert component_labels(spec)["count"] == (("gpu", "true"), ("place", "west"))


@pytest.mark.parametrize("algorithm", [{}, FIRST_FIT])
def test_new_instances_go_to_containers_of_their_group(algorithm: dict[str, Any]) -> None:
    spec = lights(algorithm, count=EDGE)
    after = repack(spec, pack(spec), {"count": 6, "filter": 3})
    assert all(each in ({"lights", "filter"}, {"count"}, {"filter"}) for each in names(spec, after))
    container_labels(spec, after)


def test_more_and_fewer_containers_keep_the_groups_apart() -> None:
    spec = lights({keys.STMGRS: 2}, count=EDGE)
    before = pack(spec)
    more = repack(spec, before, {}, 5)
    assert len(more.containers) == 5
    container_labels(spec, more)
    back = repack(spec, more, {}, 2)
    assert names(spec, back) == names(spec, before)
    with pytest.raises(TopologyError, match="--container-number is 1, and 2 groups"):
        repack(spec, more, {}, 1)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (keys.CONSTRAINTS, {"light": EDGE}, "names the component 'light': the topology has lights"),
        (keys.CONSTRAINTS, {"lights": "edge"}, r"must be {COMPONENT: {LABEL: value}}"),
        (keys.CONSTRAINTS, {"lights": {"place": None}}, r"must be {COMPONENT: {LABEL: value}}"),
        (keys.CONSTRAINTS, "edge", r"must be {COMPONENT: {LABEL: value}}, not 'edge'"),
        (keys.NODE_LABELS, "edge", r"must be {LABEL: value}, not 'edge'"),
        (keys.NODE_LABELS, {"place": ["a"]}, r"must be {LABEL: value}"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(key: str, value: object, reason: str) -> None:
    spec = TopologySpec("traffic", lights({}).components, {key: value})
    with pytest.raises(TopologyError, match=reason):
        pack(spec)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=5), st.integers(1, 60))
def test_shares_give_each_group_some_and_no_more_than_it_can_use(
    sizes: list[int], containers: int
) -> None:
    if containers < len(sizes):
        with pytest.raises(TopologyError):
            shares(sizes, containers, "key")
        return
    given_to = shares(sizes, containers, "key")
    assert sum(given_to) == min(containers, sum(sizes))
    assert all(1 <= number <= size for number, size in zip(given_to, sizes, strict=True))


@given(
    st.lists(st.sampled_from(["a", "b", "c"]), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5)), max_size=4),
    st.sampled_from([{}, FIRST_FIT]),
    st.booleans(),
)
def test_no_container_ever_has_two_groups(
    places: list[str],
    changes: list[tuple[int, int, int]],
    algorithm: dict[str, Any],
    is_spread: bool,
) -> None:
    """Whatever is scaled to whatever, by both algorithms."""
    components = ("lights", "filter", "count")
    constraints = {name: {"place": at} for name, at in zip(components, places, strict=True)}
    spec = lights(algorithm, **constraints)
    plan = pack(spec)
    for numbers in changes:
        parallelism = dict(zip(components, numbers, strict=True))
        containers = sum(numbers) if is_spread and not algorithm else None
        plan = repack(spec, plan, parallelism, containers)
        container_labels(spec, plan)
        assert len(plan.instances) == sum(numbers)
        ids = [each.id for each in plan.containers]
        assert len(set(ids)) == len(ids)
