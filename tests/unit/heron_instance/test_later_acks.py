"""A bolt that works in threads: its emits, acks and fails in each mode, and after a restore."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.errors import ComponentError, TopologyStopped
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind
from heron_instance import attempts, later_acks
from heron_instance.attempts import kind_of
from heron_instance.events import ControlReceived, Turn
from heronpy_compat import BatchBolt, Bolt, Spout
from tests.unit.heron_instance.checkpointed_support import INCARNATION, ME, Process, plan_of
from tests.unit.heron_instance.instance_support import SHUFFLE, batch, make, reads
from tests.unit.heron_instance.test_saving_state import barrier


def in_thread(work: Callable[[], object]) -> BaseException | None:
    """Do the work in a thread of its own; what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    return raised[0] if raised else None


class Pooled(Bolt):
    """Keeps its tuples; a test settles them in threads."""

    acks_later = True

    def initialize(self, config: Any, context: Any) -> None:
        self.got: list[Any] = []

    def process(self, tup: Any) -> None:
        self.got.append(tup)


class Careless(Pooled):
    acks_later = False


def values_of(process: Process) -> list[Any]:
    """What was sent since the last time."""
    from tests.unit.heron_instance.instance_support import Batch

    process.core.driver.flush()
    found = [
        Batch(each) for each in process.sent if each[0][2] in (FrameKind.DATA, FrameKind.FANOUT)
    ]
    process.sent.clear()
    return [value for each in found for value in each.values]


def test_a_pool_of_threads_loses_nothing_by_a_restore() -> None:
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], [2], [3], epoch=1))
    first, second, _ = process.component.got

    def work() -> None:
        process.component.emit(["first", 1], anchors=[first])
        process.component.emit(["second", 2], anchors=[second])
        process.component.ack(first)

    assert in_thread(work) is None
    assert values_of(process) == []
    process.handle(Turn())
    assert values_of(process) == [["first", 1]]
    process.receive(barrier(1))
    process.handle(Turn())
    assert in_thread(lambda: process.component.ack(second)) is None
    process.handle(Turn())
    assert values_of(process) == [["second", 2]]
    process.begin(epoch=2, checkpoint=1)
    process.handle(Turn())
    assert [tup.values for tup in process.component.got] == [[2], [3]]
    assert [tup.value for tup in process.component.got] == [2, 3]
    for tup in process.component.got:
        process.component.emit(["again", tup.value], anchors=[tup])
        process.component.ack(tup)
    assert values_of(process) == [["again", 2], ["again", 3]]
    assert process.core.bolt.unfinished() == []


def test_a_thread_s_ack_beside_a_restore_waits_behind_its_report() -> None:
    """The call waits until all instances are restored, and this instance is one of them."""
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    process.core.driver.outbox.room = 0  # as that of an instance which begins slowly
    told: list[Any] = []

    def release() -> None:
        told.extend(process.core.take_reports())
        process.core.handle(ControlReceived(plan_of(2, 0, INCARNATION)), process.now)

    process.admitted = release
    (tup,) = process.component.got
    component = process.component
    process.core.handle(ControlReceived(plan_of(2)), process.now)
    assert in_thread(lambda: component.emit(["late", 1], anchors=[tup])) is None
    assert in_thread(lambda: component.ack(tup)) is None
    process.handle(Turn())
    assert told == [messages.Restored(ME, INCARNATION, 2)]
    assert (FrameKind.DATA, 2) not in process.take_sent()


def test_a_bolt_that_forgets_to_ack_is_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later_acks, "MANY", 3)
    process = Process(Pooled)
    process.begin(epoch=1)
    told = "tuples are neither acked nor failed"
    for value, times in ((1, 0), (2, 0), (3, 1), (4, 1)):
        process.receive(batch([value], epoch=1))
        assert len([line for line in process.lines if told in line]) == times


def test_what_a_bolt_raises_that_works_in_threads_is_undone_by_the_topology_alone() -> None:
    for bolt, kind in ((Pooled, attempts.Kind.RESTORE), (Careless, attempts.Kind.ROLL_BACK)):
        assert kind_of(Process(bolt).core.instance.adapter, keys.MEMORY) is kind


class PoolOfBatches(BatchBolt):
    acks_later = True
    auto_ack = False

    def initialize(self, config: Any, context: Any) -> None:
        self.rows: list[int] = []

    def process_batch(self, batch: Any) -> None:
        self.rows.append(batch.num_rows)
        raise ValueError("no batch is good enough")


def test_the_rows_of_a_batch_that_may_be_in_threads_are_not_tried_again() -> None:
    process = Process(PoolOfBatches)
    process.begin(epoch=1)
    process.receive(batch([1], [2], [3], epoch=1))
    assert process.component.rows == [3]


def test_a_run_ends_when_the_pool_is_done() -> None:
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    assert not process.core.driver.counts()[2]
    assert in_thread(lambda: process.component.ack(process.component.got[0])) is None
    assert not process.core.driver.counts()[2]
    process.handle(Turn())
    process.core.driver.flush()
    assert process.core.driver.counts()[2]


def test_what_a_pool_acks_and_fails_is_counted() -> None:
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], [2], [3], epoch=1))
    first, second, third = process.component.got
    process.component.ack(first)
    process.component.fail(second)
    process.component.ack(third)
    process.component.ack(third)
    process.core.driver.flush()
    statistics = process.core.driver.statistics()
    assert (statistics.acked, statistics.failed, statistics.late) == (2, 1, 1)


def test_what_is_emitted_for_a_settled_tuple_is_sent_as_soon_as_it_is_as_large_as_a_message() -> (
    None
):
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    (taken,) = process.component.got
    for _ in range(2):
        process.component.emit(["x" * 5_000_000, 1], anchors=[taken])
    assert not any(each[0][2] == FrameKind.DATA for each in process.sent)
    process.component.ack(taken)
    assert any(each[0][2] == FrameKind.DATA for each in process.sent)


def test_a_batch_is_processed_as_a_whole_or_again_as_a_whole() -> None:
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], [2], epoch=1))
    one, two = process.component.got
    process.component.emit(["sum", 3], anchors=[one, two])
    process.component.ack(one)
    process.receive(barrier(1))
    process.component.ack(two)
    assert values_of(process) == [["sum", 3]]
    process.begin(epoch=2, checkpoint=1)
    process.handle(Turn())
    assert [tup.value for tup in process.component.got] == [1, 2]


def test_a_thread_that_says_not_of_which_tuple_an_emit_came_is_told() -> None:
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    raised = in_thread(lambda: process.component.emit(["x", 1]))
    assert isinstance(raised, ComponentError)
    assert "needs anchors=[tup]" in str(raised)


def test_a_thread_of_a_bolt_that_does_not_say_so_is_refused_where_checkpoints_are_taken() -> None:
    process = Process(Careless)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    raised = in_thread(lambda: process.component.emit(["x", 1]))
    assert "set acks_later = True in the class" in str(raised)
    with pytest.raises(TopologyStopped, match="acks_later = True"):
        process.handle(Turn())


def test_a_spout_that_keeps_state_emits_in_its_main_thread_only() -> None:
    process = Process(Positions)
    process.begin(epoch=1)
    raised = in_thread(lambda: process.component.emit(["x", 1]))
    assert "let the thread fill a queue.Queue" in str(raised)
    with pytest.raises(TopologyStopped, match="emit in next_tuple"):
        process.handle(Turn())


class Positions(Spout, StatefulComponent):
    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def next_tuple(self) -> None:
        pass


def test_acks_of_a_thread_come_behind_its_emits_at_least_once() -> None:
    """Otherwise a tree would be complete before it has grown, and a lost tuple would be acked."""
    soon: list[Callable[[], None]] = []
    made = make(Careless, reads(SHUFFLE), call_soon=soon.append)
    collector = made.core.collector
    made.core.deliver(batch([1], roots=[(17, 5)]))
    (tup,) = made.component.got
    with ThreadPoolExecutor(1) as pool:
        pool.submit(made.component.emit, ["late", 1], anchors=[tup]).result()
        pool.submit(made.component.ack, tup).result()
    assert len(soon) == 1
    assert not collector.threads_are_idle
    made.core.flush()
    assert collector.threads_are_idle
    assert [values for _, values in made.emitted()] == [["late", 1]]
    (ids,) = [each.ids for each in made.batches()]
    root, value = made.words_of(FrameKind.ACK)
    assert (root, value) == (17, 5 ^ ids[1])


def test_a_thread_fails_a_tuple() -> None:
    soon: list[Callable[[], None]] = []
    made = make(Careless, reads(SHUFFLE), call_soon=soon.append)
    made.core.deliver(batch([1], roots=[(17, 5)]))
    assert in_thread(lambda: made.component.fail(made.component.got[0])) is None
    assert made.words_of(FrameKind.FAIL) == []
    soon[0]()
    made.core.flush()
    assert made.words_of(FrameKind.FAIL) == [17]


def test_values_are_checked_in_the_thread_that_emits_them() -> None:
    made = make(Careless, reads(SHUFFLE))
    raised = in_thread(lambda: made.component.emit(["too", "many", "values"]))
    assert isinstance(raised, RuntimeError)
    assert "emitted 3 values" in str(raised)


def test_a_pool_whose_bolt_declares_no_outputs_drops_each_tuple_once_over_a_restore() -> None:
    process = Process(Pooled, declares=False)
    process.begin(epoch=1)
    process.receive(batch([1], [2], epoch=1))

    def work(*tuples: Any) -> None:
        for tup in tuples:
            process.component.emit(["dropped"], anchors=[tup])

    first, second = process.component.got
    assert in_thread(lambda: work(first, second)) is None
    process.handle(Turn())
    assert process.core.driver.metrics.undeclared == 0
    process.component.ack(first)
    assert process.core.driver.metrics.undeclared == 1
    process.receive(barrier(1))
    process.handle(Turn())
    process.begin(epoch=2, checkpoint=1)
    process.handle(Turn())
    (again,) = process.component.got
    assert process.core.driver.metrics.undeclared == 1
    work(again)
    process.component.ack(again)
    assert process.core.driver.metrics.undeclared == 2


def test_a_thread_that_names_no_tuple_drops_what_it_emits_at_once() -> None:
    process = Process(Pooled, declares=False)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    assert in_thread(lambda: process.component.emit(["dropped"])) is None
    process.handle(Turn())
    assert process.core.driver.metrics.undeclared == 1
