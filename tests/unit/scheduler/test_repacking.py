"""Packing again: kept and moved instances, refusals, and the output of a dry run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.errors import TopologyError
from heron_core.plans import PackingPlan, leaving
from heron_core.topology import ComponentSpec, TopologySpec
from heron_engine.scheduler.packing import pack, repack
from heron_engine.scheduler.packing.render import render_update

FIRST_FIT = {"topology.packing.algorithm": "first_fit_decreasing"}


def topology(config: dict[str, Any], **parallelism: int) -> TopologySpec:
    """A topology with the components given, the first one its spout."""
    components = tuple(
        ComponentSpec(name, number == 0, f"module.{name}", count)
        for number, (name, count) in enumerate(parallelism.items())
    )
    return TopologySpec("wordcount", components, config)


def placed(plan: PackingPlan) -> dict[int, list[tuple[int, str, int]]]:
    """container -> (task, component, index) of its instances."""
    return {
        container.id: [(each.task, each.component, each.index) for each in container.instances]
        for container in plan.containers
    }


def test_more_instances_than_a_container_got_go_into_a_new_one() -> None:
    # On a cluster the only container cannot grow: sized for its four instances.
    spec = topology({}, word=1, count=3)
    before = pack(spec)
    after = repack(spec, before, {"count": 5})
    assert placed(after) == {
        1: [(1, "word", 0), (2, "count", 0), (3, "count", 1), (4, "count", 2)],
        2: [(5, "count", 3), (6, "count", 4)],
    }
    assert after.containers[0] is before.containers[0]


def test_the_last_instances_go_and_an_empty_container_with_them() -> None:
    spec = topology({}, word=1, count=3)
    many = repack(spec, pack(spec), {"count": 5})
    assert repack(spec, many, {"count": 3}) == pack(spec)
    assert placed(repack(spec, many, {"count": 1})) == {1: [(1, "word", 0), (2, "count", 0)]}


def test_a_task_id_that_was_freed_in_the_middle_is_not_given_again() -> None:
    # An old message about task 2 must not be taken for one about a new instance.
    spec = topology({}, word=2, count=2)
    fewer = repack(spec, pack(spec), {"word": 1})
    assert placed(repack(spec, fewer, {"word": 2}))[1] == [
        (1, "word", 0), (3, "count", 0), (4, "count", 1), (5, "word", 1)
    ]  # fmt: skip


def test_containers_are_added_and_the_newest_instances_move_there() -> None:
    spec = topology({}, word=1, count=3)
    after = repack(spec, pack(spec), {}, 2)
    assert placed(after) == {
        1: [(1, "word", 0), (2, "count", 0)],
        2: [(3, "count", 1), (4, "count", 2)],
    }
    assert repack(spec, after, {}, 1) == pack(spec)


def test_the_highest_containers_go() -> None:
    spec = topology({"topology.stmgrs": 3}, word=2, count=4)
    before = pack(spec)
    after = repack(spec, before, {}, 2)
    assert [each.id for each in after.containers] == [1, 2]
    assert leaving(before, after) == {each.task for each in before.container(3).instances}


def test_first_fit_fills_what_has_room() -> None:
    spec = topology({**FIRST_FIT, "topology.container.max.instances": 4}, word=1, count=4)
    before = pack(spec)
    after = repack(spec, before, {"count": 8})
    assert [len(each.instances) for each in before.containers] == [3, 2]
    assert [len(each.instances) for each in after.containers] == [3, 3, 3]  # and padding
    assert not leaving(before, after)
    with pytest.raises(TopologyError, match="leave --container-number out"):
        repack(spec, before, {}, 3)


@pytest.mark.parametrize(
    ("parallelism", "containers", "told"),
    [
        ({"cuont": 2}, None, "no component 'cuont'; its components: word, count"),
        ({"count": 0}, None, "count cannot have 0 instances: use at least 1"),
        ({}, 5, "use 1 to 4"),
    ],
)
def test_what_cannot_be_is_refused(
    parallelism: dict[str, int], containers: int | None, told: str
) -> None:
    spec = topology({}, word=1, count=3)
    with pytest.raises(TopologyError, match=told):
        repack(spec, pack(spec), parallelism, containers)


@pytest.mark.parametrize(("parallelism", "containers"), [({"count": 3}, None), ({}, 1)])
def test_asked_again_nothing_changes(parallelism: dict[str, int], containers: int | None) -> None:
    # A script with a fixed parallelism runs every night.
    spec = topology({}, word=1, count=3)
    assert repack(spec, pack(spec), parallelism, containers) == pack(spec)


def test_on_this_machine_a_container_grows() -> None:
    # A further container was not requested, and this container has no reserved size.
    spec = topology({}, word=1, count=3)
    after = repack(spec, pack(spec), {"count": 5}, grow=True)
    assert [len(each.instances) for each in after.containers] == [6]


def test_a_dry_run_tells_what_becomes_of_each_container() -> None:
    spec = topology({"topology.stmgrs": 3}, word=3, count=3)
    before = pack(spec)
    text = render_update(before, repack(spec, before, {"count": 2}, 2), "round_robin")
    assert text.startswith("Total number of containers: 2 (now 3)\n")
    assert "Container 3 REMOVED" in text
    shown = render_update(before, repack(spec, before, {"word": 4}), "round_robin")
    assert "Container 1 UNAFFECTED" in shown
    assert "Container 4 NEW" in shown
    assert "| + |      word |       7 |" in shown
    fewer = render_update(before, repack(spec, before, {"count": 2}), "round_robin")
    assert "Container 3 MODIFIED" in fewer
    assert "| - |     count |       6 |" in fewer


@given(st.data())
def test_whatever_changes_every_instance_is_there_once(data: st.DataObject) -> None:
    # An instance placed twice or nowhere, or a survivor with a changed task, loses tuples.
    numbers = st.integers(1, 6)
    parallelism = {"word": data.draw(numbers), "count": data.draw(numbers)}
    most = sum(parallelism.values())
    spec = topology({"topology.stmgrs": data.draw(st.integers(1, most))}, **parallelism)
    plan = pack(spec)
    for _ in range(3):
        wanted = data.draw(st.dictionaries(st.sampled_from(["word", "count"]), numbers))
        total = sum({**parallelism, **wanted}.values())
        containers = data.draw(st.none() | st.integers(1, total))
        try:
            after = repack(spec, plan, wanted, containers)
        except TopologyError:
            assert {**parallelism, **wanted} == parallelism, "it could be done"
            assert containers in (None, len(plan.containers))
            continue
        parallelism |= wanted
        assert {name: len(tasks) for name, tasks in after.tasks_of.items()} == parallelism
        for name, number in parallelism.items():
            indexes = sorted(after.instances[task].index for task in after.tasks_of[name])
            assert indexes == list(range(number))
        for task in plan.instances.keys() & after.instances.keys():
            was, is_now = plan.instances[task], after.instances[task]
            assert (was.component, was.index) == (is_now.component, is_now.index)
        sizes = [len(each.instances) for each in after.containers]
        assert min(sizes) >= 1
        if containers is None:
            known = (len(x.instances) for each in (plan, pack(spec)) for x in each.containers)
            assert max(sizes) <= max(known)
            assert not leaving(plan, after) & after.instances.keys(), "something moved"
        else:
            assert len(sizes) == containers
            assert max(sizes) - min(sizes) <= 1
        plan = after


@pytest.mark.parametrize("config", [{}, FIRST_FIT])
@pytest.mark.parametrize("number", [100_000, 10**18])
def test_an_update_to_more_than_the_limit_names_its_key(
    config: dict[str, Any], number: int
) -> None:
    spec = topology(config, word=1, count=3)
    with pytest.raises(TopologyError, match=r"instances exceed topology\.instances\.max"):
        repack(spec, pack(spec), {"count": number})
