"""Water marks in time: a queue is too long when its instance needs too long for it."""

import pytest
from manager_support import Manager, of_type, packing_of, pauses, topology_of

from heron_core.wire.frames import Frames, Kind, header
from stream_manager import events
from stream_manager.consumer_rate import LONG_CALL_SECS, ConsumerRate
from stream_manager.queues import HANDED_SECS_MAX, UNKNOWN_TUPLES_MAX, InstanceQueue

SPOUT, SLOW = 1, 2
TOPOLOGY = topology_of({"spout": [], "slow": ["spout"]})


def tuples(number: int) -> Frames:
    """A batch of so many tiny tuples."""
    return [header(Kind.DATA, 1, SPOUT, SLOW, number), b""]


def working(secs_per_tuple: float) -> Manager:
    """A stream manager whose bolt has shown that it needs so long for a tuple."""
    made = Manager(TOPOLOGY, packing_of({SPOUT: "spout", SLOW: "slow"}), pipelined_bytes=10_000)
    made.hello(SPOUT)
    made.hello(SLOW)
    made.data(tuples(10))
    made.consumed(SLOW, 1, 10 * secs_per_tuple)
    return made


def test_a_slow_bolts_feeders_pause_when_a_second_of_work_waits() -> None:
    # In bytes alone a million tiny tuples would wait: hours, in which its siblings get nothing.
    made = working(0.01)
    assert pauses(made.data(tuples(60))) == []
    assert pauses(made.data(tuples(30))) == []
    assert pauses(made.data(tuples(30))) == [(SPOUT, True)]


def test_feeders_of_a_fast_bolt_do_not_pause_for_as_many_tuples() -> None:
    made = working(0.00001)
    for _ in range(4):
        assert pauses(made.data(tuples(30))) == []


def test_feeders_go_on_when_half_a_second_of_work_is_left() -> None:
    made = working(0.01)
    for _ in range(4):
        made.data(tuples(40))
    assert pauses(made.consumed(SLOW, 1, 0.4)) == []
    assert pauses(made.consumed(SLOW, 1, 0.4)) == []
    assert pauses(made.consumed(SLOW, 1, 0.4)) == [(SPOUT, False)]


def test_a_call_that_does_not_return_counts_before_it_is_reported() -> None:
    made = working(0.00001)
    made.data(tuples(10))
    made.now += 20.0
    assert pauses(made.data(tuples(5))) == [(SPOUT, True)]


def test_of_a_bolt_that_has_shown_nothing_yet_little_is_expected() -> None:
    made = Manager(TOPOLOGY, packing_of({SPOUT: "spout", SLOW: "slow"}), pipelined_bytes=10_000)
    made.hello(SPOUT)
    made.hello(SLOW)
    made.data(tuples(1))
    assert pauses(made.data(tuples(UNKNOWN_TUPLES_MAX))) == []
    assert pauses(made.data(tuples(1))) == [(SPOUT, True)]
    assert pauses(made.consumed(SLOW, 1, 0.0001)) == [(SPOUT, False)]


def test_a_slow_instance_is_handed_little_work_at_once() -> None:
    queue = InstanceQueue(1_000_000, 10_000)
    queue.replaced(1)
    queue.offer(tuples(10))
    queue.take(0.0)
    queue.processed(1, 0.1, 0.1)
    for _ in range(10):
        queue.offer(tuples(10))
    most = int(HANDED_SECS_MAX / 0.01 / 10)
    assert len(queue.take(0.1)) == most
    queue.validate()


def test_what_waits_is_in_the_statistics() -> None:
    made = working(0.01)
    made.data(tuples(30))
    made.data(tuples(20))
    statistics = made.core.statistics()
    assert statistics["waiting_tuples"][SLOW] == 50
    assert statistics["waiting_secs"][SLOW] == pytest.approx(0.5)
    assert of_type(events.ToLocal, made.consumed(SLOW, 1))


def test_a_wait_for_a_core_does_not_make_a_fast_bolt_look_slow() -> None:
    # Many processes on few cores: everything takes long, and pauses would only cost more.
    rate = ConsumerRate()
    rate.processed(1000, 0.001, False, 0.0)
    rate.handed(10.0)
    assert rate.secs_per_tuple(100, 10.0 + LONG_CALL_SECS) == 1e-6
    assert rate.secs_per_tuple(100, 20.0 + LONG_CALL_SECS) == pytest.approx(0.1)


def test_single_tuples_say_little_of_a_bolt() -> None:
    rate = ConsumerRate()
    rate.processed(1000, 0.001, False, 0.0)
    rate.processed(1, 0.001, False, 0.0)
    assert rate.secs_per_tuple(0, 0.0) < 0.00005
