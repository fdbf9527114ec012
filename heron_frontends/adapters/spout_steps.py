"""Stepwise `next_tuple` of generator and coroutine spouts: the engine makes a step per call.

A generator runs to its next `yield`; a coroutine runs until its next wait, so an awaited result
delays no ack. After the end, the next call starts anew.
"""

from collections.abc import Callable
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from heron_api.emission import Emission
from heron_api.method_shapes import is_async, refuse_returned, yields
from heron_core.topology import DEFAULT_STREAM

if TYPE_CHECKING:
    from heron_frontends.adapters.coroutines import Coroutines

Send = Callable[[Any], None]
"""Takes what was yielded."""


class ShapedSpout:
    """`next_tuple` in whichever shape it is; first base of a spout's adapter."""

    users_object: Any
    coroutines: "Coroutines | None"
    _is_async = _yields = False
    unnamed_stream: str | None = DEFAULT_STREAM
    """What its `emit` calls the stream of values alone."""

    def find_shape(self) -> None:
        """Find the shape of `next_tuple` before any wrapper hides the user's function."""
        method = getattr(self.users_object, "next_tuple", None)
        self._is_async, self._yields = is_async(method), yields(method)

    def stepping(self) -> Callable[[], None] | None:
        """Replacement of `next_tuple` for the engine; None if `next_tuple` is a function."""
        next_tuple = self.users_object.next_tuple
        if self._is_async:
            assert self.coroutines is not None
            return AsyncSteps(next_tuple, self.coroutines, self._send, self._yields).step
        return Yields(next_tuple, self._send).step if self._yields else None

    def refuse_returned(self, value: Any) -> None:
        """ComponentError: `next_tuple` returned something."""
        refuse_returned(self.users_object.next_tuple, value, "next_tuple")

    def _send(self, yielded: Any) -> None:
        if not isinstance(yielded, Emission):
            values = yielded if isinstance(yielded, (list, tuple)) else [yielded]
            stream = self.unnamed_stream
            self.users_object.emit(values, tup_id=None, stream=stream, direct_task=None)
            return
        self.users_object.emit(
            yielded.values,
            tup_id=yielded.tup_id,
            stream=yielded.stream,
            direct_task=yielded.direct_task,
        )


class Yields:
    """Of a generator."""

    def __init__(self, next_tuple: Callable[[], Any], send: Send) -> None:
        self._next_tuple, self._send = next_tuple, send
        self._generator: Any = None

    def step(self) -> None:
        """Emit the next yielded value."""
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
            self._send(value)


class AsyncSteps:
    """Of a coroutine, or of an async generator."""

    def __init__(
        self,
        next_tuple: Callable[[], Any],
        coroutines: "Coroutines",
        send: Send,
        is_generator: bool,
    ) -> None:
        self._next_tuple, self._coroutines, self._send = next_tuple, coroutines, send
        self._yields = is_generator
        self._generator: Any = None
        self._task: Any = None

    def step(self) -> None:
        """Resume the coroutine and emit its yielded values; an exception of the coroutine is
        raised.
        """
        if self._task is None:
            begun = self._coroutines.gate.passed(self._begun())
            self._task = self._coroutines.task(begun, copy_context(), None)
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
            self._send(value)

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
