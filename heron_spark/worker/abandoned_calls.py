"""Ends a host whose worker is gone while user code goes on, once another worker waits for the host.

A host answers one worker at a time. Spark kills the worker of an unwanted attempt (a copy of the
task was faster, the job was cancelled, the time was up), but the call of user code continues in the
host. If the call never returned, each later attempt of the partition would wait. So the process
ends: its work on the batch is void, because the batch lacks a file of it, and the waiting worker
starts another host from the previous states.

The host continues as long as its worker lives, however slow the call is, or as long as other
workers do not wait.
"""

import faulthandler
import logging
import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from heron_core.exit_codes import ExitCode

log = logging.getLogger("heron_spark")

ABANDONED_SECS = 2.0
"""So long a call whose worker is gone may still go on when another worker waits. Spark has waited
as long for the worker to end by itself (spark.python.task.killTimeout)."""
STDERR = 2
"""Where Spark's worker keeps its log, whatever user code has made of sys.stderr."""
_GONE = select.POLLHUP | select.POLLERR | getattr(select, "POLLRDHUP", 0)


class CallPatience:
    """Whether something has lasted for too long."""

    def __init__(self, secs: float) -> None:
        self._secs = secs
        self._since: float | None = None

    def is_over(self, lasts: bool, now: float) -> bool:
        """`lasts`: whether the condition holds at `now`, in seconds; a poll without it restarts the
        count.
        """
        if not lasts:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self._secs


class Attendance:
    """The worker being answered, and whether others wait: input of the thread that watches
    a host.
    """

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._answered: socket.socket | None = None
        self._lock = threading.Lock()
        """A descriptor that is closed may be another file's a moment later."""
        self._patience = CallPatience(ABANDONED_SECS)

    @contextmanager
    def answering(self, connection: socket.socket) -> Iterator[None]:
        """The worker at this connection is answered while the block runs."""
        with self._lock:
            self._answered = connection
        try:
            yield
        finally:
            with self._lock:
                self._answered = None

    def is_abandoned(self) -> bool:
        """Whether the answered worker is gone, and another worker waits."""
        with self._lock:
            return (
                self._answered is not None
                and _has(self._answered, _GONE)
                and _has(self._listening, select.POLLIN)
            )

    def poll(self, now: float) -> None:
        """End the process if the host was abandoned for too long at `now`, in seconds."""
        if self._patience.is_over(self.is_abandoned(), now):
            end_host()


def _has(of: socket.socket, events: int) -> bool:
    poll = select.poll()
    poll.register(of, events)
    return any(found & events for _, found in poll.poll(0))


def end_host() -> None:
    """End the process at once, after logging the stack of each thread."""
    log.error(
        "the worker of the current batch is gone, but its call of user code has not returned "
        "(stacks below), and another worker waits: this process ends, and the waiting worker "
        "starts a new one"
    )
    faulthandler.dump_traceback(file=STDERR, all_threads=True)
    os._exit(ExitCode.ORPHANED)
