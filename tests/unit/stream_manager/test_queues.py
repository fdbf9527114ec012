"""Windows and queues: what was handed over, what waits, what a dead process took along."""

from stream_manager.queues import PEER_BURST, InstanceQueue, PeerQueue


def test_window_bounds_what_an_instance_holds() -> None:
    queue = InstanceQueue(10)
    queue.replaced(1)
    assert queue.offer([b"123456"])
    assert queue.offer([b"123456"])
    assert not queue.offer([b"1"])
    assert (queue.handed_bytes, queue.waiting_bytes) == (12, 1)
    queue.processed(1)
    assert queue.next() == [b"1"]
    assert queue.next() is None
    assert (queue.handed_bytes, queue.waiting_bytes) == (7, 0)


def test_nobody_overtakes_what_waits() -> None:
    # The window is open again, but an older message waits: the newer one goes behind it.
    queue = InstanceQueue(1)
    queue.replaced(1)
    queue.offer([b"a"])
    queue.offer([b"b"])
    queue.processed(1)
    assert not queue.offer([b"c"])
    assert [queue.next(), queue.next()] == [[b"b"], None]


def test_messages_wait_for_a_process_that_is_not_there() -> None:
    queue = InstanceQueue(10)
    assert not queue.offer([b"early"])
    assert queue.next() is None
    assert queue.replaced(7) == []
    assert queue.next() == [b"early"]


def test_a_successor_gets_what_waits_and_not_what_was_handed_over() -> None:
    queue = InstanceQueue(1)
    queue.replaced(1)
    queue.offer([b"lost"])
    queue.offer([b"kept"])
    assert queue.replaced(2) == [[b"lost"]]
    assert queue.handed_bytes == 0
    assert queue.next() == [b"kept"]


def test_reports_of_more_than_was_handed_over_are_harmless() -> None:
    # A process that outlived its stream manager reports messages of the old one.
    queue = InstanceQueue(10)
    queue.replaced(1)
    queue.offer([b"ab"])
    queue.processed(5)
    assert (queue.handed_bytes, len(queue.handed)) == (0, 0)


def test_refused_messages_stay_the_first() -> None:
    queue = PeerQueue()
    queue.put(1, [b"c"])
    queue.put_back([(1, [b"a"]), (2, [b"b"])])
    assert queue.blocked
    assert queue.waiting_bytes == 3
    assert queue.burst() == [(1, [b"a"]), (2, [b"b"]), (1, [b"c"])]
    assert not queue.blocked
    assert queue.waiting_bytes == 0


def test_a_long_queue_stays_blocked_between_bursts() -> None:
    queue = PeerQueue()
    queue.put_back([(0, [b"%d" % number]) for number in range(PEER_BURST + 1)])
    assert len(queue.burst()) == PEER_BURST
    assert queue.blocked
    assert queue.burst() == [(0, [b"%d" % PEER_BURST])]
    assert not queue.blocked
