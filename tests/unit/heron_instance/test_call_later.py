"""Calls that a component asks for: the main thread makes them when their time has come."""

import logging
import threading
from collections.abc import Callable
from random import Random
from typing import Any

from heron_instance.runtime.environment import InstanceEnvironment

DEADLINE_SECS = 30


def world(**more: Any) -> InstanceEnvironment:
    log = logging.Logger("tested")
    return InstanceEnvironment(lambda: 0.0, Random(1), print, print, log, **more)


def test_a_timer_hands_its_call_to_the_main_thread() -> None:
    asked = threading.Event()
    calls: list[tuple[threading.Thread, Callable[[], None]]] = []

    def call_soon(function: Callable[[], None]) -> None:
        calls.append((threading.current_thread(), function))
        asked.set()

    def function() -> None:
        pass

    world(call_soon=call_soon).later(0.001, function)
    assert asked.wait(DEADLINE_SECS)
    ((thread, found),) = calls
    assert found is function
    assert thread is not threading.current_thread()
    assert thread.daemon


def test_another_clock_may_be_given() -> None:
    calls: list[tuple[float, Callable[..., None]]] = []
    world(call_later=lambda secs, function: calls.append((secs, function))).later(2, print)
    assert calls == [(2, print)]
