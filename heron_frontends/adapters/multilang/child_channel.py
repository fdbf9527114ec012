"""The channel between a bolt's main thread and its child: writing, waiting, taking messages.

The reader thread takes in what the child says and has the main thread called for it
(`delegate.call_soon`). While the main thread waits in `process`, for the child to read or to
answer, nobody makes those calls, so it sees to the inbox itself: neither waits for the other.
"""

import select
from typing import Any

from heron_frontends.adapters.multilang.child import ChildExit, ShellChild
from heron_frontends.adapters.multilang.component import ShellComponent
from heron_frontends.adapters.multilang.reader import ChildReader
from heron_io.waker import Waker

WRITE_TUPLES = 32
"""Tuples that are written at once, if so many come in a row: a system call for each would cost
more than the tuple, and many more would let the child wait for its work."""
POLL_SECS = 1.0
"""A wait for the child ends after this at the latest, to look at the clock."""
WRITE_AGAIN_SECS = 0.01
"""A pipe that is full when there is nothing else to do is tried again after this."""
CLOSE_SECS = 1.0
"""For a child to exit when its stdin has ended; an instance has 5 s."""


class ChildChannel(ShellComponent):
    """A component whose child is read by a thread. All methods are for the main thread, but those
    that say otherwise."""

    def __init__(self, delegate: Any) -> None:
        super().__init__(delegate)
        self._waker = Waker()
        self._waits = self._write_is_called = self._take_is_called = False
        self._heartbeat_is_called = False
        self._put_since_write = 0

    def open_channel(self) -> None:
        """Start the first child and wait for its pid; ComponentError with the cause if it dies.

        What else it says meanwhile waits until the topology runs: an emit needs a plan.
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
        """Start a child, and the thread that reads it."""
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
        """Ask the child for a sign of life, unless it owes one."""
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
        """When nothing more comes for now. It does not wait: the main loop has more to see to."""
        self._write_is_called = False
        self._put_since_write = 0
        if self.child is not None and not self.child.write():
            self._write_is_called = True
            self.delegate.call_later(WRITE_AGAIN_SECS, self._write_soon)

    def write_all(self) -> None:
        """Write, however long that takes; a child that dies meanwhile takes it along."""
        self._put_since_write = 0
        child = self.child
        while child is not None and child is self.child and not child.write():
            self.wait()

    # --- waiting and taking -----------------------------------------------------------------------

    def wait(self) -> None:
        """Until the child reads, speaks or dies, or a second is over; see to what it said."""
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
        """In the reader's thread: there is something in the inbox, or its end."""
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
        """See to what is there now. No more: a child that never stops must not keep us for ever."""
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
        """End the child: by the end of its stdin, and if that does not help by force."""
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
