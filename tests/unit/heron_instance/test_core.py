"""The decisions of an instance: the meaning of control messages, and the next step of the main
loop."""

import logging
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from heron_core import config as keys
from heron_core.hot_rows import CLOCK_EVERY
from heron_core.plans import PhysicalPlan, TopologyState, physical_to_json
from heron_core.topology import StreamSpec
from heron_core.transition_log import STEPS_MAX
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind, Frames, parse_header
from heron_core.wire.merged import merge
from heron_core.wire.packets import encode_roots
from heron_instance.control_core import Identity, is_replaced
from heron_instance.core import InstanceCore
from heron_instance.events import (
    Connected,
    ControlReceived,
    Event,
    FinishLoop,
    InputEmpty,
    InstanceExit,
    InstanceReceived,
    InstanceTimer,
    Instruction,
    Receive,
    ReportLongCall,
    SendControl,
    Stopped,
    Turn,
    Wait,
    Wake,
)
from heron_instance.runtime.environment import InstanceEnvironment
from heron_instance.shared_state import SharedState
from tests.unit.heron_instance.instance_support import (
    OTHER,
    SHUFFLE,
    SOURCE,
    Middle,
    Source,
    batch,
    packing,
    reads,
)
from tests.unit.heron_instance.instance_support import topology_of as topology_with

CONSUMED_BYTES = 200
ROOT = (OTHER << 44) | 1
ADDRESSES = {1: "tcp://first", 2: "tcp://second"}


class Process:
    """An InstanceCore and its messages."""

    def __init__(self, kind: type, **config: Any) -> None:
        self.now = 100.0
        self.sent: list[Frames] = []
        self.shared = SharedState()
        whole = {keys.RELIABILITY_MODE: keys.ATLEAST_ONCE, **config}
        topology = topology_with(
            kind, (StreamSpec("default", ("a", "b")),), [reads(SHUFFLE)], whole
        )
        environment = InstanceEnvironment(
            lambda: self.now, Random(1), self.sent.extend, self._admit, logging.Logger("tested")
        )
        self.core = InstanceCore(
            topology, packing(), Identity(SOURCE, 77, 5), environment, self.shared, CONSUMED_BYTES
        )
        self.component: Any = self.core.instance.component

    def _admit(self) -> None:
        assert self.shared.may_send, "production would wait here"

    def handle(self, event: Event) -> list[Instruction]:
        """Decisions about an event; all invariants hold afterwards."""
        out = list(self.core.handle(event, self.now))
        self.core.validate()
        return out

    def hear(self, message: Any) -> list[Instruction]:
        """A control message arrives."""
        return self.handle(ControlReceived(message))

    def plan(self, epoch: int = 1, state: str = TopologyState.RUNNING, **addresses: str) -> Any:
        """A physical plan arrives."""
        changed = {int(name[1:]): address for name, address in addresses.items()}
        made = PhysicalPlan("t", epoch, state, packing(), ADDRESSES | changed)
        return self.hear(messages.Plan(physical_to_json(made)))

    def receive(self, *values: list[Any]) -> list[Instruction]:
        """A batch of a tracked tuple for each of `values` arrives."""
        roots = [(ROOT + at, 9) for at in range(len(values))]
        return self.handle(InstanceReceived(batch(*values, roots=roots, epoch=self.shared.epoch)))

    def kinds(self) -> list[FrameKind]:
        """Of all messages sent."""
        return [FrameKind(parse_header(frames[0]).kind) for frames in self.sent]

    def consumed(self) -> int:
        """Messages reported as processed."""
        return sum(parse_header(frames[0]).consumed for frames in self.sent)


def running(kind: type, **config: Any) -> Process:
    """One whose main thread has taken the first plan."""
    process = Process(kind, **config)
    process.plan()
    process.handle(Turn())
    return process


def test_a_connection_begins_with_who_this_is() -> None:
    out = Process(Middle).handle(Connected())
    assert out == [SendControl(messages.RegisterInstance(task=SOURCE, incarnation=77, pid=5))]


def test_before_the_first_plan_a_bolt_takes_no_input() -> None:
    process = Process(Middle)
    assert process.handle(Turn()) == [Wait(101.0, for_input=False)]
    assert process.plan() == [Wake()]
    assert process.handle(Turn()) == [Receive()]


def test_a_paused_bolt_leaves_its_input_and_sends_acks() -> None:
    process = running(Middle)
    process.component.script = process.component.ack
    process.receive(["x"])
    process.hear(messages.Pause(True))
    assert process.handle(Turn()) == [Wait(101.0, for_input=False)]
    assert process.kinds() == [FrameKind.CONSUMED, FrameKind.ACK]
    assert process.hear(messages.Pause(False)) == [Wake()]
    assert process.handle(Turn()) == [Receive()]


def test_a_paused_spout_hears_of_its_tuples_and_does_not_emit() -> None:
    process = running(Source)
    process.component.script = lambda: process.component.emit([1, 2], tup_id=1)
    process.hear(messages.Pause(True))
    assert process.handle(Turn()) == [Receive()]
    assert process.handle(InputEmpty()) == [Wait(101.0, for_input=True)]
    assert process.sent == []


def test_pending_calls_are_made_while_a_bolt_is_paused() -> None:
    process = running(Middle)
    process.hear(messages.Pause(True))
    process.plan(epoch=2)
    assert process.shared.epoch_taken == 1
    process.handle(Turn())
    assert process.shared.epoch_taken == 2


def test_calls_that_a_call_asks_for_come_in_the_next_round() -> None:
    process = running(Middle)
    made: list[str] = []
    process.shared.call(lambda: process.shared.call(lambda: made.append("second")))
    process.shared.call(lambda: made.append("first"))
    process.handle(Turn())
    assert made == ["first"]
    process.handle(Turn())
    assert made == ["first", "second"]


def test_what_was_processed_is_reported_with_the_next_message() -> None:
    process = running(Middle)
    process.component.script = process.component.ack
    process.receive(["x"])
    assert process.handle(InputEmpty()) == [Wait(160.0, for_input=True)]
    assert process.kinds() == [FrameKind.CONSUMED, FrameKind.ACK]
    assert process.consumed() == 1


def test_what_was_processed_is_reported_without_a_message_to_ride_on() -> None:
    process = running(Middle)
    process.receive(["x"])
    process.handle(InputEmpty())
    assert process.kinds() == [FrameKind.CONSUMED]
    assert process.consumed() == 1
    process.handle(InputEmpty())
    assert len(process.sent) == 1


def test_what_was_processed_is_reported_when_it_amounts_to_much() -> None:
    process = running(Middle)
    assert process.receive(["x"]) == [Receive()]
    assert process.consumed() == 0
    process.receive(["x" * CONSUMED_BYTES])
    assert process.consumed() == 2


def test_what_came_merged_is_processed_in_order_and_control_messages_come_between() -> None:
    process = running(Middle)
    seen: list[str] = []

    def script(tup: Any) -> None:
        seen.append(tup.values[0])
        if tup.values[0] == "b":
            process.hear(messages.Pause(True))
            process.now += 1.0  # the clock is read behind this message at the latest

    process.component.script = script
    three = [
        batch(*[[each]] * CLOCK_EVERY, roots=[(ROOT, 9)] * CLOCK_EVERY, epoch=process.shared.epoch)
        for each in "abc"
    ]
    (step,) = process.handle(InstanceReceived(merge(three)))
    assert isinstance(step, Wait)
    assert not step.for_input
    assert sorted(set(seen)) == ["a", "b"]
    process.hear(messages.Pause(False))
    assert process.handle(Turn()) == [Receive()]
    process.handle(InputEmpty())
    in_order = [each for each in "abc" for _ in range(CLOCK_EVERY)]
    assert (seen, process.consumed()) == (in_order, 3)


def test_a_spout_reports_the_results_that_it_has_taken() -> None:
    # Its stream manager keeps further results back until then, for a merge.
    process = running(Source)
    process.component.script = lambda: None
    results = [
        encode_roots(kind, 1, 0, SOURCE, [ROOT]) for kind in (FrameKind.ACKED, FrameKind.FAILED)
    ]
    assert process.handle(InstanceReceived(merge(results))) == [Receive()]
    process.handle(InputEmpty())
    assert process.kinds() == [FrameKind.CONSUMED]
    assert process.consumed() == 2


def test_a_paused_spout_reports_the_results_that_it_has_taken() -> None:
    process = running(Source)
    process.hear(messages.Pause(True))
    process.handle(InstanceReceived(encode_roots(FrameKind.ACKED, 1, 0, SOURCE, [ROOT])))
    process.handle(InputEmpty())
    assert process.consumed() == 1


def test_a_cut_merged_message_is_reported_and_nothing_of_it_processed() -> None:
    process = running(Middle)
    head, body = merge([batch(["x"], epoch=1), batch(["y"], epoch=1)])
    assert process.handle(InstanceReceived([head, body[:-1]])) == [Receive()]
    assert process.component.received == []
    assert_dropped(
        process, "the stream manager sent a message that cannot be read: a merged message"
    )


def assert_dropped(process: Any, fault: str) -> None:
    """One message, with its sender and the remedy in the last error."""
    found = process.core.driver.statistics()
    assert (found.malformed, found.errors) == (1, 1)
    assert fault in found.last_error
    assert "install one version of heronpy on all hosts" in found.last_error


def test_a_malformed_message_is_reported_and_counts_as_processed() -> None:
    process = running(Middle)
    assert process.handle(InstanceReceived([b"x" * 40])) == [Receive()]
    process.handle(InputEmpty())
    assert process.consumed() == 1
    assert_dropped(process, "the stream manager sent a message that cannot be read")


def test_a_spout_says_when_it_finishes_and_when_it_goes_on() -> None:
    process = running(Source)
    calls = [process.component.finish, lambda: process.component.emit([1, 2], tup_id=7)]

    def script() -> None:
        calls.pop()()

    process.component.script = script
    process.handle(Turn())
    process.handle(InputEmpty())
    out = process.handle(InputEmpty())
    assert out[0] == SendControl(messages.SpoutFinished(SOURCE, True))
    assert process.hear(messages.Resync())[0] == SendControl(
        messages.RegisterInstance(task=SOURCE, incarnation=77, pid=5)
    )
    process.component.script = lambda: None
    process.handle(Turn())
    assert process.component.failed == [7]
    assert process.handle(InputEmpty())[0] == SendControl(messages.SpoutFinished(SOURCE, False))


def test_a_spout_that_emits_nothing_is_left_alone_for_longer_and_longer() -> None:
    process = running(Source)
    process.component.script = lambda: None
    waits = []
    for _ in range(10):
        process.handle(Turn())
        (step,) = process.handle(InputEmpty())
        assert isinstance(step, Wait)
        waits.append(round((step.until - process.now) * 1000))
    assert waits == [1, 1, 1, 2, 2, 4, 8, 10, 10, 10]


def test_a_topology_that_is_paused_holds_the_spout() -> None:
    process = running(Source)
    process.component.script = lambda: process.component.emit([1, 2])
    process.plan(epoch=2, state=TopologyState.PAUSED)
    process.handle(Turn())
    assert process.handle(InputEmpty()) == [Wait(101.0, for_input=True)]
    assert process.sent == []


@pytest.mark.parametrize(
    ("addresses", "failed"), [({}, []), ({"_3": "tcp://more"}, []), ({"_2": "tcp://new"}, [7])]
)
def test_pending_tuples_fail_when_a_stream_manager_is_replaced(
    addresses: dict[str, str], failed: list[int]
) -> None:
    # A dead stream manager held unknown trees, an added one did not.
    process = running(Source)
    emits: list[Callable[[], object]] = [lambda: process.component.emit([1, 2], tup_id=7)]
    process.component.script = lambda: emits.pop()() if emits else None
    process.handle(InputEmpty())
    process.plan(epoch=2, **addresses)
    process.handle(Turn())
    assert process.component.failed == failed


def test_containers_that_come_or_go_replace_nobody() -> None:
    assert not is_replaced({1: "a", 2: "b"}, {1: "a"})
    assert not is_replaced({1: "a"}, {1: "a", 2: "b"})
    assert is_replaced({1: "a", 2: "b"}, {1: "a", 2: "c"})


def test_the_end_of_a_finite_run_is_answered_when_on_finish_has_run() -> None:
    process = running(Middle)
    assert process.hear(messages.FinishBolts((SOURCE,))) == [Wake()]
    assert process.component.received == []
    assert process.handle(Turn()) == [SendControl(messages.BoltFinished(SOURCE)), Receive()]
    assert process.component.received == ["finish"]


class Unclosable(Middle):
    def close(self) -> None:
        raise RuntimeError("the target is away")


def test_what_close_raises_makes_a_run_incomplete() -> None:
    process = running(Unclosable)
    process.core.close_component()
    assert process.core.driver.metrics.callback_errors == 1


def test_a_probe_is_answered_at_once_by_the_plan_that_was_taken() -> None:
    process = running(Middle)
    process.plan(epoch=2)
    beat, report = process.hear(messages.QuiescenceProbe(4))
    assert isinstance(beat, SendControl)
    assert isinstance(beat.message, messages.InstanceHeartbeat)
    # Not idle: the plan has still to be taken.
    assert report == SendControl(messages.QuiescenceReport(SOURCE, 4, 0, 0, False, epoch=1))


def test_a_process_that_was_replaced_ends_at_once() -> None:
    assert running(Middle).hear(messages.Superseded("another one")) == [InstanceExit("another one")]


def test_a_process_that_is_stopped_may_send_what_it_holds() -> None:
    process = running(Middle)
    process.hear(messages.Pause(True))
    assert process.handle(Stopped()) == [Wake()]
    assert process.shared.may_send
    assert process.handle(Turn()) == [FinishLoop()]
    process.hear(messages.Pause(True))
    assert process.shared.may_send


def test_heartbeats_come_at_their_interval_and_name_the_process() -> None:
    process = running(Middle, **{keys.METRICS_INTERVAL_MS: 500})
    (beat,) = process.handle(InstanceTimer())
    assert isinstance(beat, SendControl)
    assert isinstance(beat.message, messages.InstanceHeartbeat)
    metrics = beat.message.metrics
    assert (metrics["incarnation"], metrics["pid"], metrics["at"]) == (77, 5, 100.0)
    assert process.handle(InstanceTimer()) == []
    process.now = process.core.next_heartbeat
    assert process.now == 100.5
    assert len(process.handle(InstanceTimer())) == 1


def test_a_call_that_does_not_return_is_reported_once() -> None:
    process = running(Middle, **{keys.STUCK_REPORT_SECS: 3})
    reports = []
    for _ in range(3):
        process.handle(InstanceTimer())
        process.now += 10.0
        reports += [
            each for each in process.handle(InstanceTimer()) if type(each) is ReportLongCall
        ]
    assert reports == [ReportLongCall(10.0)]


def test_the_story_tells_control_messages_and_what_came_of_them() -> None:
    process = running(Middle)
    process.hear(messages.QuiescenceProbe(4))
    process.hear(messages.FinishBolts((SOURCE,)))
    process.handle(Turn())
    assert [(step.cause, step.effects) for step in process.core.transition_log().steps] == [
        ("Plan", ("Wake",)),
        ("plan 1 is taken, after Plan", ()),
        ("FinishBolts", ("Wake",)),
        ("on_finish has run, after FinishBolts", ()),
    ]


def test_the_story_is_bounded() -> None:
    process = running(Middle)
    for _ in range(500):
        process.hear(messages.Pause(True))
    assert len(process.core.transition_log().steps) == STEPS_MAX


def test_validate_names_what_does_not_hold() -> None:
    process = running(Middle)
    process.shared.paused = True
    with pytest.raises(AssertionError, match="may_send is True: not updated"):
        process.core.validate()
