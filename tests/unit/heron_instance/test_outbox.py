"""Output of an instance: order over all streams, batches when full, acks also while paused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.topology import GroupingKind, GroupingSpec, StreamSpec
from heron_core.wire.frames import FrameKind
from tests.unit.heron_instance.instance_support import (
    SHUFFLE,
    Made,
    Middle,
    Source,
    batch,
    grouped,
    make,
    reads,
)

ROOT = (6 << 44) | 1
ALL = grouped(GroupingKind.ALL)
TWO_STREAMS = [StreamSpec("default", ("a",)), StreamSpec("more", ("a",))]


def per_task(made: Made) -> dict[int, list[int]]:
    """task -> its numbers, in order."""
    found: dict[int, list[int]] = {}
    for task, values in made.emitted():
        found.setdefault(task, []).append(values[0])
    return found


@pytest.mark.parametrize("first", [SHUFFLE, ALL, GroupingSpec(GroupingKind.GLOBAL)], ids=str)
@pytest.mark.parametrize("second", [SHUFFLE, ALL], ids=str)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["default", "more"]), st.sampled_from([None, 2, 3, 5])),
        max_size=20,
    ),
    size_bytes=st.sampled_from([60, 65536]),
)
def test_order_holds_over_all_streams_and_buffers(
    first: GroupingSpec,
    second: GroupingSpec,
    steps: list[tuple[str, int | None]],
    size_bytes: int,
) -> None:
    # A marker on one stream completes the tuples on a second stream: overtaking is forbidden,
    # though the marker travels by a fan-out and the tuples straight to their task.
    made = make(
        Middle,
        reads(first),
        reads(second, "more"),
        outputs=TWO_STREAMS,
        config={"topology.batch.bytes": size_bytes, "topology.batch.tuples": 8},
    )
    for number, (stream, task) in enumerate(steps):
        made.component.emit([number], stream=stream, direct_task=task)
    assert all(each == sorted(each) for each in per_task(made).values())
    assert sum(map(len, per_task(made).values())) == made.core.outbox.deliveries


def test_a_full_buffer_leaves_by_itself() -> None:
    made = make(Source, reads(SHUFFLE), config={"topology.batch.tuples": 4})
    for number in range(4 * 4 * 4):
        made.component.emit([number, "x"])
    assert len(made.batches()) >= 4
    assert sum(each.head.items for each in made.batches()) >= 4 * 4


def test_deliveries_count_what_is_buffered_too() -> None:
    # The end of a run is found by counting: a tuple in a buffer is not nowhere.
    made = make(Source, reads(ALL))
    made.component.emit([1, 2])
    assert (made.core.outbox.deliveries, made.core.outbox.sent) == (4, 0)
    assert not made.core.outbox.empty
    made.core.flush()
    assert (made.core.outbox.deliveries, made.core.outbox.sent) == (4, 4)
    assert made.core.outbox.empty


def test_back_pressure_does_not_hold_acks() -> None:
    # A paused bolt's acks would else look lost, and their tuples expire.
    made = make(Middle, reads(SHUFFLE))
    made.core.deliver(batch(["x"], roots=[(ROOT, 7)]))
    made.component.emit([1, 2])
    made.component.ack(made.component.received[0])
    made.may_send = False
    made.core.outbox.flush_acks()
    assert made.words_of(FrameKind.ACK) == [ROOT, 7]
    assert made.batches() == []
    with pytest.raises(AssertionError, match="sent while it must not"):
        made.core.flush()


def test_acks_leave_before_tuples() -> None:
    made = make(Middle, reads(SHUFFLE))
    made.core.deliver(batch(["x"], ["y"], roots=[(ROOT, 7), (ROOT + 1, 8)]))
    first, second = made.component.received
    made.component.emit([1, 2])
    made.component.fail(first)
    made.component.ack(second)
    made.core.flush()
    assert [frames[0][2] for frames in made.sent] == [FrameKind.ACK, FrameKind.FAIL, FrameKind.DATA]


def test_frames_carry_the_newest_epoch() -> None:
    made = make(Source, reads(SHUFFLE))
    made.component.emit([1, 2])
    made.core.plan_changed(9)
    made.core.flush()
    assert [each.head.epoch for each in made.batches()] == [9]


def test_nothing_buffered_nothing_sent() -> None:
    made = make(Source, reads(SHUFFLE))
    made.core.flush()
    made.core.flush()
    assert made.sent == []
