"""Threads that user code has when its component is made, or starts without `threading`."""

import _thread
import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import pytest

from heron_core.errors import ComponentError, TopologyStopped
from heron_instance.events import Turn
from heronpy_compat import Bolt
from tests.unit.heron_instance.checkpointed_support import Process
from tests.unit.heron_instance.instance_support import SHUFFLE, Made, batch, make, reads

Call = Callable[[], Any]
FULL_AFTER = 100_000
"""Emits that fill a message for certain."""


class Careless(Bolt):
    """Says nothing of threads."""

    def initialize(self, config: Any, context: Any) -> None:
        self.got: list[Any] = []

    def process(self, tup: Any) -> None:
        self.got.append(tup)


@contextmanager
def worker() -> Iterator[Callable[[Call], BaseException | None]]:
    """A thread as a module starts it when it is imported; it makes the calls that it is given, and
    what each raises is the answer."""
    calls: SimpleQueue[Call | None] = SimpleQueue()
    raised: SimpleQueue[BaseException | None] = SimpleQueue()

    def work() -> None:
        while (call := calls.get()) is not None:
            try:
                call()
            except BaseException as error:
                raised.put(error)
            else:
                raised.put(None)

    def made(call: Call) -> BaseException | None:
        calls.put(call)
        return raised.get(timeout=30)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield made
    finally:
        calls.put(None)
        thread.join(30)


def in_raw_thread(call: Call) -> BaseException | None:
    """As `threading` does not see it."""
    raised: SimpleQueue[BaseException | None] = SimpleQueue()

    def work() -> None:
        try:
            call()
        except BaseException as error:
            raised.put(error)
        else:
            raised.put(None)

    _thread.start_new_thread(work, ())
    return raised.get(timeout=30)


def in_thread_of_c(call: Call) -> BaseException | None:
    """In a thread of the C library's own, which nothing in Python has started."""
    raised: list[BaseException] = []
    kind = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

    def work(_: Any) -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    pthreads, thread, started = ctypes.CDLL(None), ctypes.c_ulong(), kind(work)
    assert pthreads.pthread_create(ctypes.byref(thread), None, started, None) == 0
    assert pthreads.pthread_join(thread, None) == 0
    return raised[0] if raised else None


def test_a_thread_that_a_module_starts_at_its_import_is_refused_where_checkpoints_are_taken() -> (
    None
):
    with worker() as do:
        process = Process(Careless)
        process.begin(epoch=1)
        process.receive(batch([1], epoch=1))
        raised = do(lambda: process.component.emit(["x", 1]))
        assert "set acks_later = True in the class" in str(raised)
        with pytest.raises(TopologyStopped, match="acks_later = True"):
            process.handle(Turn())


def test_its_emits_are_the_main_threads_in_the_other_modes() -> None:
    soon: list[Call] = []
    with worker() as do:
        made = make(Careless, reads(SHUFFLE), call_soon=soon.append)
        assert do(lambda: made.component.emit(["x", 1])) is None
    assert sent(made) == []
    soon[0]()
    assert sent(made) == [["x", 1]]


def test_an_object_that_is_made_anew_sees_the_threads_of_the_one_before() -> None:
    process = Process(Careless)
    process.begin(epoch=1)
    with worker() as do:
        process.receive(batch([1], epoch=1))
        process.begin(epoch=2, checkpoint=0)
        raised = do(lambda: process.component.emit(["x", 1]))
    assert isinstance(raised, ComponentError)


@pytest.mark.parametrize("in_another", [in_raw_thread, in_thread_of_c])
def test_a_thread_that_python_does_not_list_is_seen_by_what_it_calls(
    in_another: Callable[[Call], BaseException | None],
) -> None:
    soon: list[Call] = []
    made = make(Careless, reads(SHUFFLE), call_soon=soon.append)
    made.core.deliver(batch([1], roots=[(17, 5)]))
    (tup,) = made.component.got
    wanted = {"direct_task": None, "stream": str(b"default", "ascii")}  # not in the fast way
    assert in_another(lambda: made.component.emit(["x", 1], **wanted)) is None
    assert in_another(lambda: made.component.fail(tup)) is None
    assert sent(made) == []
    for call in soon:
        call()
    assert sent(made) == [["x", 1]]


def test_a_thread_of_c_that_emits_in_the_fast_way_is_refused_when_a_message_is_full() -> None:
    process = Process(Careless)
    process.begin(epoch=1)
    process.receive(batch([1], epoch=1))
    emit = process.component.emit

    def work() -> None:
        for each in range(FULL_AFTER):
            emit(["x", each])

    assert "set acks_later = True in the class" in str(in_thread_of_c(work))
    with pytest.raises(TopologyStopped, match="acks_later = True"):
        process.handle(Turn())


def sent(made: Made) -> list[Any]:
    """What it has emitted."""
    made.core.flush()
    return [values for _, values in made.emitted()]
