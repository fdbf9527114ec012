"""An emit that is made later, since a thread or a coroutine has asked for it, is of the values that
they had then."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from heron_core.errors import ComponentError
from heron_instance.events import Turn
from heronpy_compat import Bolt, Spout
from tests.unit.heron_instance.checkpointed_support import Process
from tests.unit.heron_instance.instance_support import SHUFFLE, batch, make, reads
from tests.unit.heron_instance.test_columns import TYPED, sent
from tests.unit.heron_instance.test_later_acks import Pooled, in_thread, values_of


class Quiet(Bolt):
    def process(self, tup: Any) -> None:
        pass


class QuietSpout(Spout):
    def next_tuple(self) -> None:
        pass


def changing(emit: Callable[[Any], object]) -> Callable[[], None]:
    """Emits a tuple, and changes it."""

    def work() -> None:
        inner: list[Any] = [1, {"a": [2]}]
        values = ["x", inner]
        emit(values)
        inner[1]["a"].clear()
        inner.append(3)
        values[0] = "y"

    return work


@pytest.mark.parametrize("kind", [Quiet, QuietSpout])
def test_an_emit_of_a_thread_is_of_the_values_at_its_call(kind: type) -> None:
    soon: list[Callable[[], Any]] = []
    made = make(kind, reads(SHUFFLE), call_soon=soon.append)
    assert in_thread(changing(made.component.emit)) is None
    for call in soon:
        call()
    made.core.flush()
    assert [values for _, values in made.emitted()] == [["x", [1, {"a": [2]}]]]


def test_nor_does_it_change_until_its_tuple_is_acked() -> None:
    process = Process(Pooled)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    (tup,) = process.component.got

    def work() -> None:
        anchors = [tup]
        changing(lambda values: process.component.emit(values, anchors=anchors))()
        anchors.clear()
        process.component.ack(tup)

    assert in_thread(work) is None
    process.handle(Turn())
    assert values_of(process) == [["x", [1, {"a": [2]}]]]


@pytest.mark.parametrize("kind", [Quiet, QuietSpout])
def test_the_rows_of_a_thread_s_frame_are_those_at_its_call(kind: type) -> None:
    soon: list[Callable[[], Any]] = []
    made = make(kind, reads(SHUFFLE), outputs=[TYPED], tracked=False, call_soon=soon.append)

    def work() -> None:
        numbers, keys = np.array([1, 2]), ["a", "b"]
        made.component.emit_batch({"key": keys, "number": numbers})
        numbers[:] = 99
        keys.append("c")

    assert in_thread(work) is None
    for call in soon:
        call()
    assert sorted(values for _, values in sent(made)) == [["a", 1], ["b", 2]]


class FrameOfNumpy:
    """As user code fills one array again and again."""

    def __init__(self) -> None:
        self.numbers = np.array([1, 2])
        self.frame: Any = {"key": ["a", "b"], "number": self.numbers}

    def change(self) -> None:
        self.numbers[:] = 99


class FrameOfPandas(FrameOfNumpy):
    def __init__(self) -> None:
        super().__init__()
        self.frame = pd.DataFrame(self.frame, copy=False)


class SeriesOfPandas(FrameOfPandas):
    def __init__(self) -> None:
        super().__init__()
        self.frame = {name: self.frame[name] for name in self.frame}


@pytest.mark.parametrize("kind", [FrameOfNumpy, FrameOfPandas, SeriesOfPandas])
def test_rows_are_those_at_the_emit_though_their_arrays_are_filled_again(
    kind: type[FrameOfNumpy],
) -> None:
    made = make(Quiet, reads(SHUFFLE), outputs=[TYPED], tracked=False)
    given = kind()
    made.component.emit_batch(given.frame)
    given.change()
    assert sorted(values for _, values in sent(made)) == [["a", 1], ["b", 2]]


def test_a_value_that_cannot_be_copied_is_named_in_the_thread() -> None:
    made = make(Quiet, reads(SHUFFLE))
    raised = in_thread(lambda: made.component.emit(["x", threading.Lock()]))
    assert isinstance(raised, ComponentError)
    assert "field" in str(raised)
    assert "cannot be copied" in str(raised)
