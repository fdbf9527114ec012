"""Blocks a coroutine between two steps, independently of the awaited object.

A spout's `next_tuple` must pause while a hook of the spout runs to its end; otherwise the spout
would emit in a paused topology, or between two halves of an `ack`.
"""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class CoroutineGate:
    """Coroutines pass while it is open."""

    def __init__(self) -> None:
        self.is_closed = False
        self._waiting: list[asyncio.Future[None]] = []

    def open(self) -> None:
        """Open the gate; blocked coroutines continue when the event loop runs."""
        self.is_closed = False
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

    async def passed(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine whose steps all wait for the open gate."""
        return await _Steps(self, coroutine)

    def wait(self) -> asyncio.Future[None]:
        """Done when the gate is open."""
        found = asyncio.get_running_loop().create_future()
        self._waiting.append(found)
        return found


class _Steps:
    """What `await` takes: the steps of a coroutine."""

    def __init__(self, gate: CoroutineGate, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._gate, self._coroutine = gate, coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        raised: BaseException | None = None
        try:
            while True:
                while self._gate.is_closed and raised is None:
                    try:
                        yield from self._gate.wait()
                    except BaseException as error:  # it is cancelled
                        raised = error
                try:
                    step = self._step(raised)
                except StopIteration as ended:
                    return ended.value
                raised = None
                try:
                    yield step
                except BaseException as error:
                    raised = error
        finally:
            self._coroutine.close()

    def _step(self, raised: BaseException | None) -> Any:
        return self._coroutine.send(None) if raised is None else self._coroutine.throw(raised)
