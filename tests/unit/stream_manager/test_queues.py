"""Windows and queues: what was handed over, what waits, what a dead process took along."""

import pytest

from heron_core.wire.frames import HEADER, FrameKind, header
from heron_core.wire.merged import MERGED_BYTES_MAX
from heron_engine.stream_manager.peer_queue import PEER_BURST, PeerQueue
from heron_engine.stream_manager.queues import InstanceQueue


def queue_of(window_bytes: int, pipelined_bytes: int = 0, at_once_bytes: int = 0) -> InstanceQueue:
    """The queue of a task that process 1 serves."""
    queue = InstanceQueue(window_bytes, pipelined_bytes, at_once_bytes)
    queue.replaced(1)
    return queue


def test_window_bounds_what_an_instance_holds() -> None:
    queue = queue_of(10)
    for data in (b"123456", b"123456"):
        queue.offer([data])
        assert queue.take(0.0) == [[data]]
    queue.offer([b"1"])
    assert queue.take(0.0) == []
    assert (queue.handed_bytes, queue.waiting_bytes) == (12, 1)
    queue.processed(1, 0.0, 0.0)
    assert queue.take(0.0) == [[b"1"]]
    assert queue.take(0.0) == []
    assert (queue.handed_bytes, queue.waiting_bytes) == (7, 0)


def test_what_comes_for_a_busy_instance_waits_and_is_handed_over_together() -> None:
    queue = queue_of(1000, pipelined_bytes=100)
    queue.offer([b"first"])
    assert queue.take(0.0) == [[b"first"]]
    queue.offer([b"second"])
    queue.offer([b"third"])
    assert queue.take(0.0) == [], "it is busy, and this is little"
    queue.processed(1, 0.0, 0.0)
    assert queue.take(0.0) == [[b"second"], [b"third"]]


@pytest.mark.parametrize(("secs", "waits"), [(0.00001, False), (0.01, True)])
def test_at_low_load_no_tuple_waits_for_the_report_of_the_one_before(
    secs: float, waits: bool
) -> None:
    # But a slow bolt, which may be paused, or die, is handed one after the other.
    queue = queue_of(1000, pipelined_bytes=1000, at_once_bytes=100)
    small = [header(FrameKind.DATA, 1, 1, 1, 1), b"x"]
    queue.offer(small)
    queue.take(0.0)
    queue.processed(1, secs, 0.0)
    taken = []
    for _ in range(10):
        queue.offer(small)
        taken.append(len(queue.take(0.0)))
    assert taken[:2] == ([1, 0] if waits else [1, 1])
    assert sum(taken) < 10, "more than a few are no low load"


def test_a_busy_instance_does_not_wait_for_large_messages() -> None:
    queue = queue_of(1000, pipelined_bytes=100)
    queue.offer([b"first"])
    queue.take(0.0)
    queue.offer([b"x" * 100])
    assert queue.take(0.0) == [[b"x" * 100]]


def test_one_message_carries_as_much_as_a_full_batch() -> None:
    queue = queue_of(10 * MERGED_BYTES_MAX)
    half = [header(FrameKind.CONSUMED, 1, 1, 1, 0), b"x" * (MERGED_BYTES_MAX // 2 - HEADER.size)]
    for _ in range(3):
        queue.offer(half)
    assert queue.take(0.0) == [half, half]
    assert queue.take(0.0) == [half]


def test_nobody_overtakes_what_waits() -> None:
    # The window is open again, but an older message waits: the newer one goes behind it.
    queue = queue_of(1)
    queue.offer([b"a"])
    queue.take(0.0)
    queue.offer([b"b"])
    queue.processed(1, 0.0, 0.0)
    queue.offer([b"c"])
    assert queue.take(0.0) == [[b"b"]]


def test_messages_wait_for_a_process_that_is_not_there() -> None:
    queue = InstanceQueue(10, 0)
    queue.offer([b"early"])
    assert queue.take(0.0) == []
    assert queue.replaced(7) == []
    assert queue.take(0.0) == [[b"early"]]


def test_a_successor_gets_what_waits_and_not_what_was_handed_over() -> None:
    queue = queue_of(1)
    queue.offer([b"lost"])
    queue.take(0.0)
    queue.offer([b"kept"])
    assert queue.replaced(2) == [[b"lost"]]
    assert queue.handed_bytes == 0
    assert queue.take(0.0) == [[b"kept"]]


def test_reports_of_more_than_was_handed_over_are_harmless() -> None:
    # A process that outlived its stream manager reports messages of the old one.
    queue = queue_of(10)
    queue.offer([b"ab"])
    queue.take(0.0)
    queue.processed(5, 0.0, 0.0)
    assert (queue.handed_bytes, len(queue.handed)) == (0, 0)


def test_refused_messages_stay_the_first() -> None:
    queue = PeerQueue()
    queue.put(1, [b"a"])
    queue.put(2, [b"b"])
    assert queue.take(0.0) is not None
    queue.put(1, [b"c"])
    queue.refused(1)
    assert queue.blocked
    assert queue.waiting_bytes == 3
    sent = [each.waiting for each in queue.burst(0.0)]
    assert sent == [[(1, [b"a"]), (2, [b"b"])], [(1, [b"c"])]]
    assert not queue.blocked
    assert queue.waiting_bytes == 0


def test_a_long_queue_stays_blocked_between_bursts() -> None:
    queue = PeerQueue()
    full = [b"x" * MERGED_BYTES_MAX]
    for _ in range(PEER_BURST + 1):
        queue.put(0, full)
    assert len(list(queue.burst(0.0))) == PEER_BURST
    assert queue.blocked
    assert [each.waiting for each in queue.burst(0.0)] == [[(0, full)]]
    assert not queue.blocked
