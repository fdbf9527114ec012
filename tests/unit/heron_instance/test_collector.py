"""emit, ack and fail: the fast path and the general path agree, without a loss."""

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heron_core.errors import ComponentError, ValueNotSerialisable
from heron_core.topology import GroupingKind, StreamSpec
from heron_core.wire.frames import EVERY_OWNER, Flag, FrameKind, parse_header
from tests.unit.heron_instance.instance_support import (
    OTHER,
    SHUFFLE,
    Comfortable,
    Made,
    Middle,
    Source,
    batch,
    grouped,
    make,
    reads,
)

ROOT, OTHER_ROOT = (OTHER << 44) | 1, (OTHER << 44) | 2
FIELDS = grouped(GroupingKind.FIELDS, "a")
TWO = (StreamSpec("default", ("a", "b")), StreamSpec("named", ("a", "b")))
ALL, GLOBAL = grouped(GroupingKind.ALL), grouped(GroupingKind.GLOBAL)
SHAPES = {
    "shuffle": (reads(SHUFFLE),),
    "fields": (reads(FIELDS),),
    "two fields": (reads(grouped(GroupingKind.FIELDS, "b", "a")),),
    "partial key": (reads(grouped(GroupingKind.PARTIAL_KEY, "a")),),
    "partial key of two": (reads(grouped(GroupingKind.PARTIAL_KEY, "a", "b")),),
    "global": (reads(GLOBAL),),
    "all": (reads(ALL),),
    "twice": (reads(SHUFFLE), reads(FIELDS)),
    "named": (reads(FIELDS, "named"),),
    "both, the same readers": (reads(SHUFFLE), reads(FIELDS, "named")),
    "all beside fields": (reads(FIELDS), reads(ALL, "named")),
    "nobody": (),
}
"""How a component's streams are read."""

values_lists = st.lists(
    st.tuples(st.integers(0, 5) | st.text(max_size=3), st.none() | st.integers() | st.floats()),
    max_size=12,
)
streams_of = st.lists(st.sampled_from(["default", "named"]), min_size=12, max_size=12)
kinds_of = st.sampled_from([list, tuple])
EXAMPLES = 20
"""For each shape: an instance takes some milliseconds to make."""


def pair(kind: type, shape: str, tracked: bool) -> tuple[Made, Made]:
    """Two equal instances; the second one emits only by the general path."""
    config = {"topology.batch.bytes": 60}  # a flush now and then
    fast, general = (
        make(kind, *SHAPES[shape], outputs=TWO, tracked=tracked, config=config) for _ in range(2)
    )
    general.component.emit = general.core.collector.emit_general
    assert fast.component.emit != fast.core.collector.emit_general
    return fast, general


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tracked", [True, False])
@settings(max_examples=EXAMPLES)
@given(tuples=values_lists, streams=streams_of, as_kind=kinds_of, with_ids=st.booleans())
def test_spouts_fast_and_careful_emits_are_the_same_bytes(
    shape: str, tracked: bool, tuples: Any, streams: list[str], as_kind: Any, with_ids: bool
) -> None:
    fast, general = pair(Source, shape, tracked)
    for made in (fast, general):
        for number, (values, stream) in enumerate(zip(tuples, streams, strict=False)):
            tup_id = number if with_ids else None
            made.component.emit(as_kind(values), tup_id=tup_id, stream=stream)
        made.core.flush()
    assert fast.sent == general.sent
    assert fast.core.collector.pending == general.core.collector.pending
    assert fast.core.collector.done_at_once == general.core.collector.done_at_once
    emitted = {name: streams[: len(tuples)].count(name) for name in ("default", "named")}
    assert fast.core.statistics().emitted_by_stream == emitted
    assert general.core.statistics().emitted_by_stream == emitted


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tracked", [True, False])
@settings(max_examples=EXAMPLES)
@given(
    tuples=values_lists,
    streams=streams_of,
    as_kind=kinds_of,
    anchored=st.lists(st.integers(0, 3), min_size=12, max_size=12),
)
def test_bolts_fast_and_careful_emits_are_the_same_bytes(
    shape: str, tracked: bool, tuples: Any, streams: list[str], as_kind: Any, anchored: list[int]
) -> None:
    """With an ack in between."""
    fast, general = pair(Middle, shape, tracked)
    for made in (fast, general):
        roots = [(ROOT, 7), (OTHER_ROOT, 9)] if tracked else []
        deliver(made, batch(["x"], ["y"], roots=roots))
        first, second = made.component.received
        anchors = [None, [first], [second], [first, second]]
        for at, (values, stream) in enumerate(zip(tuples, streams, strict=False)):
            made.component.emit(as_kind(values), stream=stream, anchors=anchors[anchored[at]])
            if at == 6:
                made.component.ack(first)
        made.component.ack(second)
        made.core.flush()
    assert fast.sent == general.sent
    assert fast.core.collector.router.routes["named"].emits == (
        general.core.collector.router.routes["named"].emits
    )


def test_task_ids_are_those_of_the_fast_ways_buffer() -> None:
    fast, general = pair(Middle, "fields", True)
    for made in (fast, general):
        found = [made.component.emit([each, 1], need_task_ids=True) for each in "abcdefgh"]
        assert [[task] for task, _ in sorted(made.emitted(), key=lambda sent: sent[1])] == found


def deliver(made: Made, frames: list[bytes]) -> None:
    """The bolt under test gets one message."""
    made.core.deliver(frames)


def received(
    count: int = 1, roots: list[int] | None = None, *inputs: Any
) -> tuple[Made, list[Any]]:
    """A bolt that got some tuples, each with a root."""
    made = make(Middle, *(inputs or (reads(SHUFFLE),)))
    every = roots if roots is not None else [ROOT + at for at in range(count)]
    ids = [(root, 1000 + at) for at, root in enumerate(every)]
    deliver(made, batch(*([at] for at in range(len(every))), roots=ids))
    return made, made.component.received


def test_a_list_that_changes_after_its_emit_does_no_harm() -> None:
    # Users build one list and change the list for every tuple.
    made = make(Source, reads(SHUFFLE))
    values, inner = [1, [2]], [3]
    values[1] = inner
    made.component.emit(values)
    values[0] = "changed"
    inner.append(4)
    assert [found for _, found in made.emitted()] == [[1, [3]]]


@pytest.mark.parametrize("tup", [[1], [1, 2, 3], []])
def test_a_wrong_number_of_values_is_named(tup: list[int]) -> None:
    made = make(Source, reads(SHUFFLE))
    told = rf"tested\.default: emitted {len(tup)} values for the 2 fields \['a', 'b'\]"
    with pytest.raises(RuntimeError, match=told):
        made.component.emit(tup, tup_id=1)
    assert made.core.collector.pending == {}


@pytest.mark.parametrize("tup", ["ab", {1, 2}, None, 7])
def test_what_is_no_list_of_values_is_refused(tup: object) -> None:
    # A string has a length, too: emit("ab") would go out as two values.
    with pytest.raises(TypeError, match="emit takes a list or tuple of values, not"):
        make(Source, reads(SHUFFLE)).component.emit(tup)


def test_an_undeclared_stream_is_named_with_the_declared_ones() -> None:
    made = make(Source, reads(SHUFFLE))
    with pytest.raises(RuntimeError, match=r"'error', which it does not declare .*default"):
        made.component.emit([1, 2], stream="error")


def test_a_tuple_over_the_limit_is_refused_with_its_size() -> None:
    made = make(Source, reads(SHUFFLE), config={"topology.message.bytes.max": 100})
    made.component.emit(["x" * 90, 1])
    with pytest.raises(ComponentError, match=r"tested\.default: a tuple of \d+ bytes .* of 100"):
        made.component.emit(["x" * 100, 1], tup_id=1)
    assert len(made.emitted()) == 1
    assert made.core.collector.pending == {}


def test_a_value_that_cannot_travel_fails_that_emit_only() -> None:
    made = make(Source, reads(SHUFFLE))
    made.component.emit([1, 1])
    with pytest.raises(ValueNotSerialisable, match=r"tested\.default: the value of field 'b'"):
        made.component.emit([2, threading.Lock()], tup_id=1)
    made.component.emit([3, 3])
    assert sorted(values[0] for _, values in made.emitted()) == [1, 3]
    assert made.core.collector.pending == {}


def test_a_topology_without_pickles_fails_the_emit_that_needs_one() -> None:
    made = make(Source, reads(SHUFFLE), config={"topology.values.pickle": False})
    with pytest.raises(ValueNotSerialisable, match=r"'b' .*topology\.values\.pickle"):
        made.component.emit([1, 2**70])
    made.component.emit([3, (3,)])
    assert [values for _, values in made.emitted()] == [[3, (3,)]]


def test_at_most_once_acks_at_once_the_last_first() -> None:
    # heronpy calls ack of each emit of a next_tuple afterwards, the last emit first.
    made = make(Source, reads(SHUFFLE), tracked=False)
    made.component.script = lambda: [made.component.emit([n, n], tup_id=n) for n in (1, 2)]
    made.core.set_active(True)
    made.look_secs = 0.1
    made.core.turn(made.now + 0.25)
    assert made.component.acked[:2] == [2, 1]


def test_a_tracked_emit_that_nobody_reads_is_acked_at_once() -> None:
    made = make(Source, tracked=True)
    made.component.emit([1, 2], tup_id="x")
    assert made.core.collector.done_at_once == ["x"]
    assert made.core.collector.pending == {}


# --- trees ---------------------------------------------------------------------------------------


def acks_of(made: Made) -> dict[int, int]:
    """root -> xor of what was acked."""
    made.core.flush()
    numbers = made.words_of(FrameKind.ACK)
    found: dict[int, int] = {}
    for root, value in zip(numbers[::2], numbers[1::2], strict=True):
        found[root] = found.get(root, 0) ^ value
    return found


def edges_of(made: Made, root: int) -> int:
    """Xor of the edges that go out anchored to a root."""
    made.core.flush()
    total = 0
    for each in made.batches():
        ids, rows = each.ids, each.head.items
        extras = dict[int, list[int]]()
        if each.head.flags & Flag.MULTI_ROOT:
            numbers = memoryview(each.parts[-1]).cast("Q").tolist()
            for position, further in zip(numbers[::2], numbers[1::2], strict=True):
                extras.setdefault(position, []).append(further)
        for at in range(len(ids) // 2):
            if root in (ids[2 * at], *extras.get(at % rows, ())):
                total ^= ids[2 * at + 1]
    return total


def test_an_ack_closes_its_edge_and_opens_those_of_the_children() -> None:
    made, (tup,) = received()
    made.component.emit([1, 2], anchors=[tup])
    made.component.emit([3, 4], anchors=[tup])
    made.component.ack(tup)
    assert acks_of(made) == {ROOT: 1000 ^ edges_of(made, ROOT)}
    assert edges_of(made, ROOT)


@pytest.mark.parametrize("kind", [GroupingKind.SHUFFLE, GroupingKind.ALL])
def test_several_anchors_are_one_child_of_each(kind: GroupingKind) -> None:
    # A join: its tuple has the roots of all inputs; each tree has to wait for the tuple.
    made, tups = received(2, None, reads(grouped(kind)))
    made.component.emit([1, 2], anchors=tups)
    for tup in tups:
        made.component.ack(tup)
    for at, root in enumerate((ROOT, ROOT + 1)):
        assert edges_of(made, root)
        assert acks_of(made)[root] == (1000 + at) ^ edges_of(made, root)


def test_anchors_that_share_a_root_count_once() -> None:
    # A diamond: both branches of one spout tuple meet in a join. Twice the same edge would cancel
    # itself out, and the tree would end before the child is processed.
    made, tups = received(2, [ROOT, ROOT])
    made.component.emit([1, 2], anchors=tups)
    for tup in tups:
        made.component.ack(tup)
    assert acks_of(made) == {ROOT: 1000 ^ 1001 ^ edges_of(made, ROOT)}
    assert edges_of(made, ROOT)


def test_a_joined_tuple_comes_with_all_of_its_roots() -> None:
    made, tups = received(2)
    made.component.emit([1, 2], anchors=tups)
    made.core.flush()
    (sent,) = made.batches()
    reader, _ = received(0)
    head = bytearray(sent.frames[0])
    head[12:16] = OTHER.to_bytes(4, "little")
    reader.core.deliver([bytes(head), *sent.frames[1:]])
    (got,) = reader.component.received
    assert got.roots[::2] == [ROOT, ROOT + 1]
    reader.component.ack(got)
    assert set(acks_of(reader)) == {ROOT, ROOT + 1}


def test_an_acked_first_anchor_does_not_hide_the_second() -> None:
    made, (first, second) = received(2)
    made.component.ack(first)
    made.core.outbox.settle()
    made.component.emit([1, 2], anchors=[first, second])
    made.component.ack(second)
    assert acks_of(made) == {ROOT: 1000, ROOT + 1: 1001 ^ edges_of(made, ROOT + 1)}
    assert edges_of(made, ROOT + 1)


def test_a_child_of_a_settled_tuple_has_no_root_and_is_counted() -> None:
    made, (tup, failed) = received(2)
    made.component.ack(tup)
    made.core.flush()
    made.component.fail(failed)
    assert made.core.statistics().late == 0
    made.component.emit([1, 2], anchors=[tup])
    made.component.emit([1, 2], anchors=[failed])
    assert edges_of(made, ROOT) == 0
    assert acks_of(made) == {ROOT: 1000}
    assert len(made.emitted()) == 2
    numbers = made.core.statistics()
    assert (numbers.late, numbers.errors) == (2, 1)
    assert "Emit first, then ack or fail" in str(numbers.last_error)


def test_a_child_of_a_tuple_that_is_acked_in_the_same_call_is_part_of_its_tree() -> None:
    made, (tup,) = received()
    made.component.ack(tup)
    made.component.emit([1, 2], anchors=[tup])
    assert acks_of(made) == {ROOT: 1000 ^ edges_of(made, ROOT)}
    assert (edges_of(made, ROOT) != 0, made.core.statistics().late) == (True, 0)


def test_the_first_of_ack_and_fail_counts() -> None:
    made, (acked, failed, twice) = received(3)
    made.component.ack(acked)
    made.component.fail(acked)
    made.component.fail(failed)
    made.component.ack(failed)
    made.component.ack(twice)
    made.component.ack(twice)
    assert acks_of(made) == {ROOT: 1000, ROOT + 2: 1002}
    assert made.words_of(FrameKind.FAIL) == [ROOT + 1]
    numbers = made.core.statistics()
    assert (numbers.acked, numbers.failed, numbers.late) == (2, 1, 3)


def test_a_failed_tuple_fails_all_of_its_roots() -> None:
    made, tups = received(2)
    made.component.emit([1, 2], anchors=tups)
    made.core.flush()
    (sent,) = made.batches()
    reader, _ = received(0)
    head = bytearray(sent.frames[0])
    head[12:16] = OTHER.to_bytes(4, "little")
    reader.core.deliver([bytes(head), *sent.frames[1:]])
    reader.component.fail(reader.component.received[0])
    reader.core.flush()
    assert sorted(reader.words_of(FrameKind.FAIL)) == [ROOT, ROOT + 1]


def test_acks_of_one_root_travel_as_one() -> None:
    made, tups = received(4, [ROOT] * 4)
    for tup in tups:
        made.component.ack(tup)
    made.core.flush()
    assert made.words_of(FrameKind.ACK) == [ROOT, 1000 ^ 1001 ^ 1002 ^ 1003]


@pytest.mark.parametrize(
    ("root", "destination"), [(ROOT + 1, OTHER), ((77 << 44) | 5, EVERY_OWNER)]
)
def test_acks_of_several_spouts_leave_together(root: int, destination: int) -> None:
    made, tups = received(2, [ROOT, root])
    for tup in tups:
        made.component.ack(tup)
    made.core.flush()
    acks = [parse_header(each[0]) for each in made.sent if each[0][2] == FrameKind.ACK]
    assert [(each.destination, each.items) for each in acks] == [(destination, 2)]
    assert set(made.words_of(FrameKind.ACK)[::2]) == {ROOT, root}


def test_auto_ack_and_auto_anchor_take_the_work_off() -> None:
    made = make(Comfortable, reads(SHUFFLE))
    made.component.script = lambda tup: made.component.emit([tup.values[0], 0])
    deliver(made, batch(["x"], roots=[(ROOT, 7)]))
    assert acks_of(made) == {ROOT: 7 ^ edges_of(made, ROOT)}
    assert edges_of(made, ROOT)
    made.component.emit(["after", 0])
    assert edges_of(made, ROOT) == acks_of(made)[ROOT] ^ 7


def test_a_trees_beginning_leaves_before_its_tuples() -> None:
    # The stream manager must not see an ack of a tree that it does not know yet.
    made = make(Source, reads(grouped(GroupingKind.ALL)))
    made.component.emit([1, 2], tup_id="x")
    made.core.flush()
    assert [frames[0][2] for frames in made.sent] == [
        FrameKind.INIT,
        FrameKind.FANOUT,
        FrameKind.FANOUT,
    ]
    (root,) = made.core.collector.pending
    assert made.words_of(FrameKind.INIT) == [root, edges_of(made, root)]


def test_a_batch_with_one_delivery_each_begins_its_trees_itself() -> None:
    made = make(Source, reads(SHUFFLE))
    made.component.emit([1, 2], tup_id="x")
    made.component.emit([1, 2])
    made.core.flush()
    assert all(each.head.flags & Flag.BEGINS for each in made.batches())
    assert made.words_of(FrameKind.INIT) == []
    made.component.emit([3, 4], tup_id="y", direct_task=2)
    root = next(reversed(made.core.collector.pending))
    assert made.words_of(FrameKind.INIT) == [root, edges_of(made, root)]


def test_streams_that_share_tasks_are_told_apart() -> None:
    made = make(
        Middle,
        reads(SHUFFLE),
        reads(SHUFFLE, "more"),
        outputs=[StreamSpec("default", ("a",)), StreamSpec("more", ("a",))],
    )
    for number in range(8):
        made.component.emit([number], stream="more" if number % 2 else "default")
    made.core.flush()
    told = {
        values[0]: stream
        for each in made.batches()
        for values, stream in zip(each.values, each.streams, strict=True)
    }
    assert told == {number: number % 2 for number in range(8)}
