"""`next_tuple` of a spout that yields, or is a coroutine: one step at each call of the engine's.

A generator goes on to its next `yield`; a coroutine goes on as far as it can, so what it awaits
holds up no ack. When it has ended, the next call begins it anew.
"""

from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from heronpy_compat.adapters.shapes import emission_of, is_async, yields
from heronpy_compat.api.emission import Emission

if TYPE_CHECKING:
    from heronpy_compat.adapters.coroutines import Coroutines

Send = Callable[[Emission], None]


def stepping(
    next_tuple: Callable[[], Any], coroutines: "Coroutines | None", send: Send
) -> Callable[[], None] | None:
    """What the engine calls in place of `next_tuple`; None if that is a function."""
    if is_async(next_tuple):
        assert coroutines is not None
        return AsyncSteps(next_tuple, coroutines, send).step
    return Yields(next_tuple, send).step if yields(next_tuple) else None


class Yields:
    """Of a generator."""

    def __init__(self, next_tuple: Callable[[], Any], send: Send) -> None:
        self._next_tuple, self._send = next_tuple, send
        self._generator: Any = None

    def step(self) -> None:
        """Emit what it yields next."""
        if self._generator is None:
            self._generator = iter(self._next_tuple())
        try:
            value = next(self._generator)
        except StopIteration:
            self._generator = None
            return
        except BaseException:
            self._generator = None
            raise
        if value is not None:
            self._send(emission_of(value))


class AsyncSteps:
    """Of a coroutine, or of an async generator."""

    def __init__(self, next_tuple: Callable[[], Any], coroutines: "Coroutines", send: Send) -> None:
        self._next_tuple, self._coroutines, self._send = next_tuple, coroutines, send
        self._yields = yields(next_tuple)
        self._generator: Any = None
        self._task: Any = None

    def step(self) -> None:
        """Go on, and emit what it yields; what it raises is raised."""
        if self._task is None:
            self._task = self._coroutines.task(self._begun(), copy_context(), None)
        self._coroutines.turn_for(self._task)
        if not self._task.done():
            return
        task, self._task = self._task, None
        try:
            value = task.result()
        except BaseException:
            self._generator = None
            raise
        if self._yields and value is not None:
            self._send(emission_of(value))

    async def _begun(self) -> Any:
        if not self._yields:
            return await self._next_tuple()
        if self._generator is None:
            self._generator = self._next_tuple()
        try:
            return await anext(self._generator)
        except StopAsyncIteration:
            self._generator = None
            return None
