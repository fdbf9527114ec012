"""Ends a host whose worker is gone while user code goes on, once another worker waits for the host.

A host answers one worker at a time. Spark kills the worker of an attempt that is not wanted any
more (a copy of the task was faster, its job was cancelled, its time was up), but the call of user
code goes on in the host, and if that call never returns, each later attempt of the partition would
wait for it. So the process ends: what it did of the batch counts for nothing, as the batch has no
file of it, and the worker that waits starts another host, which begins with the states of before.

As long as the worker is there, however slow the call is, or as long as no other one waits, nothing
ends.
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
        """`lasts`: whether it is so at `now`, in seconds; each look at which it is not begins
        again."""
        if not lasts:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= self._secs


class Attendance:
    """Who is answered, and whether others wait: what the thread that looks after a host asks."""

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
        """Whether the worker that is answered is gone, and another one waits."""
        with self._lock:
            return (
                self._answered is not None
                and _has(self._answered, _GONE)
                and _has(self._listening, select.POLLIN)
            )

    def poll(self, now: float) -> None:
        """End this process if that has lasted for too long at `now`, in seconds."""
        if self._patience.is_over(self.is_abandoned(), now):
            end_host()


def _has(of: socket.socket, events: int) -> bool:
    poll = select.poll()
    poll.register(of, events)
    return any(found & events for _, found in poll.poll(0))


def end_host() -> None:
    """The process ends at once, and its log says in which call each thread was."""
    log.error(
        "the worker of the current batch is gone, but its call of user code has not returned "
        "(stacks below), and another worker waits: this process ends, and the waiting worker "
        "starts a new one"
    )
    faulthandler.dump_traceback(file=STDERR, all_threads=True)
    os._exit(ExitCode.ORPHANED)
