"""Event loop of one component with coroutine methods; the loop runs in the main thread.

The engine runs the loop briefly between two messages, and throughout each wait for input, so
coroutines proceed while the component is idle. Imported only for components with coroutines:
asyncio takes a while to import.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from functools import cached_property, partial
from typing import Any

from heron_core.config import ASYNC_TIMEOUT_MS
from heron_core.errors import ComponentError
from heron_frontends.adapters.gate import CoroutineGate

CLOSE_SECS_MAX = 5.0
"""Time that cancelled coroutines have to end when the process stops."""

Ended = Callable[[BaseException | None, Any], None]
"""Callback with the exception or the result of a coroutine."""


class Coroutines:
    """Runs the coroutines of one component."""

    def __init__(self) -> None:
        self.raised: Callable[[str, str], None] | None = None
        """Reports an exception of a task without a waiter: a summary and the traceback."""
        self._sources: Mapping[int, Callable[[], bool]] = {}
        self._waits = False
        self.gate = CoroutineGate()
        """Closed while a method is run to its end."""
        self.is_patient = False
        """Whether a spout's next_tuple runs to its end, because the engine is otherwise idle."""

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Made when it is needed first."""
        loop = asyncio.new_event_loop()
        loop.time = _now  # type: ignore[method-assign]
        loop.set_exception_handler(self._raised_elsewhere)
        return loop

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end; other coroutines proceed meanwhile, except for a spout's
        next_tuple.
        """
        for source in self._sources:  # or else the loop turns for input that nobody takes
            self.loop.remove_reader(source)
        self._sources = {}
        self.gate.is_closed = True
        try:
            return self.loop.run_until_complete(coroutine)
        finally:
            self.gate.open()

    def as_function(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a coroutine method into a function that runs the coroutine to its end. Called from
        another coroutine of the component, the function returns the coroutine to be awaited.
        """

        def run(*arguments: Any, **named: Any) -> Any:
            coroutine = method(*arguments, **named)
            if not self.loop.is_running():
                return self.run(coroutine)
            if asyncio._get_running_loop() is self.loop:
                return coroutine
            coroutine.close()
            raise ComponentError(
                f"{method.__qualname__} is `async def`, but a thread of the component calls the "
                "method outside of the event loop: write `def`, or call the method in the main "
                "thread"
            )

        run.__name__, run.__qualname__ = method.__name__, method.__qualname__
        return run

    def task(
        self, coroutine: Coroutine[Any, Any, Any], context: Context, limit_secs: float | None
    ) -> "asyncio.Task[Any]":
        """Start a coroutine on the loop, and cancel the task after `limit_secs`."""
        task = self.loop.create_task(_limited(coroutine, limit_secs), context=context)
        task.add_done_callback(self._stir)
        return task

    def _stir(self, task: "asyncio.Task[Any]") -> None:
        if self._waits:
            self.loop.stop()

    def start(
        self,
        coroutine: Coroutine[Any, Any, Any],
        context: Context,
        limit_secs: float | None,
        ended: Ended,
    ) -> None:
        """Start a coroutine as `task` does, and report its end to `ended`."""
        self.task(coroutine, context, limit_secs).add_done_callback(partial(_tell, ended))

    def later(self, secs: float, call: Callable[[], None]) -> None:
        """Make a call in so many seconds, when the loop runs."""
        self.loop.call_later(secs, call)

    def turn(self) -> None:
        """Run every coroutine that is ready, without waiting."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def turn_for(self, task: "asyncio.Task[Any]") -> None:
        """Run as `turn`, or, for a patient component, until the task has ended."""
        if self.is_patient:
            self.loop.run_until_complete(asyncio.wait((task,)))
        else:
            self.turn()

    def wait(self, secs: float, sources: Mapping[int, Callable[[], bool]]) -> None:
        """Run coroutines for `secs` at most, until a coroutine has ended or a descriptor of
        `sources` is readable and its function agrees.
        """
        for gone in self._sources.keys() - sources.keys():
            self.loop.remove_reader(gone)
        for new in sources.keys() - self._sources.keys():
            self.loop.add_reader(new, self._readable, new)
        self._sources = sources
        self._waits = True
        timer = self.loop.call_later(max(secs, 0.0), self.loop.stop)
        try:
            self.loop.run_forever()
        finally:
            self._waits = False
            timer.cancel()

    def _readable(self, source: int) -> None:
        if self._sources[source]() and self._waits:
            self.loop.stop()

    def cancel(self) -> None:
        """Cancel the running tasks."""
        if "loop" not in vars(self) or self.loop.is_closed():
            return
        for task in (tasks := asyncio.all_tasks(self.loop)):
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=CLOSE_SECS_MAX))

    def close(self) -> None:
        """Cancel all tasks and close the loop."""
        if "loop" not in vars(self) or self.loop.is_closed():
            return
        self.cancel()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def _raised_elsewhere(self, loop: Any, context: dict[str, Any]) -> None:
        if self.raised is None:
            loop.default_exception_handler(context)
            return
        error = context.get("exception")
        text = "" if error is None else f"{type(error).__name__}: {error}"
        self.raised(str(context.get("message", "a task raised")), text)


def _now() -> float:
    """Real time, in the tester too: awaited libraries run in real time."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def _tell(ended: Ended, task: "asyncio.Task[Any]") -> None:
    if task.cancelled():
        ended(asyncio.CancelledError("it was cancelled"), None)
        return
    error = task.exception()
    ended(error, None if error else task.result())


async def _limited(coroutine: Coroutine[Any, Any, Any], limit_secs: float | None) -> Any:
    if limit_secs is None:
        return await coroutine
    try:
        async with asyncio.timeout(limit_secs) as limit:
            return await coroutine
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeoutError(f"it took longer than {limit_secs:g} s ({ASYNC_TIMEOUT_MS})") from None
