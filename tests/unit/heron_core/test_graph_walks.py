"""Walks over graphs: small ones by hand, random ones by what their levels and cycles promise."""

from itertools import pairwise
from random import Random

import pytest

from heron_core.graph_walks import (
    Feeders,
    a_cycle,
    external_feeders,
    in_cycles,
    levels,
    reachable,
)

CYCLE = {"s": set[str](), "a": {"s", "b"}, "b": {"a"}, "c": {"b"}, "self": {"c", "self"}}


def test_a_node_reaches_itself_in_a_cycle_alone() -> None:
    assert reachable("b", CYCLE.__getitem__) == {"s", "a", "b"}
    assert reachable("c", CYCLE.__getitem__) == {"s", "a", "b"}


def test_cycles_are_found_and_what_lies_between_two_is_not_in_one() -> None:
    assert in_cycles(CYCLE) == ["a", "b", "self"]
    assert a_cycle(CYCLE) == ["a", "b", "a"], "b is fed by a"
    assert a_cycle({"s": set(), "a": {"s", "a"}}) == ["a", "a"]
    assert in_cycles({"s": set(), "a": {"s"}}) == a_cycle({"s": set(), "a": {"s"}}) == []


def test_a_cycle_is_fed_from_outside_as_one() -> None:
    external = external_feeders(CYCLE)
    assert external == {"s": set(), "a": {"s"}, "b": {"s"}, "c": {"b"}, "self": {"c"}}


def test_a_cycle_counts_as_one_level() -> None:
    assert levels(CYCLE) == {"s": 0, "a": 1, "b": 1, "c": 2, "self": 3}


def test_a_node_does_not_stand_below_its_least_level() -> None:
    feeders: Feeders = {"b": {"alone"}, "alone": set(), "s": set()}
    assert levels(feeders, {"alone": 1}) == {"b": 2, "alone": 1, "s": 0}


def test_a_long_chain_needs_no_recursion() -> None:
    chain: Feeders = {str(at): {str(at - 1)} if at else set() for at in range(1100)}
    assert a_cycle(chain) == []
    assert reachable("1099", chain.__getitem__) == chain.keys() - {"1099"}


@pytest.mark.parametrize("seed", range(60))
def test_levels_and_cycles_of_any_graph(seed: int) -> None:
    rng = Random(seed)
    names = [str(at) for at in range(rng.randrange(1, 9))]
    feeders = {name: {x for x in names if rng.random() < rng.choice((0.1, 0.3))} for name in names}
    level, above = levels(feeders), {x: reachable(x, feeders.__getitem__) for x in names}
    for name in names:
        for feeder in feeders[name]:
            if name in above[feeder]:
                assert level[feeder] == level[name], "both are in one cycle"
            else:
                assert level[feeder] < level[name]
    path = a_cycle(feeders)
    assert bool(path) == any(name in above[name] for name in names)
    assert all(one in feeders[other] for one, other in pairwise(path))
    assert not path or path[0] == path[-1]
