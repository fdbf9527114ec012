"""Sends to local instances, including instances whose connection is still being opened.

An instance has two connections, and a registration may be read from the first before the second
is accepted: messages for the second wait for a moment. A connection that never opens belongs to
a dead process.
"""

import logging
import time
from collections import deque

from msgspec import Struct, field

from heron_core.wire.frames import Frames
from heron_core.wire.local_stream import ConnectionName
from heron_io.local_listener import LocalListener

log = logging.getLogger("stream_manager")

RETRY_SECS = 0.002
"""Between two tries: an instance connects for data before it does for control."""
RETRY_LIMIT_SECS = 2.0
"""A live process is connected by then, however busy the machine; the tuples of a dead one are
accounted for when its successor registers."""


class PendingSends(Struct):
    """Messages for a missing connection, in order; the window bounds their bytes."""

    retries_end_at: float
    messages: deque[Frames] = field(default_factory=deque)


class LocalSender:
    """Sends to the connection called `name`."""

    def __init__(self, listener: LocalListener) -> None:
        self._listener = listener
        self._pending: dict[ConnectionName, PendingSends] = {}

    @property
    def waiting(self) -> bool:
        """Whether `retry` has something to do."""
        return bool(self._pending)

    def send(self, name: ConnectionName, frames: Frames) -> None:
        """Send now, or as soon as the connection is there."""
        pending = self._pending.get(name)
        if pending is None:
            if self._listener.send(name, frames):
                return
            pending = PendingSends(time.monotonic() + RETRY_LIMIT_SECS)
            self._pending[name] = pending
        pending.messages.append(frames)

    def retry(self, now: float) -> None:
        """Send queued messages on new connections; drop those of unopened connections."""
        for name, each in list(self._pending.items()):
            while each.messages and self._listener.send(name, each.messages[0]):
                each.messages.popleft()
            if each.messages and now >= each.retries_end_at:
                log.info("dropped %d messages for an ended process", len(each.messages))
                each.messages.clear()
            if not each.messages:
                del self._pending[name]
