"""A bolt whose `process` is a coroutine: capacity, order, retries, acks, restores, watermarks."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from heron_api.emission import Emission
from heron_api.state.keyed_state import value_state
from heron_api.state.stateful_component import StatefulComponent
from heron_core import config as keys
from heron_core.errors import ComponentError
from heron_core.state.saved_input import decode_input
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind
from heron_core.wire.packets import encode_watermark
from heron_instance.events import Turn
from heron_instance.runtime.factory import ReadyInstance
from heronpy_compat import Bolt
from tests.unit.heron_instance.checkpointed_support import Process
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Batch,
    Made,
    batch,
    make,
    reads,
)
from tests.unit.heron_instance.test_saving_state import barrier

TURNS = 50
"""So many rounds of the loop are enough for what is to end by itself."""


class Calls(Bolt):
    """Each call ends when a test lets it."""

    async def initialize(self, config: Any, context: Any) -> None:
        self.open: dict[int, asyncio.Future[None]] = {}
        self.most = 0

    async def process(self, tup: Any) -> None:
        self.open[tup.value] = asyncio.get_running_loop().create_future()
        self.most = max(self.most, len(self.open))
        try:
            await self.open[tup.value]
        finally:
            del self.open[tup.value]
        self.emit(["answer", tup.value])


class Stateful(Calls, StatefulComponent):
    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state


class Keyed(Calls):
    seen = value_state(default=0)


open_ones: list[ReadyInstance] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No event loop outlives its test."""
    open_ones.clear()
    yield
    for each in open_ones:
        each.adapter.close()


def opened(kind: type, *arguments: Any, **named: Any) -> Made:
    made = make(kind, *arguments, **named)
    open_ones.append(made.instance)
    return made


def opened_process(kind: type, **named: Any) -> Process:
    process = Process(kind, **named)
    open_ones.append(process.core.instance)
    return process


def work(core: Any) -> None:
    """Some rounds of the main loop without input."""
    for _ in range(TURNS):
        core.work_on(100.0)


def answer(component: Any, *values: int) -> None:
    for value in values:
        component.open[value].set_result(None)


def answers(made: Made) -> list[Any]:
    """What was emitted since the last time."""
    found = [values[1] for _, values in made.emitted()]
    made.sent.clear()
    return found


def test_a_call_lasts_from_its_beginning_to_its_answer() -> None:
    made = opened(Calls, reads(SHUFFLE))
    made.core.deliver(batch([1], [2], roots=[(17, 5), (18, 6)]))
    work(made.core)
    for value, secs in ((1, 2.0), (2, 3.0)):
        made.now = 100.0 + secs
        answer(made.component, value)
        for _ in range(TURNS):
            made.core.work_on(made.now)
    assert made.core.metrics.execute.number == 2
    assert made.core.metrics.execute.total_secs == pytest.approx(5.0)


def test_a_state_that_was_saved_before_a_watermark_is_not_that_of_now() -> None:
    made = opened(Calls, reads(SHUFFLE))
    before = made.core.exchanged()
    made.core.deliver(encode_watermark(EPOCH, OTHER, SOURCE, 77))
    assert made.core.exchanged() != before


def test_no_more_than_the_capacity_are_called_at_a_time() -> None:
    made = opened(Calls, reads(SHUFFLE), tracked=False, config={"topology.async.capacity": 3})
    made.core.deliver(batch(*([each] for each in range(10))))
    work(made.core)
    assert sorted(made.component.open) == [0, 1, 2]
    assert (made.core.taken, made.core.begun) == (10, 3)
    answer(made.component, 0, 1)
    work(made.core)
    assert sorted(made.component.open) == [2, 3, 4]
    for each in range(2, 10):
        answer(made.component, each)
        work(made.core)
    assert sorted(answers(made)) == list(range(10))
    assert made.component.most == 3
    assert made.core.counts()[2]


@pytest.mark.parametrize("ordered", [True, False])
def test_a_thousand_calls_take_ten_times_as_long_as_one(ordered: bool) -> None:
    """With a capacity of 100: so 1,000 calls of 100 ms take a second. All of the capacity is under
    way until the last ones, and each round of answers lets as many begin."""
    config = {"topology.async.capacity": 100, "topology.async.ordered": ordered}
    made = opened(Calls, reads(SHUFFLE), tracked=False, config=config)
    made.core.deliver(batch(*([each] for each in range(1000))))
    rounds, found = 0, []
    work(made.core)
    while made.component.open:
        rounds += 1
        assert len(made.component.open) == 100
        answer(made.component, *made.component.open)
        work(made.core)
        found += answers(made)
    assert (rounds, sorted(found)) == (10, list(range(1000)))
    assert made.core.counts()[2]


@pytest.mark.parametrize(("ordered", "expected"), [(True, []), (False, [2, 1])])
def test_answers_leave_in_the_order_of_the_calls_unless_told_otherwise(
    ordered: bool, expected: list[int]
) -> None:
    made = opened(Calls, reads(SHUFFLE), tracked=False, config={"topology.async.ordered": ordered})
    made.core.deliver(batch([0], [1], [2]))
    work(made.core)
    for each in (2, 1):
        answer(made.component, each)
        work(made.core)
    assert answers(made) == expected
    answer(made.component, 0)
    work(made.core)
    assert answers(made) == ([0] if expected else [0, 1, 2])


def test_a_tuple_is_acked_when_its_coroutine_ends_and_anchors_what_it_emitted() -> None:
    made = opened(Calls, reads(SHUFFLE))
    made.core.deliver(batch([7], roots=[(17, 5)]))
    work(made.core)
    made.core.flush()
    assert made.words_of(FrameKind.ACK) == []
    answer(made.component, 7)
    work(made.core)
    assert [values for _, values in made.emitted()] == [["answer", 7]]
    (sent,) = made.batches()
    assert made.words_of(FrameKind.ACK) == [17, 5 ^ sent.ids[1]]
    assert sent.ids[0] == 17


def test_a_tuple_fails_when_its_coroutine_raises() -> None:
    made = opened(Calls, reads(SHUFFLE))
    made.core.deliver(batch([7], [8], roots=[(17, 5), (18, 6)]))
    work(made.core)
    made.component.open[7].set_exception(ConnectionError("away"))
    answer(made.component, 8)
    work(made.core)
    made.core.flush()
    assert made.words_of(FrameKind.FAIL) == [17]
    assert any("ConnectionError: away" in each for each in made.errors)
    assert answers(made) == [8]


def test_a_call_that_takes_too_long_is_cancelled_and_the_key_is_named() -> None:
    made = opened(Calls, reads(SHUFFLE), config={"topology.async.timeout.ms": 1})
    made.core.deliver(batch([7], roots=[(17, 5)]))
    while not made.core.collector.failed:
        made.core.work_on(100.0)
        made.instance.adapter.coroutines.wait(1.0, {})
    made.core.flush()
    assert made.words_of(FrameKind.FAIL) == [17]
    assert any("topology.async.timeout.ms" in each for each in made.errors)


class Failing(Calls):
    async def process(self, tup: Any) -> None:
        self.emit(["for nothing", tup.value])
        await asyncio.sleep(0)
        self.fail(tup)


def test_a_coroutine_fails_its_tuple() -> None:
    made = opened(Failing, reads(SHUFFLE))
    made.core.deliver(batch([7], roots=[(17, 5)]))
    work(made.core)
    made.core.flush()
    assert (answers(made), made.core.collector.failed) == ([], 1)


class Several(Bolt):
    async def process(self, tup: Any) -> Any:
        """Tasks started by the call, and a thread, emit for the call's tuple."""
        async with asyncio.TaskGroup() as group:
            for each in range(3):
                group.create_task(self.one(tup.value + each))
        await asyncio.to_thread(self.emit, ["thread", tup.value])

    async def one(self, value: int) -> None:
        await asyncio.sleep(0)
        self.emit(["task", value])


def test_tasks_and_threads_of_a_coroutine_emit_for_its_tuple() -> None:
    made = opened(Several, reads(SHUFFLE))
    made.core.deliver(batch([10], roots=[(17, 5)]))
    while not made.core.component_is_idle:
        made.core.work_on(100.0)
        made.instance.adapter.coroutines.wait(1.0, {})
    found = [values for _, values in made.emitted()]
    assert found == [["task", 10], ["task", 11], ["task", 12], ["thread", 10]]
    edges = 0
    for sent in made.batches():
        assert set(sent.ids[::2]) == {17}
        for edge in sent.ids[1::2]:
            edges ^= edge
    assert made.words_of(FrameKind.ACK) == [17, 5 ^ edges]


class Yielding(Bolt):
    async def process(self, tup: Any) -> Any:
        for each in range(tup.value):
            await asyncio.sleep(0)
            yield ["item", each]
        yield Emission(["last", 0])


def test_the_yields_of_an_async_generator_are_emits() -> None:
    made = opened(Yielding, reads(SHUFFLE), tracked=False)
    made.core.deliver(batch([2]))
    work(made.core)
    assert [values for _, values in made.emitted()] == [["item", 0], ["item", 1], ["last", 0]]


def sent_by(process: Process) -> list[Any]:
    process.core.driver.flush()
    found = [
        Batch(each) for each in process.sent if each[0][2] in (FrameKind.DATA, FrameKind.FANOUT)
    ]
    process.sent.clear()
    return [values[1] for each in found for values in each.values]


def settle(process: Process) -> None:
    for _ in range(TURNS):
        process.handle(Turn())


def test_what_is_in_flight_at_a_barrier_is_called_again_after_a_restore() -> None:
    process = opened_process(Calls, config={"topology.async.capacity": 2})
    process.begin(epoch=1)
    process.receive(batch([1], [2], [3], epoch=1))
    settle(process)
    answer(process.component, 1)
    settle(process)
    process.receive(barrier(1))
    assert sent_by(process) == [1]
    answer(process.component, 2)
    settle(process)
    assert sent_by(process) == [2]
    process.begin(epoch=2, checkpoint=1)
    open_ones.append(process.core.instance)
    settle(process)
    assert sorted(process.component.open) == [2, 3]
    answer(process.component, 2, 3)
    settle(process)
    assert sent_by(process) == [2, 3]
    assert process.core.driver.counts()[2]


def test_a_coroutine_that_raises_is_tried_again_where_checkpoints_are_taken() -> None:
    process = opened_process(Calls, config={"topology.bolt.retry.backoff.ms": 1})
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    for _ in range(3):
        settle(process)
        process.component.open[1].set_exception(ConnectionError("away"))
        while 1 in process.component.open:
            process.handle(Turn())
        while 1 not in process.component.open:
            process.handle(Turn())
    answer(process.component, 1)
    settle(process)
    assert sent_by(process) == [1]
    assert process.core.bolt.collector.failed == 0


class EmitsFirst(Calls):
    """Emits, and waits for what may raise then."""

    async def process(self, tup: Any) -> None:
        self.emit(["answer", tup.value + 10])
        await super().process(tup)


def test_what_a_call_that_raises_has_emitted_counts_for_nothing() -> None:
    process = opened_process(EmitsFirst, config={"topology.bolt.retry.backoff.ms": 1})
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    settle(process)
    process.component.open[1].set_exception(ConnectionError("away"))
    while 1 in process.component.open:
        process.handle(Turn())
    while 1 not in process.component.open:
        process.handle(Turn())
    answer(process.component, 1)
    settle(process)
    assert sent_by(process) == [11, 1]


def test_a_call_that_raises_and_is_tried_again_drops_no_tuple_twice() -> None:
    config = {"topology.bolt.retry.backoff.ms": 1}
    process = opened_process(EmitsFirst, config=config, declares=False)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    settle(process)
    process.component.open[1].set_exception(ConnectionError("away"))
    while 1 in process.component.open:
        process.handle(Turn())
    while 1 not in process.component.open:
        process.handle(Turn())
    assert process.core.driver.metrics.undeclared == 0
    answer(process.component, 1)
    settle(process)
    assert process.core.driver.metrics.undeclared == 2
    assert "emits, but declares no outputs" in str(process.core.driver.metrics.last_error)


def test_what_a_call_in_flight_at_a_barrier_has_dropped_counts_once_after_a_restore() -> None:
    process = opened_process(EmitsFirst, declares=False)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    settle(process)
    process.receive(barrier(1))
    settle(process)
    process.begin(epoch=2, checkpoint=1)
    open_ones.append(process.core.instance)
    settle(process)
    answer(process.component, 1)
    settle(process)
    assert process.core.driver.metrics.undeclared == 2


def test_one_that_always_raises_is_abandoned_and_counted() -> None:
    config = {"topology.bolt.retry.backoff.ms": 1, "topology.bolt.retries": 1}
    process = opened_process(Calls, config=config)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    while not process.core.bolt.collector.failed_for_good:
        process.handle(Turn())
        if 1 in process.component.open and not process.component.open[1].done():
            process.component.open[1].set_exception(ConnectionError("away"))
    assert sent_by(process) == []
    assert process.core.driver.counts()[2]


def test_one_that_keeps_state_finishes_its_calls_before_a_checkpoint() -> None:
    process = opened_process(Stateful)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    process.receive(barrier(1))
    settle(process)
    assert 1 not in process.states
    answer(process.component, 1)
    settle(process)
    assert sent_by(process) == [1]
    assert 1 in process.states


def test_keyed_states_are_refused_for_they_would_be_another_tuples() -> None:
    with pytest.raises(ComponentError, match="keep the states in the bolt before or behind it"):
        opened(Keyed, reads(SHUFFLE))


def test_a_watermark_waits_for_the_calls_before_it() -> None:
    made = opened(Calls, reads(SHUFFLE), tracked=False)
    made.core.deliver(batch([1]))
    work(made.core)
    made.core.deliver(encode_watermark(3, 6, 1, 5000))
    made.core.flush()
    assert not [each for each in made.sent if each[0][2] == FrameKind.WATERMARK]
    answer(made.component, 1)
    work(made.core)
    made.core.flush()
    kinds = [FrameKind(each[0][2]) for each in made.sent]
    assert kinds[-2:] == [FrameKind.DATA, FrameKind.WATERMARK]


class Returning(Bolt):
    async def process(self, tup: Any) -> Any:
        return [tup.value]


def test_what_a_coroutine_returns_is_an_error_that_names_its_line() -> None:
    made = opened(Returning, reads(SHUFFLE))
    made.core.deliver(batch([1], roots=[(17, 5)]))
    work(made.core)
    made.core.flush()
    assert made.words_of(FrameKind.FAIL) == [17]
    (error,) = made.errors
    assert "test_coroutine_bolts.py" in error
    assert "process returns list [1]" in error


def test_a_barrier_overtakes_input_but_no_call_of_a_bolt_that_keeps_state() -> None:
    """Half of a call's changes would be in the state: running calls end first."""
    process = opened_process(Stateful, config={keys.ALIGNED_TIMEOUT_MS: 0})
    process.begin(epoch=1)
    process.receive(batch([1], [2], epoch=1))
    process.handle(Turn())
    process.hear(messages.Pause(on=True))
    process.receive(batch([3], [4], epoch=1), barrier(7))
    process.hear(messages.OvertakeInput(7, 1))
    assert sorted(process.component.open) == [1, 2]
    assert process.states == {}
    answer(process.component, 1, 2)
    for _ in range(TURNS):
        process.handle(Turn())
    assert decode_input(process.states[7])[1].tuples == 2
    *before, last = [kind for kind, _ in process.take_sent()]
    assert (set(before), last) == ({FrameKind.DATA}, FrameKind.BARRIER), (
        "the answers are part of it"
    )
    process.begin(epoch=2, checkpoint=7)
    open_ones.append(process.core.instance)
    process.hear(messages.Pause(on=False))
    for _ in range(TURNS):
        process.handle(Turn())
    assert sorted(process.component.open) == [3, 4]


class Changing(Bolt):
    async def process(self, tup: Any) -> None:
        idents = [tup.value]
        self.emit(["changed", idents])
        await asyncio.sleep(0)
        idents.clear()


def test_what_is_changed_after_its_emit_is_sent_as_it_was() -> None:
    made = opened(Changing, reads(SHUFFLE))
    made.core.deliver(batch([1], roots=[(17, 5)]))
    work(made.core)
    assert [values for _, values in made.emitted()] == [["changed", [1]]]
