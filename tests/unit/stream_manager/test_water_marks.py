"""Water marks in time: a queue is too long by the time its instance needs."""

import pytest

from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.wire.frames import FrameKind, Frames, header, parse_header
from heron_engine.stream_manager import events
from heron_engine.stream_manager.consumer_rate import LONG_CALL_SECS, ConsumerRate
from heron_engine.stream_manager.fan_out import FADE_TUPLES, FanOut
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_engine.stream_manager.queues import HANDED_SECS_MAX, UNKNOWN_TUPLES_MAX, InstanceQueue
from tests.unit.stream_manager.manager_support import (
    Manager,
    of_type,
    packing_of,
    pauses,
    topology_of,
)

SPOUT, SLOW = 1, 2
TOPOLOGY = topology_of({"spout": [], "slow": ["spout"]})


def tuples(number: int) -> Frames:
    """A batch of so many tiny tuples."""
    return [header(FrameKind.DATA, 1, SPOUT, SLOW, number), b""]


def working(secs_per_tuple: float, high_tuples: int | None = None) -> Manager:
    """A stream manager whose bolt has a known time per tuple."""
    made = Manager(
        TOPOLOGY,
        packing_of({SPOUT: "spout", SLOW: "slow"}),
        pipelined_bytes=10_000,
        high_tuples=high_tuples,
    )
    made.hello(SPOUT)
    made.hello(SLOW)
    made.data(tuples(10))
    made.consumed(SLOW, 1, 10 * secs_per_tuple)
    return made


def test_a_slow_bolts_feeders_pause_when_a_second_of_work_waits() -> None:
    # In bytes alone a million tiny tuples would wait: hours without input for its siblings.
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
    assert pauses(made.data(tuples(5))) == []  # nothing that it reports, and little waits
    assert pauses(made.handle(events.StreamManagerTimer())) == [(SPOUT, True)]


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


def test_a_slow_tuple_shows_for_a_while_behind_many_fast_ones() -> None:
    rate = ConsumerRate()
    rate.processed(1, 0.05, False, 0.0)
    for _ in range(3):
        rate.processed(1000, 0.001, False, 0.0)
    assert rate.secs_per_tuple(0, 0.0) > 0.00001


def test_a_successor_is_not_held_for_slow_because_its_predecessor_was_handed_something() -> None:
    rate = ConsumerRate()
    rate.handed(0.0)
    assert rate.secs_per_tuple(1, 100.0) > 1.0
    rate.replaced()
    assert rate.secs_per_tuple(1, 100.0) == 0.0


def test_a_few_slow_tuples_show_behind_a_million_fast_ones() -> None:
    rate = ConsumerRate()
    rate.processed(1_000_000, 1.0, False, 0.0)
    rate.processed(10, 0.01, False, 0.0)
    assert rate.secs_per_tuple(0, 0.0) > 0.0002


def test_a_bolt_that_is_slow_now_and_then_is_not_held_for_quick_in_between() -> None:
    rate = ConsumerRate()
    for _ in range(20):
        rate.processed(1, 0.1, False, 0.0)
        rate.processed(99, 0.0001, False, 0.0)
    assert rate.secs_per_tuple(0, 0.0) > 0.0005


def test_a_bolt_that_is_quick_again_is_known_for_it_soon() -> None:
    rate = ConsumerRate()
    for _ in range(100):
        rate.processed(50, 0.05, False, 0.0)
    for _ in range(10):
        rate.processed(2000, 0.002, False, 0.0)
    assert rate.secs_per_tuple(0, 0.0) < 0.00002


def test_a_bolt_that_back_pressure_holds_counts_as_slow() -> None:
    # A consumer fast between pauses: its waiting tuples are as old as with a slow consumer.
    rate = ConsumerRate()
    rate.handed(10.0)
    rate.processed(10, 0.001, False, 11.0, paused_secs=0.9)
    assert rate.secs_per_tuple(0, 11.0) == pytest.approx(0.0901)


def test_a_pause_in_which_nothing_waits_for_the_bolt_does_not_count() -> None:
    rate = ConsumerRate()
    rate.handed(10.0)
    rate.processed(10, 0.001, False, 10.002, paused_secs=60.0)
    assert rate.secs_per_tuple(0, 10.002) == pytest.approx(0.0002)


def test_pauses_of_an_instance_count_in_its_queue() -> None:
    topology = topology_of({"spout": [], "slow": ["spout"], "end": ["slow"]})
    made = Manager(
        topology, packing_of({SPOUT: "spout", SLOW: "slow"}, {3: "end"}), pipelined_bytes=10_000
    )
    made.hello(SPOUT)
    made.hello(SLOW)
    made.data(tuples(10))
    made.cause(2, 3, True)
    made.now = 1.0
    made.cause(2, 3, False)
    made.consumed(SLOW, 1, 0.0001)
    made.data(tuples(10))
    assert made.core.statistics()["waiting_secs"][SLOW] == pytest.approx(1.0, rel=0.01)


def test_feeders_of_a_fast_bolt_pause_at_the_mark_in_tuples() -> None:
    # A fast bolt may turn slow at any moment, and a barrier waits for all queued tuples.
    made = working(0.0, high_tuples=100)
    made.data(tuples(10))
    assert pauses(made.data(tuples(100))) == []  # it has been handed all that it may have
    assert pauses(made.data(tuples(100))) == []
    assert pauses(made.data(tuples(1))) == [(SPOUT, True)]
    assert pauses(made.consumed(SLOW, 2)) == [(SPOUT, False)]


def test_what_waits_counts_as_what_comes_of_it() -> None:
    queue = InstanceQueue(1_000_000, 10_000)
    queue.offer(tuples(3))
    assert queue.queued_work == 3
    queue.fan_out.emitted(parse_header(header(FrameKind.DATA, 1, SLOW, 3, 2000)))
    queue.fan_out.processed(2)
    assert queue.queued_work == 3000


def test_a_bolt_that_emits_less_than_it_takes_is_counted_by_its_input() -> None:
    fan_out = FanOut()
    fan_out.emitted(parse_header(header(FrameKind.DATA, 1, SLOW, 3, 1)))
    fan_out.processed(100)
    assert fan_out.weight == 1


def test_the_consumer_that_gets_most_counts() -> None:
    fan_out = FanOut()
    for task in (3, 4, 5):
        fan_out.emitted(parse_header(header(FrameKind.DATA, 1, SLOW, task, task * 10)))
    fan_out.processed(10)
    assert fan_out.weight == 5


def test_the_newest_processed_tuples_count_as_much_as_all_before_them() -> None:
    fan_out = FanOut()
    fan_out.emitted(parse_header(header(FrameKind.DATA, 1, SLOW, 3, 1290)))
    fan_out.processed(2 * FADE_TUPLES)
    assert fan_out.weight == 1290 / 128
    fan_out.processed(1)
    assert fan_out.weight == 10
    fan_out.processed(FADE_TUPLES)
    assert fan_out.weight == 5


def test_a_bolt_whose_fan_out_ends_is_known_for_it_soon() -> None:
    fan_out = FanOut()
    fan_out.emitted(parse_header(header(FrameKind.DATA, 1, SLOW, 3, 100_000)))
    fan_out.processed(100)
    for _ in range(100):
        fan_out.processed(FADE_TUPLES)
    assert fan_out.weight == 1


def test_an_instance_is_handed_no_more_tuples_than_may_wait() -> None:
    queue = InstanceQueue(1_000_000, 0, handed_tuples_max=100)
    queue.replaced(1)
    queue.offer(tuples(10))
    queue.take(0.0)
    queue.processed(1, 0.00001, 0.1)
    for _ in range(30):
        queue.offer(tuples(10))
    while queue.take(0.1):
        pass
    assert queue.handed_tuples == 100
    queue.validate()


@pytest.mark.parametrize("mode", [keys.ATMOST_ONCE, keys.ATLEAST_ONCE])
def test_fewer_tuples_wait_where_checkpoints_are_taken(mode: str) -> None:
    exact = StreamManagerOptions.of({keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE})
    other = StreamManagerOptions.of({keys.RELIABILITY_MODE: mode})
    assert exact.high_water_tuples == keys.CHECKPOINTED_TUPLES < other.high_water_tuples
    chosen = {keys.RELIABILITY_MODE: mode, keys.BACKPRESSURE_HIGH_TUPLES: 7}
    assert StreamManagerOptions.of(chosen).high_water_tuples == 7


@pytest.mark.parametrize("value", [0, -1, 1.5, "many", float("nan")])
def test_a_mark_that_is_no_number_of_tuples_is_refused_by_its_key(value: object) -> None:
    with pytest.raises(TopologyError, match=keys.BACKPRESSURE_HIGH_TUPLES):
        StreamManagerOptions.of({keys.BACKPRESSURE_HIGH_TUPLES: value})
