"""A coroutine with state that raises after a change, in a topology with checkpoints: the restore
undoes the change, and a tuple that raises too often is not called again."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from heron_api.state.stateful_component import StatefulComponent
from heron_core.algorithms.retries import RetryPolicy
from heron_core.errors import ComponentError, TopologyStopped
from heron_core.wire import messages
from heron_core.wire.frames import FrameKind
from heron_instance.call_failures import CallFailures
from heron_instance.emit.dead_letters import LetterFault
from heron_instance.events import Turn
from heronpy_compat import Bolt
from tests.unit.heron_instance.checkpointed_support import ME, Process
from tests.unit.heron_instance.instance_support import Batch, batch
from tests.unit.heron_instance.test_saving_state import barrier

TURNS = 20
POISON = 13


class Total(Bolt, StatefulComponent):
    """Adds its tuples up, asks the outside, and passes the sum on."""

    is_away = False
    """The service asked."""

    def init_state(self, stateful_state: Any) -> None:
        self.state = stateful_state

    def initialize(self, config: Any, context: Any) -> None:
        self.total = self.state.get("total") or 0
        self.called: list[int] = []

    def pre_save(self, checkpoint_id: Any) -> None:
        self.state.put("total", self.total)

    async def process(self, tup: Any) -> None:
        self.called.append(tup.value)
        self.total += tup.value
        await asyncio.sleep(0)
        if tup.value == POISON or type(self).is_away:
            raise ConnectionError("away")
        self.emit(["total", self.total])


class Running(Process):
    """Turns, time and restores, as a topology would make them."""

    epoch = 1

    def settle(self) -> list[Any]:
        """Some rounds of the main loop; returns the messages to the master."""
        said: list[Any] = []
        for _ in range(TURNS):
            said += [each.message for each in self.handle(Turn()) if hasattr(each, "message")]
        return said

    def wants_restore(self, after_secs: float = 0.0) -> list[messages.RestoreWanted]:
        self.now += after_secs
        return [each for each in self.settle() if isinstance(each, messages.RestoreWanted)]

    def restore(self, checkpoint: int, *values: int) -> None:
        """Everything is restored; the source replays tuples not covered by a checkpoint."""
        self.epoch += 1
        self.begin(self.epoch, checkpoint)
        open_ones.append(self.core.instance)
        self.receive(batch(*([each] for each in values), epoch=self.epoch))
        self.settle()

    def sent_values(self) -> list[Any]:
        self.core.driver.flush()
        found = [
            Batch(each) for each in self.sent if each[0][2] in (FrameKind.DATA, FrameKind.FANOUT)
        ]
        self.sent.clear()
        return [values[1] for each in found for values in each.values]


open_ones: list[Any] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No event loop outlives its test."""
    open_ones.clear()
    Total.is_away = False
    yield
    for each in open_ones:
        each.adapter.close()


def running(**config: Any) -> Running:
    """At checkpoint 1, with a total of 1."""
    named = {f"topology.{name.replace('_', '.')}": value for name, value in config.items()}
    process = Running(Total, config=named)
    process.begin(1)
    open_ones.append(process.core.instance)
    process.receive(batch([1], epoch=1))
    process.settle()
    process.receive(barrier(1))
    process.settle()
    process.hear(messages.CheckpointCompleted(1, 1))
    assert process.sent_values() == [1]
    return process


def test_what_a_coroutine_has_changed_before_it_raised_is_undone() -> None:
    process = running()
    process.component.__class__.is_away = True
    process.receive(batch([5], epoch=1))
    (wanted,) = process.wants_restore() or process.wants_restore(0.2)
    assert (wanted.task, "ConnectionError: away" in wanted.reason) == (ME, True)
    Total.is_away = False
    process.restore(1, 5)
    assert (process.component.total, process.sent_values()) == (6, [6])
    assert process.core.bolt.collector.failed == 0


def test_calls_beside_one_that_raised_are_made_again_with_it() -> None:
    process = running(bolt_retries=0)
    process.receive(batch([5], [POISON], [7], epoch=1))
    process.wants_restore(0.2)
    process.restore(1, 5, POISON, 7)
    assert process.component.called == [5, 7]
    assert (process.component.total, process.sent_values()) == (13, [13, 13])


def test_a_tuple_that_raises_too_often_is_abandoned_without_a_change() -> None:
    process = running(bolt_retries=1)
    for paused in (0.2, 0.2):
        process.receive(batch([POISON], epoch=process.epoch))
        assert len(process.wants_restore() or process.wants_restore(paused)) == 1
        process.restore(1)
    process.receive(batch([POISON], [2], epoch=process.epoch))
    assert process.wants_restore(1.0) == []
    assert (process.component.called, process.component.total) == ([2], 3)
    assert process.core.bolt.collector.failed_for_good == 1
    process.restore(1, POISON, 2)
    assert process.component.called == [2], "it comes again until a checkpoint covers it"
    assert process.core.bolt.collector.failed_for_good == 1


def test_stop_and_exit_end_it_as_they_end_a_function() -> None:
    stopped = running(bolt_retries=0, bolt_on_exception="stop")
    stopped.receive(batch([POISON], epoch=1))
    with pytest.raises(TopologyStopped, match=r"topology\.bolt\.on\.exception is stop"):
        stopped.settle()
    ended = running(bolt_on_exception="exit")
    ended.receive(batch([POISON], epoch=1))
    with pytest.raises(ComponentError, match="ConnectionError"):
        ended.settle()


FAULT = LetterFault("ValueError: 13")


def test_an_abandoned_call_is_remembered_until_a_checkpoint_is_sure_to_cover_it() -> None:
    failures = CallFailures(RetryPolicy(0, 1.0))
    assert failures.failures_of(7) == 1
    assert failures.pause_secs(7, FAULT) is None
    assert failures.skipped(7) is None, "another tuple with these values is called"
    for _ in range(2):
        failures.note_restore()
        assert (failures.skipped(7), failures.skipped(7)) == (FAULT, None)
    failures.checkpoint_completed()  # it may have begun before
    failures.note_restore()
    assert failures.skipped(7) == FAULT
    failures.checkpoint_completed()
    failures.note_restore()
    assert failures.skipped(7) is None
    assert not failures.has_any


def test_tries_have_pauses_that_grow_and_begin_again_after_a_success() -> None:
    failures = CallFailures(RetryPolicy(2, 1.0))

    def pause() -> float | None:
        return failures.pause_secs(7, LetterFault("away", attempt=failures.failures_of(7)))

    assert [pause(), pause()] == [1.0, 2.0]
    failures.succeeded(7)
    assert [pause(), pause(), pause()] == [1.0, 2.0, None]
