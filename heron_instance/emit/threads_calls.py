"""Which thread calls a collector: what another one than the main thread asks for, that one does."""

from collections.abc import Callable
from typing import Any

from heron_frontends.adapters.foreign_calls import ForeignCalls
from heron_instance.emit.output_buffers import Outbox


class ThreadsCalls:
    """The part of a collector that tells threads apart."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.shares: list[Callable[[], None]] = []
        """What makes each emit with a fast way leave its work to the general one."""
        self.foreign: ForeignCalls | None = None
        """None as long as one thread emits."""
        self._watched: ForeignCalls | None = None
        """What `foreign` is from the first thread of user code on; None: nobody watches."""
        self.this_thread: Callable[[], int] = int
        """The number of the thread that asks, once somebody watches."""
        self.main_thread = self.this_thread()

    def watch(self, foreign: ForeignCalls) -> None:
        """Other threads may call, from when they are seen: their calls are for `foreign`."""
        self._watched, self.this_thread = foreign, foreign.this_thread
        self.main_thread = self.this_thread()
        self.outbox.flushed_elsewhere = self._flushed_elsewhere

    def share(self) -> None:
        """User code has a thread: it may emit, ack and fail."""
        if self.foreign is None and self._watched is not None:
            self.foreign = self.outbox.foreign = self._watched
            for each in self.shares:
                each()

    @property
    def threads_are_idle(self) -> bool:
        """Whether no call of another thread waits to be made."""
        return self.foreign is None or not self.foreign.pending

    def is_elsewhere(self) -> bool:
        """Of a call that is not in the main thread: whether it is for that one to make. A thread
        that was not seen when it started is seen now."""
        if self._watched is None or not self._watched.is_elsewhere:
            return False
        self.share()
        return True

    def left(self, call: Callable[..., Any], *given: Any, wants_tasks: bool = False) -> Any:
        """Have the main thread make a call of another one, which has checked it; its task ids if
        they are wanted. ComponentError if other threads may not."""
        assert self.foreign is not None
        if wants_tasks:
            return self.foreign.ask(lambda: call(*given))
        self.foreign.leave(lambda: call(*given))
        return None

    def _flushed_elsewhere(self) -> bool:
        """A message is full: the only time that the fast way of an emit is asked for its thread.
        ComponentError if it may not be another one."""
        if self.this_thread() == self.main_thread or not self.is_elsewhere():
            return False
        self.left(self.outbox.flush)
        return True
