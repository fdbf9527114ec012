"""The channel between a bolt's main thread and its child: writing, waiting, taking messages.

The reader thread receives the child's messages and schedules a call in the main thread
(`delegate.call_soon`). While the main thread waits in `process` for the child, scheduled calls do
not run, so the main thread empties the inbox itself; neither side waits for the other.
"""

import select
from typing import Any

from heron_frontends.adapters.multilang.child import ChildExit, ShellChild
from heron_frontends.adapters.multilang.component import ShellComponent
from heron_frontends.adapters.multilang.reader import ChildReader
from heron_io.waker import Waker

WRITE_TUPLES = 32
"""Tuples per write when many follow in a row: a system call for each would cost more than the
tuple, and many more would delay the child.
"""
POLL_SECS = 1.0
"""A wait for the child ends after this at the latest, to look at the clock."""
WRITE_AGAIN_SECS = 0.01
"""Delay of a retry after a full pipe, while the component is otherwise idle."""
CLOSE_SECS = 1.0
"""For a child to exit when its stdin has ended; an instance has 5 s."""


class ChildChannel(ShellComponent):
    """A component with a reader thread for its child. Methods are for the main thread unless
    marked.
    """

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self._waker = Waker()
        self._waits = self._write_is_called = self._take_is_called = False
        self._heartbeat_is_called = False
        self._put_since_write = 0

    def open_channel(self) -> None:
        """Start the first child and wait for its pid; ComponentError with the cause if the child
        dies.

        Later messages of the child wait until the topology runs: an emit needs a plan.
        """
        self.start_child()
        while not self.is_ready:
            inbox = self.reader.inbox
            if inbox and inbox[0]:
                self.handle(inbox[0].popleft())
            elif inbox:
                self.reader.done()
            elif (child_exit := self.reader.ended()) is not None:
                raise self.died_at_start(child_exit)
            else:
                self._sleep(POLL_SECS)

    def start_child(self) -> ShellChild:
        """Start a child, and its reader thread."""
        child = super().start_child()
        self.reader = ChildReader(
            child,
            self.response_timer,
            self.logger,
            self.counts.total,
            self._notify,
            self._notify_heartbeat,
        )
        self.reader.start()
        return child

    def ask(self) -> None:
        """Send a heartbeat, unless the previous heartbeat is unanswered."""
        raise NotImplementedError

    def child_exited(self, child_exit: ChildExit) -> None:
        """The child is dead, and everything it said is seen to."""
        raise NotImplementedError

    # --- writing ----------------------------------------------------------------------------------

    def put(self, data: bytes) -> None:
        """Write `data` soon; it may wait for the child to read."""
        assert self.child is not None
        self.child.put(data)
        self._put_since_write += 1
        if self._put_since_write >= WRITE_TUPLES:
            self.write_all()
        elif not self._write_is_called:
            self._write_is_called = True
            self.delegate.call_soon(self._write_soon)

    def _write_soon(self) -> None:
        """Write after the last tuple of a run, without waiting: the main loop has other work."""
        self._write_is_called = False
        self._put_since_write = 0
        if self.child is not None and not self.child.write():
            self._write_is_called = True
            self.delegate.call_later(WRITE_AGAIN_SECS, self._write_soon)

    def write_all(self) -> None:
        """Write all pending bytes, however long the child takes; the death of the child drops the
        rest.
        """
        self._put_since_write = 0
        child = self.child
        while child is not None and child is self.child and not child.write():
            self.wait()

    # --- waiting and taking -----------------------------------------------------------------------

    def wait(self) -> None:
        """Wait until the child reads, writes or dies, for a second at most, and handle its
        messages.
        """
        pause_secs = POLL_SECS if self.child is not None else self.pause_left_secs
        self.ask()
        self._sleep(min(POLL_SECS, pause_secs))
        self._drain()
        self.start_if_due()

    def _sleep(self, secs: float) -> None:
        """Until the reader rings, what is unwritten can be written, or the time is over."""
        poll = select.poll()
        poll.register(self._waker.readable, select.POLLIN)
        if self.child is not None and self.child.unwritten:
            poll.register(self.child.stdin, select.POLLOUT)
        self._waits = True
        if self._nothing_is_there():
            poll.poll(secs * 1000)
        self._waits = False
        self._waker.clear()

    def _nothing_is_there(self) -> bool:
        return self.child is None or not (self.reader.inbox or self.reader.child_exit)

    def _notify(self) -> None:
        """In the reader's thread: the inbox has messages, or the child has ended."""
        if not self._take_is_called:
            self._take_is_called = True
            self.delegate.call_soon(self._take)
        if self._waits:
            self._waker.wake()

    def _take(self) -> None:
        self._take_is_called = False
        self._drain()
        if self.child is not None and self.child.unwritten and not self._write_is_called:
            self._write_soon()
        if self.child is not None and self.reader.inbox:
            self._notify()

    def _drain(self) -> None:
        """Handle the messages present at the start of the call: an endless writer must not hold the
        main loop.
        """
        if self.child is None:
            return
        reader = self.reader
        for _ in range(len(reader.inbox)):
            messages = reader.inbox[0]
            while messages:
                self.handle(messages.popleft())
            reader.done()
        if (child_exit := reader.ended()) is not None and not reader.inbox:
            self.child_exited(child_exit)

    def _notify_heartbeat(self) -> None:
        """In the reader's thread, each second."""
        if not self._heartbeat_is_called:
            self._heartbeat_is_called = True
            self.delegate.call_soon(self._heartbeat)

    def _heartbeat(self) -> None:
        self._heartbeat_is_called = False
        self.ask()
        if not self._write_is_called:
            self._write_soon()

    def close_channel(self) -> None:
        """Stop the child: by closing stdin, then by force."""
        child, self.child = self.child, None
        self.has_failed = True
        if child is not None:
            self._end(child)
        self._waker.close()

    def _end(self, child: ShellChild) -> None:
        self.is_ending = True
        self.reader.leave()
        child.close_stdin()
        self.reader.join(CLOSE_SECS)
        child.kill("did not end")
        self.reader.join()
        for messages in self.reader.inbox:
            self.handle_final_messages(messages)
