"""Emits, acks and fails of other threads: in order, made by the main thread, never a deadlock."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from heron_core.topology import StreamSpec
from heron_frontends.adapters.thread_calls import CALLS_AHEAD_MAX, ThreadCalls
from tests.unit.heron_frontends.storm.storm_support import start


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """A thread that does the work; it is started."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def joined(work: Callable[[], object]) -> None:
    """Do the work in another thread, to its end."""
    thread = in_thread(work)
    thread.join(10)
    assert not thread.is_alive()


def test_a_bolt_emits_acks_and_fails_from_another_thread(storm: Any) -> None:
    """A bolt with a pool of workers."""

    class Pooled(storm.Bolt):  # type: ignore[misc]
        auto_ack = False

        def initialize(self, conf: Any, ctx: Any) -> None:
            self.got: list[Any] = []

        def process(self, tup: Any) -> None:
            self.got.append(tup)

    made = start(Pooled)
    made.feed(["a", 1], ["b", 2], ["c", 3])
    first, second, third = made.user.got
    values = ["x", 1]

    def work() -> None:
        made.user.emit(values, anchors=[first])
        values[0] = "changed later"
        made.user.ack(first)
        made.user.fail(second)
        made.user.ack(third.id)

    joined(work)
    assert not made.component.is_idle()
    assert made.sent == []
    made.run_soon()
    assert made.component.is_idle()
    assert made.values() == [["x", 1]]
    assert (sorted(made.acked()), made.failed()) == ([0, 2], [1])


def test_a_thread_waits_for_its_task_ids(storm: Any) -> None:
    asked = threading.Event()
    found: list[Any] = []

    class Asking(storm.Spout):  # type: ignore[misc]
        pass

    made = start(Asking, spout=True)
    soon = made.soon
    original = made.component.calls._call_soon

    def call_soon(call: Any) -> None:
        original(call)
        asked.set()

    made.component.calls._call_soon = call_soon
    thread = in_thread(lambda: found.append(made.user.emit(["a", 1], need_task_ids=True)))
    assert asked.wait(10)
    assert soon
    made.run_soon()
    thread.join(10)
    ((task,),) = found
    assert 2 <= task <= 5


def test_what_a_threads_call_raises_is_reported(storm: Any) -> None:
    class Idle(storm.Spout):  # type: ignore[misc]
        pass

    made = start(Idle, spout=True, outputs=(StreamSpec("default", ("a",)),))
    joined(lambda: made.user.emit(["too", "many"]))
    joined(lambda: made.user.emit([1]))
    made.run_soon()
    assert "emitted 2 values for the 1 fields" in made.errors[0]
    assert made.values() == [[1]]


def test_log_and_errors_from_another_thread(storm: Any) -> None:
    class Idle(storm.Spout):  # type: ignore[misc]
        pass

    made = start(Idle, spout=True)
    joined(lambda: made.user.raise_exception(ValueError("from afar")))
    made.run_soon()
    assert "from afar" in made.errors[0]


def test_calls_are_made_in_order_and_asked_for_once() -> None:
    asked: list[Callable[[], None]] = []
    made: list[int] = []
    calls = ThreadCalls(asked.append, lambda what, text: None)
    for number in range(3):
        calls.post(partial(made.append, number))
    assert (len(asked), calls.pending) == (1, True)
    asked.pop()()
    assert (made, calls.pending) == ([0, 1, 2], False)
    calls.post(lambda: made.append(3))
    assert len(asked) == 1


def test_a_thread_that_is_far_ahead_waits_but_not_for_ever() -> None:
    """The main thread may be waiting for that thread: each further call waits a moment only."""
    waited: list[float] = []
    calls = ThreadCalls(lambda call: None, lambda what, text: None, wait_secs=0.0)
    original = calls._shorter.wait

    def wait(timeout: float | None = None) -> bool:
        assert timeout is not None
        waited.append(timeout)
        return original(timeout)

    calls._shorter.wait = wait  # type: ignore[method-assign]
    for _ in range(CALLS_AHEAD_MAX):
        calls.post(list)
    assert waited == []
    calls.post(list)
    assert waited == [0.0]


def test_an_answer_that_raises_is_raised_where_it_was_asked_for() -> None:
    calls = ThreadCalls(lambda call: call(), lambda what, text: None)
    with pytest.raises(ZeroDivisionError):
        calls.ask(lambda: 1 // 0)
    assert calls.ask(lambda: [3]) == [3]
