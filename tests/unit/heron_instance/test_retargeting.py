"""A running instance when its topology is scaled: its emit closures get new targets."""

from collections import Counter

import pytest

from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan
from heron_core.records import replace
from heron_core.topology import GroupingKind, StreamSpec
from heron_core.wire.frames import FrameKind
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    NOTHING,
    Made,
    Middle,
    Source,
    batch,
    grouped,
    make,
    packing,
    reads,
)

NEW = 7


def more() -> PackingPlan:
    """A fifth reader, task 7, in a new container 3."""
    added = ContainerPlan(3, (InstancePlan(NEW, "readers", 4, NOTHING),), NOTHING)
    return replace(packing(), containers=(*packing().containers, added))


def fewer() -> PackingPlan:
    """Without the readers 4 and 5; task 3 moves to container 2."""
    gone = [
        replace(each, instances=tuple(x for x in each.instances if x.task not in (3, 4, 5)))
        for each in packing().containers
    ]
    moved = (InstancePlan(3, "readers", 1, NOTHING), *gone[1].instances)
    return replace(packing(), containers=(gone[0], replace(gone[1], instances=moved)))


def spread(made: Made, count: int = 200) -> Counter[int]:
    """Emit by the closure held by the component from its start; task -> number of tuples."""
    made.sent.clear()
    for number in range(count):
        made.component.emit([f"key-{number}", number])
    return Counter(task for task, _ in made.emitted())


@pytest.mark.parametrize(
    "kind", [GroupingKind.SHUFFLE, GroupingKind.NONE, GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY]
)
@pytest.mark.parametrize("component", [Source, Middle])
def test_new_tasks_get_their_share_and_removed_ones_nothing(
    component: type, kind: GroupingKind
) -> None:
    fields = ("a",) if kind in (GroupingKind.FIELDS, GroupingKind.PARTIAL_KEY) else ()
    made = make(component, reads(grouped(kind, *fields)))
    assert set(spread(made)) == {2, 3, 4, 5}
    made.instance.repack(more())
    assert set(spread(made)) == {2, 3, 4, 5, NEW}
    made.instance.repack(fewer())
    assert set(spread(made)) == {2, 3}
    made.instance.repack(packing())
    assert set(spread(made)) == {2, 3, 4, 5}


def test_fields_keep_each_key_in_one_task_by_each_plan() -> None:
    # An old emitter and a new one choose equal tasks.
    old = make(Source, reads(grouped(GroupingKind.FIELDS, "a")))
    spread(old)
    old.instance.repack(more())
    new = make(Source, reads(grouped(GroupingKind.FIELDS, "a")), seed=2)
    new.instance.repack(more())
    assert spread(old) == spread(new)


def test_all_goes_once_to_each_container_as_it_is_now() -> None:
    made = make(Source, reads(grouped(GroupingKind.ALL)))
    spread(made, 1)
    assert [each.targets for each in made.batches()] == [[2, 3], [4, 5]]
    made.instance.repack(fewer())
    spread(made, 1)
    assert [each.targets for each in made.batches()] == [[2], [3]]
    made.instance.repack(more())
    spread(made, 1)
    assert [each.targets for each in made.batches()] == [[2, 3], [4, 5], [NEW]]
    assert [each.head.kind for each in made.batches()] == [
        FrameKind.FANOUT,
        FrameKind.FANOUT,
        FrameKind.DATA,
    ]


def test_local_or_shuffle_follows_who_is_here() -> None:
    made = make(Source, reads(grouped(GroupingKind.LOCAL_OR_SHUFFLE)))
    assert set(spread(made)) == {2, 3}
    made.instance.repack(fewer())
    assert set(spread(made)) == {2}


def test_two_streams_that_shared_buffers_still_do() -> None:
    made = make(
        Source,
        reads(grouped(GroupingKind.SHUFFLE)),
        reads(grouped(GroupingKind.FIELDS, "a"), "more"),
        outputs=(StreamSpec("default", ("a", "b")), StreamSpec("more", ("a",))),
    )
    made.instance.repack(more())
    for number in range(40):
        made.component.emit([f"key-{number}", number])
        made.component.emit([f"key-{number}"], stream="more")
    made.core.flush()
    streams = Counter(stream for each in made.batches() for stream in each.streams)
    assert streams == {0: 40, 1: 40}
    assert {each.head.destination for each in made.batches()} == {2, 3, 4, 5, NEW}


def test_a_custom_grouping_is_prepared_for_the_new_tasks() -> None:
    made = make(Source, reads(grouped(GroupingKind.CUSTOM)))
    made.instance.repack(more())
    made.component.emit([[NEW, 2], 0])
    assert sorted(task for task, _ in made.emitted()) == [2, NEW]
    made.instance.repack(fewer())
    with pytest.raises(Exception, match=r"out of \[2, 3\]"):
        made.component.emit([[NEW], 0])


def test_what_a_buffer_to_a_removed_task_holds_still_leaves() -> None:
    # Its stream manager fails the tuple for a replay; a held tuple would wait for ever.
    made = make(Source, reads(grouped(GroupingKind.SHUFFLE)))
    for number in range(4):
        made.component.emit([number, number], tup_id=number)
    made.instance.repack(fewer())
    assert {task for task, _ in made.emitted()} == {2, 3, 4, 5}
    assert made.core.outbox.empty
    made.instance.repack(packing())
    assert len(made.core.outbox.buffers) == 4


def test_the_context_tells_the_tasks_of_now_and_direct_emits_reach_them() -> None:
    made = make(
        Source,
        reads(grouped(GroupingKind.DIRECT), "direct"),
        outputs=(StreamSpec("direct", ("a",), True),),
    )
    assert made.instance.context.get_component_tasks("readers") == [2, 3, 4, 5]
    made.instance.repack(more())
    assert made.instance.context.get_component_tasks("readers") == [2, 3, 4, 5, NEW]
    made.component.emit([1], stream="direct", direct_task=NEW)
    assert made.emitted() == [(NEW, [1])]


def test_a_batch_of_the_plan_before_is_as_good_as_any_unless_somebody_died() -> None:
    # A tick emits in the very moment of the switch.
    made = make(Middle)
    made.core.plan_changed(EPOCH + 1, fenced=False)
    made.core.deliver(batch(["x"], epoch=EPOCH))
    assert made.core.metrics.executed == 1
    made.core.plan_changed(EPOCH + 2, fenced=True)
    made.core.deliver(batch(["x"], epoch=EPOCH + 1))
    assert (made.core.metrics.executed, made.core.metrics.fenced) == (1, 1)
