"""Thread that reads a bolt's child, checks the child's life, and sends a heartbeat each second."""

import logging
import select
import threading
import time
from collections import Counter, deque
from collections.abc import Callable

from heron_core.errors import ProtocolError
from heron_frontends.adapters.multilang.child import ChildExit, ShellChild
from heron_frontends.adapters.multilang.output import StrayLog
from heron_frontends.adapters.multilang.protocol import Message
from heron_frontends.adapters.multilang.response_timer import ResponseTimer

UNANSWERED = "a tuple of task -1 on the stream __heartbeat, which a child answers by sync"
HEARTBEAT_SECS = 1.0
"""Storm's interval of heartbeats (ShellBolt.prepare)."""
INBOX_READS_MAX = 16
"""Maximum of unhandled reads of 64 KiB: a megabyte, or one more huge message. A full inbox stops
the reads, so the child blocks in its write: back-pressure.
"""


class ChildReader(threading.Thread):
    """Reads one child to its end; calls `notify` for the main thread, and `heartbeat` each
    second.
    """

    def __init__(
        self,
        child: ShellChild,
        response_timer: ResponseTimer,
        logger: logging.Logger,
        counts: Counter[str],
        notify: Callable[[], None],
        heartbeat: Callable[[], None],
    ) -> None:
        super().__init__(name="child stdout", daemon=True)
        self.inbox: deque[deque[Message]] = deque()
        """Messages of each read; the main thread removes a read once handled."""
        self.child_exit: ChildExit | None = None
        """Set last: an empty inbox then stays empty."""
        self._child = child
        self._response_timer = response_timer
        self._notify = notify
        self._heartbeat = heartbeat
        self._strays = StrayLog(logger, child.label, counts)
        self._poll = select.poll()
        self._poll.register(child.stdout, select.POLLIN)
        self._next_heartbeat = time.monotonic() + HEARTBEAT_SECS
        self._has_begun = False
        self._waits = False
        self._has_capacity = threading.Event()
        self._leaving = False

    def run(self) -> None:
        """Read to the end."""
        try:
            while self._step():
                pass
        except ProtocolError as error:
            self._strays.take(self._child.codec.strays)
            self._child.kill(str(error))
        self.child_exit = self._child.reap()
        self._notify()

    def _step(self) -> bool:
        """Wait for something and see to it; False at the child's end."""
        self._wait_for_capacity()
        now = time.monotonic()
        ready = self._poll.poll(max(0.0, (self._next_heartbeat - now) * 1000))
        if time.monotonic() >= self._next_heartbeat:
            self._each_second()
        if ready:
            return self._read()
        # Processes started by the child may hold its stdout open for ever.
        return not self._child.has_exited

    def _read(self) -> bool:
        messages = self._child.read()
        if messages is None:
            return False
        self._strays.take(self._child.codec.strays)
        if messages:
            self._response_timer.heard_at = time.monotonic()
            self._has_begun = True
            self.inbox.append(deque(messages))
            self._notify()
        return True

    def _each_second(self) -> None:
        """Check the timeout only while the inbox is empty: otherwise the main thread may be late,
        not the child.
        """
        now = time.monotonic()
        self._next_heartbeat = now + HEARTBEAT_SECS
        if not self.inbox and self._response_timer.is_overdue(now):
            silent = f"sent nothing for {self._response_timer.timeout_secs:g} s"
            # Before its pid the child received no heartbeat.
            asked = f", nor answered a heartbeat ({UNANSWERED})" if self._has_begun else ""
            self._child.kill(f"{silent}{asked}")
        self._heartbeat()

    def _wait_for_capacity(self) -> None:
        while len(self.inbox) >= INBOX_READS_MAX and not self._leaving:
            self._waits = True
            if len(self.inbox) >= INBOX_READS_MAX:
                self._has_capacity.wait(HEARTBEAT_SECS)
            self._waits = False
            self._has_capacity.clear()

    def done(self) -> None:
        """In the main thread: all messages of the oldest read are seen to."""
        self.inbox.popleft()
        if self._waits:
            self._has_capacity.set()

    def ended(self) -> ChildExit | None:
        """In the main thread: how the child ended, once the reader thread is done."""
        if self.child_exit is not None:
            self.join()  # it may be about to say so
        return self.child_exit

    def leave(self) -> None:
        """The inbox will not be emptied any more: read on nevertheless, to the end."""
        self._leaving = True
        self._has_capacity.set()
