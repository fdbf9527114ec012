"""The checker of back-pressure, by itself."""

from heron_core.wire.frames import FrameKind, header, size_of
from heron_core.wire.packets import encode_barrier, encode_watermark
from heron_engine.stream_manager.queues import InstanceQueue
from tests.sim.pressure import bytes_without_tuples
from tests.sim.run import run_seed

SOURCE, TASK = 5, 9


def test_barriers_and_watermarks_before_a_slow_bolt_are_no_input_over_its_mark() -> None:
    queue = InstanceQueue(1000, 100)
    data = [header(FrameKind.DATA, 1, SOURCE, TASK, 3), b"tuples"]
    words = [encode_barrier(1, 0, TASK, each) for each in (1, 2)]
    words.append(encode_watermark(1, SOURCE, TASK, 7))
    for each in (words[0], data, *words[1:]):
        queue.offer(each)
    assert bytes_without_tuples(queue) == sum(map(size_of, words))
    assert queue.queued_bytes - bytes_without_tuples(queue) == size_of(data)


def test_a_bolt_before_which_six_barriers_and_four_watermarks_wait() -> None:
    run_seed(400337, effectively_once=True)
