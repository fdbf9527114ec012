"""Watermarks pass a stream manager behind the data, to all readers of the task they are from."""

from heron_core.wire.frames import FrameKind, Frames, header_of
from heron_core.wire.merged import split
from heron_core.wire.packets import encode_watermark, watermark_of
from heron_engine.stream_manager import events
from tests.unit.stream_manager.manager_support import (
    FAR,
    NEAR,
    SPOUT,
    Manager,
    batch,
    manager,
    of_type,
)

Out = list[events.Instruction]


def local(out: Out, task: int) -> list[Frames]:
    found = [each for each in of_type(events.ToLocal, out) if each.task == task]
    return [frames for each in found for frames in split(each.frames)]


def to_peer(out: Out) -> list[Frames]:
    return [frames for each in of_type(events.ToPeer, out) for _, frames in each.waiting]


def all_consumed(made: Manager) -> Out:
    return made.consumed(NEAR, 1)


def test_a_watermark_goes_to_readers_here_and_once_to_each_container_of_others() -> None:
    made = manager()
    out = made.handle(
        events.FromInstance(SPOUT, 1, batch(NEAR)),
        events.FromInstance(SPOUT, 1, batch(FAR)),
        events.FromInstance(SPOUT, 1, encode_watermark(1, SPOUT, 0, 77)),
    )
    assert [header_of(each).kind for each in to_peer(out)] == [FrameKind.DATA, FrameKind.WATERMARK]
    assert watermark_of(to_peer(out)[1]) == 77
    here = local(out, NEAR) + local(all_consumed(made), NEAR)
    assert [header_of(each).kind for each in here] == [FrameKind.DATA, FrameKind.WATERMARK]


def test_one_of_elsewhere_is_not_passed_on_to_a_third() -> None:
    made = manager()
    out = made.peer(encode_watermark(1, FAR, 1, 5))
    assert not to_peer(out)
    assert not local(out, NEAR)  # it does not read that component


def test_an_instance_that_is_replaced_hears_the_newest_one_again() -> None:
    made = manager()
    made.data(encode_watermark(1, SPOUT, 0, 7), SPOUT)
    made.data(encode_watermark(1, SPOUT, 0, 9), SPOUT)
    made.consumed(NEAR, 2)
    assert [watermark_of(each) for each in local(made.hello(NEAR, 2), NEAR)] == [9]


def test_what_a_process_has_said_that_was_replaced_is_told_to_nobody_any_more() -> None:
    # Its successor begins with older events.
    made = manager()
    made.data(encode_watermark(1, SPOUT, 0, 9), SPOUT)
    made.consumed(NEAR, 1)
    made.hello(SPOUT, 2)
    assert local(made.hello(NEAR, 2), NEAR) == []


def test_a_watermark_of_an_older_plan_or_of_nobody_is_dropped() -> None:
    made = manager()
    made.plan(2, c2="tcp://new")
    assert not local(made.data(encode_watermark(1, SPOUT, 0, 7), SPOUT), NEAR)
    assert not local(made.data(encode_watermark(2, 99, 0, 7), SPOUT), NEAR)
    assert not local(made.data([*encode_watermark(2, SPOUT, 0, 7), b"more"], SPOUT), NEAR)
    counted = made.core.statistics()
    assert (counted["fenced"], counted["unroutable"], counted["malformed"]) == (1, 1, 1)
