"""Threads and the collector: calls from other threads are passed to the main thread."""

from collections.abc import Callable
from typing import Any

from heron_frontends.adapters.foreign_calls import ForeignCalls
from heron_instance.emit.output_buffers import Outbox


class ThreadsCalls:
    """The part of a collector that tells threads apart."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.shares: list[Callable[[], None]] = []
        """One function per specialised emit: makes the emit leave its work to the general emit."""
        self.foreign: ForeignCalls | None = None
        """None while a single thread emits."""
        self._watched: ForeignCalls | None = None
        """Value of `foreign` after the first thread of user code; None: threads are not watched."""
        self.this_thread: Callable[[], int] = int
        """Id of the calling thread, once threads are watched."""
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
        """For a call outside the main thread: whether the main thread must make the call. A
        thread not detected at its start is detected here."""
        if self._watched is None or not self._watched.is_elsewhere:
            return False
        self.share()
        return True

    def left(self, call: Callable[..., Any], *given: Any, wants_tasks: bool = False) -> Any:
        """Pass a checked call to the main thread; returns task ids if requested. ComponentError
        if other threads are not permitted."""
        assert self.foreign is not None
        if wants_tasks:
            return self.foreign.ask(lambda: call(*given))
        self.foreign.leave(lambda: call(*given))
        return None

    def _flushed_elsewhere(self) -> bool:
        """A message is full: the only thread check of the specialised emit. ComponentError for a
        forbidden thread."""
        if self.this_thread() == self.main_thread or not self.is_elsewhere():
            return False
        self.left(self.outbox.flush)
        return True
