"""Methods of users that yield, return, or are coroutines, where that is no bolt's coroutine."""

import asyncio
import inspect
from typing import Any

from heron_api.emission import Emission
from heron_core.wire.frames import FrameKind
from heron_instance.input.spout import SpoutDriver
from heronpy_compat import Bolt, Spout
from tests.unit.heron_instance.instance_support import SHUFFLE, Made, batch, make, reads


class Splits(Bolt):
    def process(self, tup: Any) -> Any:
        for each in range(tup.value):
            yield ["item", each]
        if tup.value == 3:
            self.fail(tup)


class Returns(Bolt):
    def process(self, tup: Any) -> Any:
        if tup.value == 1:
            return self.emit(["one", 1])
        return tup.value == 2 or f"value {tup.value}"


def values_of(made: Made) -> list[Any]:
    return [values for _, values in made.emitted()]


def test_the_yields_of_a_generator_are_emits_of_its_tuple_which_is_acked_at_the_end() -> None:
    made = make(Splits, reads(SHUFFLE))
    made.core.deliver(batch([2], roots=[(17, 5)]))
    assert sorted(values_of(made)) == [["item", 0], ["item", 1]]
    edges = [edge for sent in made.batches() for edge in sent.ids[1::2]]
    assert made.words_of(FrameKind.ACK) == [17, 5 ^ edges[0] ^ edges[1]]


def test_a_generator_that_has_failed_its_tuple_does_not_ack_it() -> None:
    made = make(Splits, reads(SHUFFLE))
    made.core.deliver(batch([3], roots=[(17, 5)]))
    made.core.flush()
    assert (made.words_of(FrameKind.FAIL), made.words_of(FrameKind.ACK)) == ([17], [])
    assert made.core.outbox.late == 0


def test_what_process_returns_is_an_error_that_names_its_line_and_a_bool_is_none() -> None:
    made = make(Returns, reads(SHUFFLE))
    made.core.deliver(batch([1], [2], [3], roots=[(16, 1), (17, 5), (18, 6)]))
    made.core.flush()
    assert values_of(made) == [["one", 1]]
    assert made.words_of(FrameKind.FAIL) == [18]
    (error,) = made.errors
    line = inspect.getsourcelines(Returns.process)[1] + 3
    assert f"test_shapes.py:{line}: process returns str 'value 3', which the engine" in error


class Counts(Spout):
    def next_tuple(self) -> Any:
        for each in range(3):
            yield Emission(["n", each], tup_id=each)
        self.finish()


def spout_of(kind: type) -> tuple[Made, SpoutDriver]:
    made = make(kind, reads(SHUFFLE))
    driver = made.core
    assert isinstance(driver, SpoutDriver)
    driver.set_active(True)
    return made, driver


def test_a_spout_that_yields_emits_one_tuple_at_a_time() -> None:
    made, driver = spout_of(Counts)
    assert driver.call_once()
    assert values_of(made) == [["n", 0]]
    while not driver.finished:
        driver.call_once()
    assert sorted(values_of(made)) == [["n", 0], ["n", 1], ["n", 2]]
    assert sorted(driver.collector.pending.values()) == [0, 1, 2]


class Waits(Spout):
    async def initialize(self, config: Any, context: Any) -> None:
        self.come = asyncio.get_running_loop().create_future()
        self.acked: list[Any] = []

    def ack(self, tup_id: Any) -> None:
        self.acked.append(tup_id)

    async def next_tuple(self) -> None:
        value = await self.come
        self.come = asyncio.get_running_loop().create_future()
        self.emit(["came", value], tup_id=value)


class Streams(Waits):
    async def next_tuple(self) -> Any:
        for _ in range(2):
            value = await self.come
            self.come = asyncio.get_running_loop().create_future()
            yield Emission(["came", value], tup_id=value)


def test_a_spout_that_awaits_holds_up_no_call() -> None:
    for kind in (Waits, Streams):
        made, driver = spout_of(kind)
        for value in (1, 2, 3):
            assert not driver.call_once()
            made.component.come.set_result(value)
            while value not in driver.collector.pending.values():
                driver.call_once()
        assert sorted(values_of(made)) == [["came", 1], ["came", 2], ["came", 3]]
        assert driver.coroutines(may_send=True) is not None
        assert driver.coroutines(may_send=False) is None, "it might emit"
        made.instance.adapter.close()


def test_a_spout_that_emits_while_the_instance_waits_is_asked_again_at_once() -> None:
    """Each tuple took a whole pause of a spout without input, up to 10 ms."""
    made, driver = spout_of(Waits)
    assert not driver.turn(made.now + 1)
    made.component.come.set_result(1)
    made.component.acked.clear()
    coroutines = driver.coroutines(may_send=True)
    coroutines.wait(30.0, {})
    assert driver.turn(made.now + 1), "it has emitted since the last turn"
    assert values_of(made) == [["came", 1]]
    assert not driver.turn(made.now + 1)
    made.instance.adapter.close()
