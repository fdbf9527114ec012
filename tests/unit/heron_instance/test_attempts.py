"""A bolt that raises where checkpoints are taken: each tuple counts once."""

from collections import Counter
from typing import Any, ClassVar

import pytest

from heron_api.metrics import TupleCount
from heron_connectors.two_phase import TwoPhaseSink
from heron_core.errors import TopologyStopped
from heron_core.instance_report import InstanceReport
from heron_core.plans import TopologyState
from heron_core.wire import messages
from heron_core.wire.frames import parse_header
from heron_core.wire.packets import encode_watermark
from heron_instance.events import InstanceReceived, SendControl, Turn
from heron_instance.input.cursor_calls import EVERY_MESSAGE_TIMED
from tests.unit.heron_instance.attempts_support import (
    REFUSED,
    Asking,
    Cluster,
    Prepared,
    Refusing,
    World,
    abandoned,
    reported_abandoned,
    values_batch,
)
from tests.unit.heron_instance.checkpointed_support import INCARNATION, ME
from tests.unit.heron_instance.instance_support import OTHER


def check_counts(bolt: Cluster, values: list[Any]) -> None:
    """Each value counts once, in attribute, state, and emits."""
    assert bolt.component.seen == values
    assert [bolt.component.state.get(each) for each in values] == [1] * len(values)
    assert Counter(bolt.of_now) == Counter(values)  # by two ways, in no common order


def test_a_connection_refused_once_in_a_hundred_calls_changes_no_total() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call % 100 == 0
    values = list(range(1000))
    bolt.tuples(*values)
    check_counts(bolt, values)
    assert bolt.numbers() == (1000, 0)
    assert bolt.restores == 1  # after that it is careful


def test_a_connection_refused_in_each_message_changes_no_total() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call % 3 == 0
    bolt.one_by_one(*range(30))
    check_counts(bolt, list(range(30)))


def test_a_poison_tuple_is_abandoned_and_nothing_of_it_counts() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: value == 7
    bolt.tuples(*range(10))
    check_counts(bolt, [0, 1, 2, 3, 4, 5, 6, 8, 9])
    assert bolt.component.state.get(7) is None
    assert bolt.numbers() == (10, 1)
    statistics = bolt.core.driver.statistics()
    assert "ConnectionRefusedError" in str(statistics.last_error)
    assert reported_abandoned(bolt) == []
    bolt.checkpoint()
    assert reported_abandoned(bolt) == [1]
    bolt.said.clear()
    bolt.tuples(11)
    bolt.checkpoint()
    assert reported_abandoned(bolt) == []  # of what this one covers all is processed
    (total,) = abandoned(bolt)
    assert total == messages.TuplesAbandoned(ME, 2, bolt.name, False, {"failed_for_good": 1})


def test_a_tuple_that_was_abandoned_and_is_processed_after_a_restore_has_not_failed() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: value == 3
    bolt.tuples(3)
    bolt.checkpoint()
    bolt.world.refuses = lambda value, call: value == 7
    bolt.tuples(*range(5, 10))
    assert bolt.numbers()[1] == 2
    bolt.restore()
    bolt.world.refuses = lambda value, call: False
    bolt.tuples(*range(5, 10))
    check_counts(bolt, list(range(5, 10)))
    assert bolt.numbers()[1] == 1


def test_an_older_checkpoint_restored_counts_what_had_failed_there() -> None:
    bolt = Cluster(Refusing)
    for value in range(3):
        bolt.run([values_batch([value], bolt.epoch)])
        bolt.checkpoint()
    assert bolt.numbers()[1] == 3
    bolt.completed = 2  # heronpy restore --checkpoint 2
    bolt.restore()
    assert bolt.numbers()[1] == 2
    bolt.completed = 3
    bolt.checkpoint()
    assert abandoned(bolt)[-1].counted == {"failed_for_good": 2}
    assert reported_abandoned(bolt) == []


def test_a_tick_that_was_abandoned_and_succeeds_after_a_restore_is_no_error() -> None:
    bolt = Cluster(Asking, topology_tick_tuple_freq_secs=60)
    bolt.step_secs = 0.05
    bolt.world.refuses = lambda value, call: value == "tick"
    bolt.now += 60.0
    while not bolt.settle():
        bolt.now += 60.0
    metrics = bolt.core.driver.metrics
    assert (metrics.calls_given_up, metrics.callback_errors) == (1, 1)
    bolt.restore()
    metrics = bolt.core.driver.metrics
    assert (metrics.calls_given_up, metrics.callback_errors) == (0, 0)


def test_the_end_of_the_run_waits_until_the_topology_is_restored() -> None:
    # Effects of on_finish are discarded, too, with the state from before.
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: value == 3
    bolt.handle(InstanceReceived(values_batch([3], bolt.epoch)))
    bolt.handle(Turn())
    assert bolt.hear(messages.FinishBolts((ME,))) == []
    assert bolt.component.seen == [3]


def test_a_message_that_was_tried_when_the_topology_was_restored_does_not_fill_the_window() -> None:
    # Its stream manager counts unreported messages, and would stop handing over.
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call == 1
    bolt.tuples(1)
    bolt.world.refuses = lambda value, call: True
    bolt.handle(InstanceReceived(values_batch([7], bolt.epoch)))
    bolt.handle(Turn())
    driver: Any = bolt.core.driver
    assert driver.is_trying
    bolt.sent.clear()
    bolt.begin(bolt.epoch + 1)
    bolt.turn()
    assert sum(parse_header(each[0]).consumed for each in bolt.sent) == 1


def test_a_careful_bolt_measures_as_many_calls_as_any_other() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call == 1
    bolt.tuples(-1)
    driver: Any = bolt.core.driver
    before = driver.metrics.execute.histogram.copy()
    bolt.one_by_one(*range(2 * EVERY_MESSAGE_TIMED))
    found = driver.metrics.execute.histogram
    assert sum(found.values()) - sum(before.values()) == 2


def test_tries_that_are_undone_drop_no_tuple_twice() -> None:
    bolt = Cluster(Asking, declares=False)
    bolt.world.refuses = lambda value, call: call < 5
    bolt.tuples(1)
    assert bolt.core.driver.metrics.undeclared == 1
    bolt.checkpoint()
    assert abandoned(bolt)[-1].counted == {"undeclared": 1}
    assert reported_abandoned(bolt) == []
    bolt.tuples(2)
    bolt.restore()
    assert bolt.core.driver.metrics.undeclared == 1


class Acking(Asking):
    """Acks before the request."""

    ack: Any

    def process(self, tup: Any) -> None:
        self.ack(tup)
        super().process(tup)


@pytest.mark.parametrize("declares", [True, False])
def test_no_total_falls_while_a_bolt_tries_and_the_last_ones_are_exact(declares: bool) -> None:
    # For example a connection refused after half a minute: reports are made meanwhile, and their
    # readers take a falling counter for a new process.
    bolt = Cluster(Acking, declares=declares, topology_tick_tuple_freq_secs=60)
    bolt.step_secs = 0.05
    bolt.world.refuses = lambda value, call: call == 1
    bolt.tuples(0)  # all go back for the first raise; it is careful from here on
    reports = [bolt.core.control.report(bolt.now)]

    def refuses(value: Any, call: int) -> bool:
        reports.append(bolt.core.control.report(bolt.now))
        return call % 3 > 0

    bolt.world.refuses = refuses
    bolt.tuples(*range(1, 6))
    bolt.one_by_one(*range(6, 9))
    bolt.now += 60.0
    bolt.settle()
    reports.append(bolt.core.control.report(bolt.now))
    first, last = (totals_of(each) for each in (reports[0], reports[-1]))
    grown = {name: last[name] - first[name] for name in last if last[name] > first[name]}
    sent = {"emitted": 9} if declares else {"undeclared": 9}
    assert grown == {"executed": 8, "acked": 8, "inputs": 8, "ticks": 1, **sent}
    for name in last:
        totals = [totals_of(each)[name] for each in reports]
        assert totals == sorted(totals), name


def totals_of(report: InstanceReport) -> dict[str, int]:
    """Counts of tuples and ticks."""
    names = ("executed", "acked", "failed", "failed_for_good", "ticks", "undeclared")
    return {
        **{name: getattr(report, name) for name in names},
        "emitted": sum(report.emitted_by_stream.values()),
        "inputs": sum(report.executed_by_input.values()),
    }


class Parting(Asking):
    """Emits with its last call as well."""

    def close(self) -> None:
        self.emit(["goodbye", "y"])


@pytest.mark.parametrize("declares", [True, False])
def test_what_a_bolt_emits_as_its_try_is_undone_counts_for_nothing(declares: bool) -> None:
    bolt = Cluster(Parting, declares=declares)
    bolt.world.refuses = lambda value, call: call < 5
    bolt.tuples(1)
    dropped, sent = (0, 1) if declares else (1, 0)
    assert bolt.core.driver.metrics.undeclared == dropped
    assert bolt.core.driver.counts()[0] == sent
    assert bolt.of_now == ([1] if declares else [])


class CountingAsking(Asking):
    """Counts with a metric as well."""

    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.counted = TupleCount()
        context.register_metric("counted", self.counted, 0)

    def count(self, value: Any) -> None:
        self.counted.incr()
        super().count(value)


def test_a_metric_of_tuples_counts_none_that_is_undone() -> None:
    bolt = Cluster(CountingAsking)
    bolt.world.refuses = lambda value, call: value == 7 or call % 5 == 0
    bolt.tuples(*range(10))
    assert bolt.component.counted.total == 9
    bolt.checkpoint()
    bolt.tuples(*range(10, 16))
    assert bolt.component.counted.total == 15
    bolt.restore()
    assert bolt.component.counted.total == 9
    bolt.tuples(*range(10, 16))
    assert bolt.component.counted.total == 15
    read = bolt.core.control.report(bolt.now).user_totals
    assert read["counted"] == 15


def test_a_tuple_that_a_bolt_fails_by_itself_is_abandoned_as_well() -> None:
    bolt = Cluster(Refusing)
    bolt.run([values_batch([1], bolt.epoch)])
    bolt.checkpoint()
    assert reported_abandoned(bolt) == [1]


def test_who_gives_nothing_up_tries_until_the_connection_is_there() -> None:
    bolt = Cluster(Asking, topology_bolt_on_exception="restart")
    bolt.world.refuses = lambda value, call: value == 7 and call < 40
    bolt.tuples(*range(10))
    check_counts(bolt, list(range(10)))
    assert bolt.numbers() == (10, 0)


def test_a_tuple_is_tried_as_often_as_the_topology_says() -> None:
    bolt = Cluster(Asking, topology_bolt_retries=0)
    bolt.world.refuses = lambda value, call: value == 1
    bolt.tuples(1)
    assert (bolt.numbers(), bolt.world.calls) == ((1, 1), 2)


def test_code_that_always_raises_loses_ten_tuples_at_most() -> None:
    bolt = Cluster(Asking, topology_bolt_retries=1)
    bolt.world.refuses = lambda value, call: call < 60
    bolt.tuples(*range(30))
    processed, failed = bolt.numbers()
    assert (processed, failed) == (30, 10)
    check_counts(bolt, list(range(10, 30)))


def test_a_tick_that_raises_is_tried_again() -> None:
    bolt = Cluster(Asking, topology_tick_tuple_freq_secs=60)
    bolt.step_secs = 0.05
    bolt.world.refuses = lambda value, call: value == "tick" and call < 4
    bolt.now += 60.0
    while not bolt.settle():
        bolt.now += 60.0
    assert bolt.component.seen == bolt.of_now == ["tick"]
    assert bolt.core.driver.metrics.callback_errors == 0


def test_a_tick_that_always_raises_is_counted() -> None:
    bolt = Cluster(Asking, topology_tick_tuple_freq_secs=60)
    bolt.step_secs = 0.05
    bolt.world.refuses = lambda value, call: value == "tick"
    bolt.now += 60.0
    while not bolt.settle():
        bolt.now += 60.0
    assert "tick" not in [*bolt.component.seen, *bolt.of_now]
    assert bolt.core.driver.metrics.callback_errors == 1


def test_the_end_is_tried_again_and_said_once() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: value == "end" and call < 8
    bolt.tuples(1, 2)
    for _ in range(2):  # the second one comes when the topology has been restored
        bolt.said += bolt.hear(messages.FinishBolts((ME,)))
        if bolt.settle():
            break
        bolt.tuples(1, 2)
    assert bolt.said == [messages.BoltFinished(ME)]
    assert bolt.component.seen == [1, 2, "end"]
    assert Counter(bolt.of_now) == Counter([1, 2, "end"])


def test_a_watermark_is_told_again_to_an_object_that_is_new() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call == 1
    bolt.tuples(1)
    bolt.world.refuses = lambda value, call: value == 5
    bolt.receive(encode_watermark(bolt.epoch, OTHER, ME, 1000))
    bolt.settle()
    bolt.tuples(5)
    assert bolt.component.seen[:2] == [1, "mark 1000"]
    assert bolt.component.heard == ["mark 1000"]  # also by the newest object
    assert 5 not in bolt.component.seen
    assert bolt.numbers() == (2, 1)


def test_after_two_checkpoints_without_a_raise_it_is_as_before() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call == 1
    bolt.tuples(1)
    first = bolt.component
    bolt.checkpoint()
    bolt.checkpoint()
    bolt.tuples(2)
    assert bolt.component is first
    bolt.checkpoint()
    bolt.world.refuses = lambda value, call: call == 4
    bolt.tuples(3)  # so this takes all back once more
    assert bolt.restores == 2
    assert bolt.component.seen == [1, 2, 3]


def test_a_void_instance_takes_no_barrier_and_is_not_idle() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: call == 1
    out = bolt.handle(InstanceReceived(values_batch([1], 1)))
    out += bolt.handle(Turn())
    said: list[Any] = [each.message for each in out if isinstance(each, SendControl)]
    assert [type(each) for each in said] == [messages.RestoreWanted]
    assert said[0].reason.endswith(REFUSED)
    assert bolt.core.driver.counts() == (0, 0, False)
    bolt.handle(Turn())
    assert bolt.core.handle(Turn(), bolt.now)  # it waits, and asks once
    assert bolt.states == {}


class Sink(TwoPhaseSink):
    """A sink whose write raises before any effect."""

    world: ClassVar[World]
    written: ClassVar[list[Any]]

    def begin(self) -> list[Any]:
        return []

    def write(self, transaction: list[Any], tup: Any) -> None:
        self.world.asked(tup.values[0])
        transaction.append(tup.values[0])

    def pre_commit(self, transaction: list[Any], transaction_id: Any) -> list[Any]:
        return transaction

    def commit(self, prepared: list[Any], transaction_id: Any) -> None:
        type(self).written += prepared


def test_a_sink_whose_write_raises_now_and_then_writes_each_tuple_once() -> None:
    Sink.written = []
    bolt = Cluster(Sink)
    bolt.world.refuses = lambda value, call: call % 5 == 0
    bolt.tuples(*range(50))
    bolt.checkpoint()
    assert Sink.written == list(range(50))
    assert bolt.numbers() == (50, 0)
    assert bolt.restores == 1


@pytest.mark.parametrize("retries", [0, 2])
def test_where_only_the_topology_undoes_it_there_is_a_restore_for_each_try(retries: int) -> None:
    bolt = Cluster(Prepared, topology_bolt_retries=retries)
    bolt.world.refuses = lambda value, call: value == 7
    bolt.tuples(*range(10))
    check_counts(bolt, [0, 1, 2, 3, 4, 5, 6, 8, 9])
    assert bolt.numbers() == (10, 1)
    assert bolt.restores == 2 + retries  # the first one does not know yet which tuple it was


def test_where_only_the_topology_undoes_a_tuple_that_was_refused_once_counts() -> None:
    bolt = Cluster(Prepared)
    bolt.world.refuses = lambda value, call: call in (5, 12)
    bolt.tuples(*range(10))
    check_counts(bolt, list(range(10)))


@pytest.mark.parametrize("kind", [Asking, Prepared])
def test_a_topology_that_is_to_stop_does_so_after_the_retries(kind: type) -> None:
    bolt = Cluster(kind, topology_bolt_on_exception="stop")
    bolt.world.refuses = lambda value, call: call == 2
    bolt.tuples(1, 2)
    bolt.world.refuses = lambda value, call: value == 7
    with pytest.raises(TopologyStopped, match="exception is stop: ConnectionRefusedError"):
        bolt.tuples(1, 2, 7)


def test_a_tick_of_who_has_a_second_phase_is_abandoned_after_the_retries() -> None:
    bolt = Cluster(Prepared, topology_tick_tuple_freq_secs=600)
    bolt.step_secs = 0.05
    bolt.world.refuses = lambda value, call: value == "tick"
    for _ in range(6):
        bolt.now += 600.0
        bolt.settle()
    assert "tick" not in bolt.component.seen
    assert bolt.core.driver.metrics.callback_errors == 1


def test_what_a_thread_of_a_bolt_raises_each_time_is_counted_after_the_retries() -> None:
    bolt = Cluster(Asking)

    def late_call() -> None:
        try:
            raise ValueError("from a thread")
        except ValueError:
            bolt.core.driver.user_raised("a call")

    for _ in range(6):
        bolt.shared.call(late_call)
        bolt.settle()
    assert bolt.restores == 5
    assert bolt.core.driver.metrics.callback_errors == 1
    bolt.tuples(1)
    check_counts(bolt, [1])


def test_code_that_always_raises_loses_ten_tuples_at_most_also_one_by_one() -> None:
    bolt = Cluster(Asking, topology_bolt_retries=0)
    bolt.world.refuses = lambda value, call: call < 60
    bolt.one_by_one(*range(30))
    assert bolt.numbers() == (30, 10)


def test_a_pause_of_the_topology_does_not_wait_for_code_that_always_raises() -> None:
    """As in an update with better code: the update does not take a checkpoint without an end."""
    bolt = Cluster(Asking, topology_bolt_on_exception="restart")
    bolt.world.refuses = lambda value, call: value == 7
    assert not bolt.run([values_batch([7], 1)])  # from here on it is careful
    bolt.handle(InstanceReceived(values_batch([7], bolt.epoch)))
    for _ in range(6):
        bolt.now += 60.0
        bolt.handle(Turn())
    assert bolt.plan(bolt.epoch, member=INCARNATION, state=TopologyState.PAUSED) == []
    bolt.now += 1.0
    (wanted,) = [each.message for each in bolt.handle(Turn()) if isinstance(each, SendControl)]
    assert isinstance(wanted, messages.RestoreWanted)
    assert wanted.reason == "a tuple: it is not processed, and the topology pauses"
