"""The drivers of components: batches in, user code called, its errors survived."""

from array import array
from typing import Any

import msgpack
import pytest

from heron_api.task_hook import ITaskHook, SpoutAckInfo, SpoutFailInfo
from heron_core.algorithms.histogram import bucket_of
from heron_core.errors import ComponentError, ProtocolError
from heron_core.hot_rows import CLOCK_EVERY
from heron_core.wire.frames import Flag, FrameKind, header
from heron_core.wire.values import TUPLE
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Made,
    Middle,
    Source,
    batch,
    make,
    reads,
)

ROOT, SPOUT_ROOTS = (OTHER << 44) | 1, SOURCE << 44


def bolt(**config: Any) -> Made:
    """The bolt under test."""
    return make(Middle, reads(SHUFFLE), config=config)


def spout(**config: Any) -> Made:
    """A spout that is running."""
    made = make(Source, reads(SHUFFLE), config=config)
    made.core.set_active(True)
    return made


def emits(made: Made, count: int) -> list[int]:
    """Let the spout emit `count` tuples and then finish; returns its roots."""
    left = list(range(count))

    def script() -> None:
        if left:
            number = left.pop(0)
            made.component.emit([number, number], tup_id=number)
        else:
            made.component.finish()

    made.component.script = script
    while made.core.may_emit and not made.core.finished:
        made.core.turn(made.now + 1)
    return list(made.core.collector.pending)


def told(kind: FrameKind, *roots: int) -> list[bytes]:
    return [header(kind, EPOCH, 0, SOURCE, len(roots)), array("Q", roots).tobytes()]


# --- bolts ---------------------------------------------------------------------------------------


def test_a_tuple_says_where_it_comes_from() -> None:
    made = bolt()
    made.core.deliver(batch(["x"], ["y"], roots=[(ROOT, 7), None]))
    first, second = made.component.received
    assert (first.component, first.stream, first.task, first.values) == (
        "other", "default", OTHER, ["x"],
    )  # fmt: skip
    assert (first.id, second.id) == ("7", "0")
    assert first.creation_time == made.now


def test_a_poison_tuple_fails_alone() -> None:
    made = bolt()
    got = []

    def script(tup: Any) -> None:
        if tup.values[0] == "poison":
            raise ValueError("poisoned")
        got.append(tup.values[0])
        made.component.ack(tup)

    made.component.script = script
    rows = [["a"], ["poison"], ["b"]]
    made.core.deliver(batch(*rows, roots=[(ROOT + at, 9) for at in range(3)]))
    made.core.flush()
    assert got == ["a", "b"]
    assert made.words_of(FrameKind.FAIL) == [ROOT + 1]
    assert made.words_of(FrameKind.ACK)[::2] == [ROOT, ROOT + 2]
    assert made.core.metrics.errors == 1
    assert "ValueError: poisoned" in made.errors[0]
    assert "other.default" in made.errors[0]


def test_herons_way_ends_the_process_at_the_first_exception() -> None:
    made = bolt(**{"topology.bolt.on.exception": "exit"})
    made.component.script = lambda tup: 1 / 0
    with pytest.raises(ComponentError, match="ZeroDivisionError"):
        made.core.deliver(batch(["x"], roots=[(ROOT, 7)]))
    assert made.words_of(FrameKind.FAIL) == [ROOT]


def test_leftovers_of_an_older_plan_fail_at_once() -> None:
    # The plan overtakes the data on its own connection.
    made = bolt()
    made.core.deliver(batch(["x"], ["y"], roots=[(ROOT, 7), None], epoch=EPOCH - 1))
    made.core.flush()
    assert made.component.received == []
    assert made.words_of(FrameKind.FAIL) == [ROOT]
    assert made.core.statistics().fenced == 1


def test_values_that_cannot_be_unpacked_fail_and_the_process_lives() -> None:
    # A class of the emitter, missing in this process.
    made = bolt()
    missing = b"\x80\x04cno_such_module\nNoSuchClass\n."
    rows = [msgpack.ExtType(4, missing)], [msgpack.ExtType(TUPLE, b"\x90")]
    made.core.deliver(batch(*rows, roots=[(ROOT, 7), (ROOT + 1, 8)]))
    made.core.deliver(batch(["fine"], roots=[(ROOT + 2, 9)]))
    made.core.flush()
    assert sorted(made.words_of(FrameKind.FAIL)) == [ROOT, ROOT + 1]
    assert [tup.values for tup in made.component.received] == [["fine"]]
    assert made.core.counts()[1] == 3
    assert "no_such_module" in made.errors[0]


@pytest.mark.parametrize(
    "frames",
    [
        [header(FrameKind.ACK, EPOCH, OTHER, SOURCE, 0), b"\x90"],
        [header(FrameKind.DATA, EPOCH, 99, SOURCE, 0), b"\x90"],
        [header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 0, stream=7), b"\x90"],
        [header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 3), b"\x91\x90"],
        [
            header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 1, 0, Flag.TRACKED),
            b"\x91\x90",
            b"12345678",
        ],
        [header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 1, 0, Flag.TRACKED), b"\x91\x90"],
        [header(FrameKind.DATA, EPOCH, OTHER, SOURCE, 1, 0, Flag.MIXED), b"\x91\x90"],
        [b"short"],
    ],
    ids=str,
)
def test_malformed_batches_are_protocol_errors(frames: list[bytes]) -> None:
    with pytest.raises(ProtocolError):
        bolt().core.deliver(frames)


def test_a_bolt_in_the_middle_of_a_batch_is_not_idle() -> None:
    # Found by hand: with 10 ms a tuple a batch takes 5 s, and the master took a bolt whose counts
    # stood still for done: 1,000 of 1,500 tuples were never processed.
    made = bolt()
    seen = []
    made.component.script = lambda tup: seen.append(made.core.counts())
    assert made.core.counts() == (0, 0, True)
    made.core.deliver(batch(["x"], ["y"]))
    assert [idle for _, _, idle in seen] == [False, False]
    assert made.core.counts() == (0, 2, True)


def test_ticks_come_at_their_interval_also_within_a_batch() -> None:
    made = bolt(**{"topology.tick.tuple.freq.secs": 10})
    started = made.now
    made.core.begin(True, started)
    made.look_secs = 1.0
    made.core.deliver(batch(*([number] for number in range(40))))
    kinds = ["tick" if each == "tick" else "tuple" for each in made.component.received]
    assert kinds.count("tuple") == 40
    assert kinds[0] == "tuple"
    assert abs(kinds.count("tick") - (made.now - started) / 10) <= 1


def test_a_tick_handler_slower_than_its_interval_leaves_tuples_their_time() -> None:
    made = bolt(**{"topology.tick.tuple.freq.secs": 10})
    seen, busy_secs = made.component.received, dict.fromkeys(("tick", "tuple"), 0.0)

    def works(what: str, secs: float) -> None:
        seen.append(what)
        busy_secs[what] += secs
        made.now += secs

    made.component.process_tick = lambda tup: works("tick", 25.0)
    made.component.script = lambda tup: works("tuple", 0.5)
    made.core.begin(True, made.now)
    made.core.deliver(batch(*([number] for number in range(400))))
    assert seen.count("tick") == 20  # with 20 tuples, ten seconds of them, before each
    assert busy_secs["tuple"] / busy_secs["tick"] == 10 / 25
    assert [each for each in made.errors if "process_tick took 25 s" in each] == made.errors
    assert len(made.errors) == 1


def test_a_slow_tick_handler_takes_half_of_the_time_at_most_while_there_is_input() -> None:
    made = bolt(**{"topology.tick.tuple.freq.secs": 10})
    started, ticks_secs = made.now, 0.0

    def tick(tup: Any) -> None:
        nonlocal ticks_secs
        ticks_secs += 9.0
        made.now += 9.0

    def script(tup: Any) -> None:
        made.now += 0.5

    made.component.process_tick, made.component.script = tick, script
    made.core.begin(True, started)
    made.core.deliver(batch(*([number] for number in range(400))))
    assert 0.4 <= ticks_secs / (made.now - started) <= 0.5
    assert made.errors == []


def test_ticks_stay_in_step_after_a_slow_one() -> None:
    made = bolt(**{"topology.tick.tuple.freq.secs": 10})
    started = made.now

    def tick(tup: Any) -> None:
        made.now += 12.0

    made.component.process_tick = tick
    made.core.begin(True, started)
    made.now = started + 10
    made.core.tick(made.now)  # ends at 22: the one due at 20 comes when tuples have had ten seconds
    assert made.core.next_tick == started + 32
    made.now = started + 32
    made.core.tick(made.now)  # ends at 44, and 40 is past: so is the tick due then
    made.now = started + 54
    made.component.process_tick = lambda tup: None
    made.core.tick(made.now)
    assert made.core.next_tick == started + 60
    # Ticks due at 20 and at 40 ran later; the tick of 40 replaces the tick of 50.
    assert (made.core.metrics.ticks, made.core.metrics.ticks_left_out) == (3, 2)


def test_a_bolt_is_not_idle_while_it_has_a_tick() -> None:
    """Its next emits would have no reader if the topology were stopped now."""
    made = bolt(**{"topology.tick.tuple.freq.secs": 10})
    idle: list[bool] = []
    made.component.process_tick = lambda tup: idle.append(made.core.counts()[2])
    made.core.begin(True, made.now)
    made.core.tick(made.now + 10)
    assert (idle, made.core.counts()[2]) == ([False], True)
    made.core.stop_ticks()
    made.core.tick(made.now + 100)
    assert len(idle) == 1


def test_a_slow_bolts_acks_leave_during_the_batch() -> None:
    # With 10 ms a tuple, acks that wait for the end of the batch would come seconds later.
    made = bolt()
    acked_before = []

    def script(tup: Any) -> None:
        acked_before.append(len(made.words_of(FrameKind.ACK)) // 2)
        made.now += 0.01
        made.component.ack(tup)

    made.component.script = script
    made.core.deliver(batch(*[["x"]] * 20, roots=[(ROOT + at, 9) for at in range(20)]))
    assert acked_before[-1] >= 10


def test_a_bolt_holds_what_it_has_neither_acked_nor_failed() -> None:
    made = bolt()
    assert (made.core.holds, made.core.retains) == (False, False)
    made.core.deliver(batch(["x"], ["y"], roots=[(ROOT, 7), (ROOT + 1, 7)]))
    made.core.flush()
    first, second = made.component.received
    assert (made.core.holds, made.core.retains) == (True, True)
    made.component.ack(first)
    made.core.flush()
    assert (made.core.holds, made.core.retains) == (True, True)
    made.component.fail(second)
    made.core.flush()
    assert (made.core.holds, made.core.retains) == (False, False)


def test_a_bolt_holds_nothing_where_nothing_is_tracked() -> None:
    made = make(Middle, reads(SHUFFLE), tracked=False)
    made.core.deliver(batch(["x"]))
    made.core.flush()
    assert (made.core.holds, made.core.retains) == (False, False)


def test_a_bolt_that_never_acks_is_told_so_once_a_message_timeout_later() -> None:
    made = bolt(**{"topology.message.timeout.secs": 30})
    for root in range(1, 5):
        made.core.deliver(batch(["x"], roots=[(ROOT + root, 7)]))
        made.now += 29.0
        if root == 1:
            assert made.core.statistics().errors == 0
    assert made.core.statistics().errors == 1
    assert "none of 3 tuples was acked in time (30 s)" in made.core.statistics().last_error


def test_a_bolt_that_acks_or_fails_now_and_then_is_not_told_so() -> None:
    for settle in ("ack", "fail"):
        made = bolt(**{"topology.message.timeout.secs": 30})
        for root in range(1, 5):
            made.core.deliver(batch(["x"], roots=[(ROOT + root, 7)]))
            if root == 1:
                getattr(made.component, settle)(made.component.received[0])
            made.now += 29.0
        assert made.core.statistics().errors == 0


def test_last_words_are_said_once() -> None:
    made = bolt()
    made.core.finish()
    made.core.finish()
    assert made.component.received == ["finish"]


def test_a_storm_of_errors_does_not_fill_the_log() -> None:
    made = bolt()
    made.component.script = lambda tup: 1 / 0
    made.core.deliver(batch(*[["x"]] * 100))
    assert made.core.metrics.errors == 100
    assert len(made.errors) < 10


# --- spouts --------------------------------------------------------------------------------------


def test_a_call_of_next_tuple_takes_its_share_of_a_turn() -> None:
    made = spout()
    left = list(range(4))

    def script() -> None:
        made.now += 0.010
        if left:
            made.component.emit([left.pop(), 1])

    made.component.script = script
    made.core.turn(made.now + 0.035)
    assert made.core.statistics().executed == 4
    execute = made.core.statistics().execute
    assert (execute.number, execute.total_secs) == (4, pytest.approx(0.04))
    assert execute.histogram == {bucket_of(0.010): 1}


class Timing(ITaskHook):
    """Notes how long tuples took; negative for failures."""

    def __init__(self) -> None:
        self.took: list[float] = []

    def spout_ack(self, spout_ack_info: SpoutAckInfo) -> None:
        self.took.append(spout_ack_info.complete_latency_ms)

    def spout_fail(self, spout_fail_info: SpoutFailInfo) -> None:
        self.took.append(-spout_fail_info.fail_latency_ms)


class Timed(Source):
    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.hook = Timing()
        context.add_task_hook(self.hook)


def test_hooks_hear_how_long_each_tuple_took() -> None:
    made = make(Timed, reads(SHUFFLE))
    made.core.set_active(True)
    roots = emits(made, 40)
    made.now += 2.0
    made.core.deliver(told(FrameKind.ACKED, *roots[:20]))
    made.core.deliver(told(FrameKind.FAILED, *roots[20:]))
    assert made.component.hook.took == pytest.approx([2000.0] * 20 + [-2000.0] * 20)


def test_a_spout_pauses_at_its_pending_limit() -> None:
    made = spout(**{"topology.max.spout.pending": 3})
    numbers = iter(range(100))
    made.component.script = lambda: made.component.emit([1, 2], tup_id=next(numbers))
    made.core.turn(made.now + 1)
    assert len(made.core.collector.pending) == 3
    assert not made.core.may_emit
    made.core.deliver(told(FrameKind.ACKED, next(iter(made.core.collector.pending))))
    assert made.core.may_emit
    assert made.component.acked == [0]


@pytest.mark.parametrize("again", [FrameKind.ACKED, FrameKind.FAILED, FrameKind.EXPIRED])
@pytest.mark.parametrize("first", [FrameKind.ACKED, FrameKind.FAILED, FrameKind.EXPIRED])
def test_each_tuple_id_is_heard_of_once(first: FrameKind, again: FrameKind) -> None:
    made = spout()
    (root,) = emits(made, 1)
    made.core.deliver(told(first, root))
    made.core.deliver(told(again, root))
    made.core.fail_all()
    assert len(made.component.acked) + len(made.component.failed) == 1
    assert (made.component.acked == [0]) == (first is FrameKind.ACKED)


def test_of_two_pending_tuples_with_one_id_a_failed_one_counts_until_it_is_replayed() -> None:
    """The second tuple's ack was taken for the replay's: the run ended with code 0."""
    made = spout()

    def emit() -> int:
        made.component.emit([1, 1], tup_id="same")
        root: int = next(reversed(made.core.collector.pending))
        return root

    first, second, third = emit(), emit(), emit()
    made.core.deliver(told(FrameKind.FAILED, first, second))
    assert made.core.statistics().failed_for_good == 2
    made.core.deliver(told(FrameKind.ACKED, third))
    assert made.core.statistics().failed_for_good == 2
    made.core.deliver(told(FrameKind.ACKED, emit(), emit()))
    assert made.core.statistics().failed_for_good == 0
    assert (len(made.component.acked), len(made.component.failed)) == (3, 2)


def test_unknown_roots_are_not_the_spouts() -> None:
    # Its predecessor's, for example.
    made = spout()
    made.core.deliver(told(FrameKind.ACKED, SPOUT_ROOTS | 77))
    made.core.deliver(told(FrameKind.FAILED, SPOUT_ROOTS | 78))
    assert made.component.acked == made.component.failed == []


def test_lost_trees_fail_what_is_pending_in_order() -> None:
    made = spout()
    roots = emits(made, 3)
    made.core.deliver(told(FrameKind.ACKED, roots[1]))
    made.core.fail_all()
    assert made.component.failed == [0, 2]
    assert not made.core.finished


def test_a_fail_opens_a_finished_spout_again() -> None:
    made = spout()
    (root,) = emits(made, 1)
    assert made.core.finished
    assert made.core.counts()[2] is False
    made.core.deliver(told(FrameKind.FAILED, root))
    assert made.core.may_emit


def test_a_spout_is_idle_when_its_last_tuple_is_settled() -> None:
    made = spout()
    (root,) = emits(made, 1)
    made.core.deliver(told(FrameKind.ACKED, root))
    assert made.core.counts() == (1, 0, True)


def test_a_new_spout_without_a_plan_is_not_idle() -> None:
    # A spout restarted near the end of the run has not begun yet: all its work is left.
    made = make(Source, reads(SHUFFLE))
    assert made.core.counts()[2] is False
    made.core.set_active(False)
    assert made.core.counts()[2] is True


def test_errors_in_callbacks_do_not_lose_the_other_results() -> None:
    made = spout()
    roots = emits(made, 3)
    made.component.failed = None  # what fail() of this spout appends to
    made.core.deliver(told(FrameKind.FAILED, roots[0], roots[1]))
    made.core.deliver(told(FrameKind.ACKED, roots[2]))
    assert made.component.acked == [2]
    assert made.core.metrics.errors == 2
    assert made.core.collector.pending == {}


def test_a_spout_that_takes_long_for_each_tuple_is_called_again_at_once() -> None:
    made = spout()
    made.component.script = lambda: made.component.emit([1, 1], tup_id=1)
    made.look_secs = 1.0
    made.core.turn(made.now + 1.5)
    before = len(made.core.collector.pending)
    assert made.core.turn(made.now + 1.5) is True
    assert len(made.core.collector.pending) == before + 1


def test_the_clock_is_not_read_for_each_tuple_of_a_fast_bolt() -> None:
    made, tuples = bolt(), 100 * CLOCK_EVERY
    made.core.deliver(batch(*([each] for each in range(CLOCK_EVERY))))
    began, made.look_secs = made.now, 1e-6
    made.core.deliver(batch(*([each] for each in range(tuples))))
    looks = (made.now - began) / made.look_secs
    assert looks < 2 * tuples / CLOCK_EVERY


def test_an_error_in_next_tuple_is_survived() -> None:
    made = spout()
    made.component.script = lambda: 1 / 0
    assert made.core.turn(made.now + 1) is False
    assert made.core.metrics.errors == 1


def test_a_spout_is_not_sent_batches() -> None:
    with pytest.raises(ProtocolError, match="a frame of kind 1 to a spout: install one version"):
        spout().core.deliver(batch(["x"], body=b"8 bytes."))
