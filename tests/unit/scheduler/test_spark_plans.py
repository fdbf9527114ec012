"""Which containers an application starts and ends while a topology is scaled."""

import pytest

from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_engine.scheduler.backends.spark.plans import Difference, difference, joined
from heron_engine.scheduler.update_plans import Packings

ANY = Resource(1.0, 1, 1)


def plan(*containers: int, component: str = "old") -> PackingPlan:
    """A plan with these containers."""
    every = (ContainerPlan(n, (InstancePlan(n, component, 0, ANY),), ANY) for n in containers)
    return PackingPlan("words", tuple(every))


@pytest.mark.parametrize(
    ("current", "wanted", "running", "start", "end"),
    [
        ((1, 2), (1, 2), (), {1, 2}, set()),
        ((1, 2), (1, 2), (1, 2), set(), set()),
        ((1, 2), (1, 2, 3), (1, 2), {3}, set()),
        ((1, 2), (1, 2, 3), (1, 2, 3), set(), set()),
        ((1, 2, 3), (1, 2), (1, 2, 3), set(), set()),
        ((1, 2), (1, 2), (1, 2, 3), set(), {3}),
        ((1, 2), (2, 3), (1, 2), {3}, set()),
        ((2, 3), (2, 3), (1, 2, 3), set(), {1}),
    ],
    ids=["start", "steady", "up", "up, started", "down", "down, switched", "other", "switched"],
)
def test_what_starts_and_what_ends(
    current: tuple[int, ...],
    wanted: tuple[int, ...],
    running: tuple[int, ...],
    start: set[int],
    end: set[int],
) -> None:
    """Added containers come before the switch, removed ones go after it; "down, switched" is an
    update that was undone as well."""
    all_now = joined(Packings(plan(*current), plan(*wanted)))
    found = difference(all_now, frozenset(running))
    assert found == Difference(frozenset(start), frozenset(end))


def test_a_container_of_both_plans_is_as_the_wanted_one_has_it() -> None:
    all_now = joined(Packings(plan(1, 2), plan(2, 3, component="new")))
    assert {each.component for each in all_now.container(2).instances} == {"new"}
    assert {each.id for each in all_now.containers} == {1, 2, 3}
