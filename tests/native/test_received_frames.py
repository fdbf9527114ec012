"""Frames that are received to where they stay: equal by C and by Python, and freed."""

import sys
from types import SimpleNamespace

import psutil
import pytest

from tests.native.hot_path_support import PYTHON
from tests.native.test_memory import GROWTH_MAX, ROUNDS


@pytest.mark.parametrize("size", [0, 1, 100, 2**20])
def test_a_begun_frame_is_filled_in_place(compiled: SimpleNamespace, size: int) -> None:
    wanted = (bytes(range(251)) * (size // 251 + 1))[:size]
    for module in (PYTHON, compiled):
        frame, view = module.begun_frame(size)
        assert len(view) == size
        view[:] = wanted
        del view
        whole = module.whole_frame(frame)
        assert type(whole) is bytes
        assert whole == wanted
    assert compiled.begun_frame(size)[0] is not compiled.begun_frame(size)[0] or not size


def test_frames_that_were_received_leave_nothing_behind(compiled: SimpleNamespace) -> None:
    compiled.keep_memory()
    before = 0
    for number in range(2 * ROUNDS):
        frames = [compiled.begun_frame(size) for size in (24, 100_000, 16)]
        whole = [compiled.whole_frame(frame) for frame, _ in frames]
        assert [sys.getrefcount(each) for each in whole] == [4] * len(whole)  # with `frames`
        if number == ROUNDS:
            before = psutil.Process().memory_info().rss
    assert psutil.Process().memory_info().rss - before < GROWTH_MAX
