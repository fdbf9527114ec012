"""The event loop of one component whose methods are coroutines; it runs in the main thread.

The engine gives it a turn between two messages, and all of its time while it waits for input, so
coroutines go on while nothing else is to do. Imported only where there are any: asyncio takes a
while to import.
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
"""So long may coroutines that are cancelled go on, as the process ends."""

Ended = Callable[[BaseException | None, Any], None]
"""Called with what a coroutine raised, or returned."""


class Coroutines:
    """Runs the coroutines of one component."""

    def __init__(self) -> None:
        self.raised: Callable[[str, str], None] | None = None
        """Reports what raised in a task that nobody waits for: what happened, and its text."""
        self._sources: Mapping[int, Callable[[], bool]] = {}
        self._waits = False
        self.gate = CoroutineGate()
        """Closed while a method is run to its end."""
        self.is_patient = False
        """Whether a spout's next_tuple is run to its end: nothing else is to do."""

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Made when it is needed first."""
        loop = asyncio.new_event_loop()
        loop.time = _now  # type: ignore[method-assign]
        loop.set_exception_handler(self._raised_elsewhere)
        return loop

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run one to its end; others go on meanwhile, but for next_tuple of a spout."""
        for source in self._sources:  # or else the loop turns for input that nobody takes
            self.loop.remove_reader(source)
        self._sources = {}
        self.gate.is_closed = True
        try:
            return self.loop.run_until_complete(coroutine)
        finally:
            self.gate.open()

    def as_function(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method that is a coroutine, as the function that runs it to its end; within other
        coroutines of the component it stays one, to be awaited."""

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
        """Begin one, which is cancelled after so many seconds; it runs when the loop does."""
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
        """As `task`, of one whose end is told."""
        self.task(coroutine, context, limit_secs).add_done_callback(partial(_tell, ended))

    def later(self, secs: float, call: Callable[[], None]) -> None:
        """Make a call in so many seconds, when the loop runs."""
        self.loop.call_later(secs, call)

    def turn(self) -> None:
        """Run what can go on, and wait for nothing."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def turn_for(self, task: "asyncio.Task[Any]") -> None:
        """As `turn`; to the end of a task if it is to be patient."""
        if self.is_patient:
            self.loop.run_until_complete(asyncio.wait((task,)))
        else:
            self.turn()

    def wait(self, secs: float, sources: Mapping[int, Callable[[], bool]]) -> None:
        """Run until a coroutine has ended, for so many seconds at most, or until a file descriptor
        of `sources` is readable and its function says so."""
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
        """Cancel what is under way."""
        if "loop" not in vars(self) or self.loop.is_closed():
            return
        for task in (tasks := asyncio.all_tasks(self.loop)):
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=CLOSE_SECS_MAX))

    def close(self) -> None:
        """Nothing runs any more."""
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
    """Real time, also where the tester has another one: what is awaited lives in it."""
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
