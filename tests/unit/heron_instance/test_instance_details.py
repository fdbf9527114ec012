"""Details of an instance with dependents: counts, reports, last messages and results."""

import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest

from heron_core import config as keys
from heron_core.dead_letters import ERRORS, STREAM
from heron_core.errors import ComponentError, ProtocolError
from heron_core.topology import GroupingKind, StreamSpec
from heron_core.wire.packets import encode_watermark
from heron_instance.attempts import Kind, kind_of
from heron_instance.blocked_time import BlockedTime
from heron_instance.coroutine_calls import CURRENT
from heron_instance.emit.output_buffers import Outbox
from heron_instance.input.bolt import BoltDriver
from heron_instance.runtime.bindings import DriverCalls
from heron_instance.runtime.letters import abandon_rows
from heronpy_compat import Bolt, Spout, Topology
from heronpy_compat.testing import TopologyTester
from tests.unit.heron_instance.attempts_support import Asking, Cluster
from tests.unit.heron_instance.checkpointed_support import Process
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Comfortable,
    Middle,
    Source,
    batch,
    grouped,
    make,
    reads,
)
from tests.unit.heron_instance.test_columns import FED, columns_message
from tests.unit.heron_instance.test_coroutine_bolts import Calls, opened, work
from tests.unit.heron_instance.test_coroutine_bolts import closed as closed
from tests.unit.heron_instance.test_later_acks import Pooled
from tests.unit.heron_instance.test_retargeting import fewer


def test_a_spout_at_its_pending_limit_has_done_nothing_in_its_turn() -> None:
    """Otherwise its instance would call again and again, and never wait for an ack."""
    made = make(Source, reads(SHUFFLE), config={keys.MAX_SPOUT_PENDING: 2})
    made.component.script = lambda: made.component.emit([1, 2], tup_id=1)
    assert made.core.turn(made.now + 1)
    assert not made.core.turn(made.now + 1)


def test_of_many_errors_in_a_second_the_log_says_that_there_are_more() -> None:
    made = make(Comfortable)
    made.component.script = lambda tup: 1 / 0
    made.core.deliver(batch(*[["x"]] * 100))
    assert made.errors[-1].endswith("again; more in this second are counted, not logged")
    assert len([line for line in made.errors if "more in this second" in line]) == 1


def test_what_a_bolt_has_emitted_before_it_ends_by_an_exception_is_sent() -> None:
    made = make(Comfortable, reads(SHUFFLE), config={keys.BOLT_ON_EXCEPTION: "exit"})

    def process(tup: Any) -> None:
        if tup.values[0] == "bad":
            raise ValueError("half a value")
        made.component.emit([tup.values[0], 1])

    made.component.script = process
    with pytest.raises(ComponentError, match="half a value"):
        made.core.deliver(batch(["good"], ["bad"], roots=[(17, 5), (18, 6)]))
    assert [values for each in made.batches() for _, values in each.deliveries()] == [["good", 1]]


class Listening(Middle):
    def on_watermark(self, watermark_ms: int) -> None:
        self.received.append(watermark_ms)


def test_a_watermark_that_does_not_advance_is_not_told_again() -> None:
    made = make(Listening)
    for watermark_ms in (70, 70, 60, 80):
        made.core.deliver(encode_watermark(EPOCH, OTHER, SOURCE, watermark_ms))
    assert made.component.received == [70, 80]


def test_tuples_that_are_neither_acked_nor_failed_at_the_end_have_failed() -> None:
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], [2], epoch=1))
    driver = process.core.driver
    assert isinstance(driver, BoltDriver)
    driver.finish()
    statistics = driver.statistics()
    assert (statistics.failed, statistics.failed_for_good) == (2, 2)


def test_an_ack_outside_of_a_coroutine_is_late() -> None:
    made = opened(Calls, reads(SHUFFLE))
    made.core.deliver(batch([1], roots=[(17, 5)]))
    work(made.core)
    assert CURRENT.get() is None
    made.component.ack(None)
    assert made.core.statistics().late == 1


class Forgetful(Bolt):
    """Starts a task without awaiting the end."""

    async def initialize(self, config: Any, context: Any) -> None:
        self.refused: list[str] = []

    async def process(self, tup: Any) -> None:
        self.attempt = CURRENT.get()


def test_an_emit_after_the_end_of_its_tuples_coroutine_is_refused() -> None:
    made = opened(Forgetful, reads(SHUFFLE))
    made.core.deliver(batch([1], roots=[(17, 5)]))
    work(made.core)
    token = CURRENT.set(made.component.attempt)
    try:
        with pytest.raises(ComponentError, match="an emit after the end of its tuple's process"):
            made.component.emit(["task", 1])
    finally:
        CURRENT.reset(token)


class Raising(Bolt):
    async def process(self, tup: Any) -> None:
        raise ValueError("half a value")


def test_the_letter_of_a_coroutine_says_what_it_raised() -> None:
    outputs = (StreamSpec("default", ("a", "b")), STREAM)
    made = opened(Raising, reads(SHUFFLE, ERRORS), outputs=outputs, tracked=False)
    made.core.deliver(batch([1]))
    work(made.core)
    (letter,) = [values for _, values in made.emitted()]
    assert "ValueError: half a value" in letter


@pytest.mark.parametrize("has_reader", [True, False])
def test_rows_that_were_acked_are_letters_or_have_failed_for_good(has_reader: bool) -> None:
    readers = [reads(SHUFFLE, ERRORS)] if has_reader else []
    outputs = (StreamSpec("default", ("a", "b")), STREAM)
    made = make(Middle, *readers, outputs=outputs)
    abandon_rows(made.core.collector, ["value"], [(["x"], "it is locked"), (["y"], "it is")])
    statistics = made.core.statistics()
    assert statistics.failed == 2
    assert statistics.failed_for_good == (0 if has_reader else 2)
    assert len(made.emitted()) == (2 if has_reader else 0)


class Numbering:
    """A serializer that forgets to encode."""

    def initialize(self, config: Any) -> None:
        pass

    def serialize(self, obj: Any) -> Any:
        return obj

    def deserialize(self, input_str: bytes) -> Any:
        return input_str


def test_a_serializer_that_returns_no_bytes_is_named() -> None:
    path = f"{__name__}.Numbering"
    made = make(Source, reads(SHUFFLE), config={keys.SERIALIZER_CLASSNAME: path})
    with pytest.raises(ComponentError, match=r"Numbering\.serialize must return bytes"):
        made.component.emit([1, 2])


def test_columns_of_a_stream_without_types_are_malformed() -> None:
    made = make(Middle)
    with pytest.raises(ProtocolError, match=r"columns of other.default, which declares no types"):
        made.core.deliver(columns_message(range(3)))
    assert FED.types, "the same message is sound where there are types"


def test_a_known_key_is_not_hashed_again_and_not_all_keys_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from heron_instance.emit import routing

    monkeypatch.setattr(routing, "KEYS_REMEMBERED_MAX", 3)
    buffers: list[Any] = ["one", "two"]
    keyed: Any = routing.KeyedBuffers(False, "tested.default")
    keyed.aim(buffers)
    sizes = []
    for key in ("a", "b", "c", "a", "d"):
        assert keyed[key] in ("one", "two")
        sizes.append(len(keyed))
    assert sizes == [1, 2, 3, 3, 1]


def test_a_buffer_to_a_task_that_is_gone_goes_as_well() -> None:
    made = make(Source, reads(grouped(GroupingKind.SHUFFLE)))
    for number in range(4):
        made.component.emit([number, number], tup_id=number)
    made.core.flush()
    made.instance.repack(fewer())
    assert {each.destination for each in made.core.outbox.buffers} == {2, 3}


class Asked(Bolt):
    def process(self, tup: Any) -> None:
        pass

    def is_idle(self) -> bool:
        return True


def test_a_bolt_that_says_when_it_is_idle_may_be_at_work_when_a_call_returns() -> None:
    """Its exceptions cannot be undone by its own process alone."""
    assert kind_of(Process(Asked).core.instance.adapter, keys.MEMORY) is Kind.RESTORE
    assert kind_of(Process(Middle).core.instance.adapter, keys.MEMORY) is Kind.ROLL_BACK


def test_the_clock_of_a_spout_that_has_finished_is_at_the_end_of_time() -> None:
    made = make(Source, reads(SHUFFLE))
    made.component.script = lambda: made.component.emit_watermark(70)
    made.core.turn(made.now + 1)
    before = made.core.statistics().clock
    made.core.finish()
    after = made.core.statistics().clock
    assert before is not None
    assert after is not None
    assert before["watermark_ms"] == 70
    assert after["watermark_ms"] > 70


def test_a_spout_that_is_opened_again_before_it_begins_has_not_finished() -> None:
    """`initialize` of the user's class may say so, and a message may come before its first turn."""
    calls = DriverCalls(logging.getLogger("tested"))
    calls.finish()
    calls.reopen()
    made = make(Source, reads(SHUFFLE))
    calls.attach(made.core)
    assert not made.core.finished


def test_a_hold_ends_once() -> None:
    """The outbox slow-starts after the hold, and not at each send."""
    made = make(Source, reads(SHUFFLE))
    hold = BlockedTime(lambda: made.now)
    held: list[float] = []
    outbox = cast(Outbox, SimpleNamespace(was_blocked=held.append))
    assert not hold.lasts(True, outbox)
    assert hold.lasts(False, outbox)
    made.now += 7.0
    assert hold.lasts(False, outbox)
    assert [hold.lasts(True, outbox) for _ in range(2)] == [False, False]
    assert held == [float("inf"), 7.0]


class Greeting(Asking):
    def initialize(self, config: Any, context: Any) -> None:
        super().initialize(config, context)
        self.emit(["hello", "y"])


def test_what_initialize_emits_is_sent_once_however_often_the_object_is_made_anew() -> None:
    bolt = Cluster(Greeting)
    bolt.world.refuses = lambda value, call: call % 3 == 0
    bolt.tuples(*range(5))
    assert bolt.of_now == ["hello", *range(5)]


def test_what_initialize_emits_is_not_sent_again_behind_a_restore() -> None:
    """The emit was before the checkpoint restored by its receivers as well."""
    bolt = Cluster(Greeting)
    bolt.tuples(1)
    bolt.checkpoint()
    bolt.restore()
    bolt.tuples(2)
    assert bolt.of_now == [2]


def test_a_message_that_is_run_in_pieces_counts_once() -> None:
    bolt = Cluster(Asking)
    bolt.world.refuses = lambda value, call: value in (3, 7)
    bolt.tuples(*range(10))
    assert list(bolt.core.driver.statistics().executed_by_input.values()) == [10]


@pytest.mark.parametrize("retries", [1, 3])
def test_a_tick_is_tried_as_often_as_the_topology_says(retries: int) -> None:
    bolt = Cluster(Asking, topology_tick_tuple_freq_secs=60, topology_bolt_retries=retries)
    bolt.step_secs = 0.05
    bolt.world.refuses = lambda value, call: value == "tick"
    bolt.now += 60.0
    while not bolt.settle():
        bolt.now += 60.0
    assert bolt.world.calls == retries + 2, "the first one has the topology go back"


class Marking(Spout):
    outputs = ("value",)

    def initialize(self, config: Any, context: Any) -> None:
        is_first = context.get_task_id() == min(context.get_component_tasks("marking"))
        self.marks = [10, 20, 30] if is_first else [10, 10, 30]

    def next_tuple(self) -> None:
        if self.marks:
            self.emit_watermark(self.marks.pop(0))
            self.emit([1])


class Hearing(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.heard: list[int] = []

    def process(self, tup: Any) -> None:
        pass

    def on_watermark(self, watermark_ms: int) -> None:
        self.heard.append(watermark_ms)


class Marks(Topology):
    marking = Marking.spec(par=2)
    hearing = Hearing.spec(inputs=[marking])


def test_a_watermark_is_told_when_the_lowest_of_the_sources_advances() -> None:
    with TopologyTester(Marks) as tester:
        for _ in range(3):
            tester.run_spouts(1)
            tester.advance(1)
        (hearing,) = tester.component("hearing")
        assert hearing.heard == [10, 30]
