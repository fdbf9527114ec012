"""Frames: cut as they come, and the window of what is sent."""

import msgpack
import pytest

from heron_frontends.jvm.frames import FRAME_BYTES_MAX, FrameReader, command, run_head, tuples_frame
from heron_frontends.jvm.frames import packed as packed_value
from heron_frontends.jvm.send_window import BYTES_MAX, FIRST, LEAST, MOST, SendWindow


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_frames_are_cut_whatever_pieces_arrive(step: int) -> None:
    data = command("a", 1) + command("b", ["x" * 300]) + command()
    reader, frames = FrameReader(), []
    for start in range(0, len(data), step):
        frames += reader.feed(data[start : start + step])
    assert frames == [["a", 1], ["b", ["x" * 300]], []]


def test_rows_that_are_packed_one_by_one_are_one_list() -> None:
    rows = [packed_value([number]) for number in range(20)]
    data = tuples_frame(7, [(run_head("c", 3, "s"), rows), (run_head("d", 4, "s"), rows[:1])])
    assert FrameReader().feed(data) == [
        [1, 7, [["c", 3, "s", [[number] for number in range(20)]], ["d", 4, "s", [[0]]]]]
    ]


def test_a_frame_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="a frame of"):
        FrameReader().feed((FRAME_BYTES_MAX + 1).to_bytes(4, "big"))


def test_an_extension_of_another_kind_is_refused() -> None:
    body = msgpack.packb([msgpack.ExtType(9, b"x")])
    with pytest.raises(ValueError, match="extension 9 is not known"):
        FrameReader().feed(len(body).to_bytes(4, "big") + body)


def test_the_window_grows_with_a_fast_jvm_and_shrinks_with_a_slow_one() -> None:
    window, key, now = SendWindow(), 0, 0.0
    for _ in range(20):
        key, now = key + window.limit, now + 0.001
        window.sent(key, 10, now)
        assert window.is_full
        window.processed(key, now + 0.001)
    assert window.limit == MOST
    for _ in range(20):
        key, now = key + window.limit, now + 1000.0
        window.sent(key, 10, now)
        window.processed(key, now + 900.0)
    assert window.limit == LEAST


def test_a_slow_trickle_does_not_open_the_window() -> None:
    window = SendWindow()
    window.sent(1, 10, 0.0)
    window.processed(1, 0.0)
    assert window.limit == FIRST


def test_large_tuples_fill_the_window_by_their_bytes() -> None:
    window = SendWindow()
    window.sent(1, BYTES_MAX + 1, 0.0)
    assert window.is_full
    assert not window.has_capacity
    window.processed(1, 1.0)
    assert window.has_capacity
