"""The loop of servers: polling of sockets, authentication of clients, a timer, an end.

A server creates a `ServerLoop`, takes sockets from the loop or registers sockets, and polls until
there is an `end`:

    while loop.end is None:
        if loop.is_timer_due(time.monotonic()):
            ...
        ready = loop.poll(loop.until_timer_secs(time.monotonic()))
        for message in loop.received(router, ready, DRAIN_MESSAGES):
            ...
"""

import math
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import zmq
from msgspec import Struct

from heron_core.exit_codes import ExitCode
from heron_io.processes import SupervisorLink
from heron_io.security import CurveAuthenticator, Keys
from heron_io.transport import drain, tcp_router
from heron_io.waker import Waker


class ServerEnd(Struct, frozen=True):
    """Reason and exit code of a server's end."""

    reason: str
    code: int


class ServerLoop:
    """Polls the sockets of one server; clients need the topology's key."""

    def __init__(self, keys: Keys, link: SupervisorLink | None, timer_secs: float) -> None:
        """Without a `link` the server is a thread, stopped by its creator."""
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.end: ServerEnd | None = None
        """None while the server runs."""
        self._authenticator = CurveAuthenticator(self.context, keys)
        self._poller = zmq.Poller()
        for socket in self._authenticator.sockets:
            self._poller.register(socket, zmq.POLLIN)
        self._link = link
        if link is not None:
            self._poller.register(link.lifeline, zmq.POLLIN)
        self.timer_secs = timer_secs
        """Interval of the timer, from the last timer on."""
        self._timer_was_at = float("-inf")
        self._stopped = Waker()
        self._poller.register(self._stopped.readable, zmq.POLLIN)

    def tcp_router(
        self, host: str, hwm: int, frame_bytes_max: int
    ) -> "tuple[zmq.Socket[bytes], str]":
        """A polled ROUTER on a free port of `host`, and its address."""
        polled = len(self._authenticator.sockets)
        router, address = tcp_router(self.context, host, hwm, frame_bytes_max, self._authenticator)
        for each in (router, *self._authenticator.sockets[polled:]):
            self._poller.register(each, zmq.POLLIN)
        return router, address

    def register(self, sock: "zmq.Socket[bytes] | int", events: int = zmq.POLLIN) -> None:
        """Poll a socket or a file descriptor from now on, or for other events than before."""
        self._poller.register(sock, events)

    def unregister(self, sock: "zmq.Socket[bytes]") -> None:
        """Stop polling a socket."""
        self._poller.unregister(sock)

    def stop(self, reason: str, code: int = 0) -> None:
        """End at once; the first reason counts. From any thread and from signal handlers."""
        if self.end is None:
            self.end = ServerEnd(reason, code)
            self._stopped.wake()

    def stop_on_sigterm(self) -> None:
        """Let SIGTERM stop the loop."""

        def stop(number: int, frame: FrameType | None) -> None:
            self.stop("SIGTERM")

        signal.signal(signal.SIGTERM, stop)

    def is_timer_due(self, now: float) -> bool:
        """Whether the timer is due; a due timer starts the next interval and sends the supervisor a
        heartbeat."""
        if now < self._timer_was_at + self.timer_secs:
            return False
        self._timer_was_at = now
        if self._link is not None:
            self._link.came_up()
            self._link.heartbeat()
        return True

    def until_timer_secs(self, now: float) -> float:
        """Seconds until the timer is due."""
        return min(self.timer_secs, max(0.0, self._timer_was_at + self.timer_secs - now))

    def poll(self, timeout_secs: float) -> dict[Any, int]:
        """Ready sockets, after waiting at most `timeout_secs`; clients are authenticated meanwhile.
        After the end of the parent process the result is empty, and the server ends."""
        ready: dict[Any, int] = dict(self._poller.poll(math.ceil(timeout_secs * 1000)))
        if self._link is not None and self._link.lifeline in ready:
            self.stop("the parent process is gone", ExitCode.ORPHANED)
            return {}
        if ready:
            self._authenticator.serve(ready, time.monotonic())
        return ready

    def received(
        self, sock: "zmq.Socket[bytes]", ready: dict[Any, int], most: int
    ) -> Iterator[list[bytes]]:
        """Up to `most` messages of a ready socket."""
        return drain(sock, most) if sock in ready else iter(())

    def rest(self, secs: float) -> None:
        """Pause between two attempts, with heartbeats for the supervisor; the end of the server
        ends the pause."""
        until = time.monotonic() + secs
        while self.end is None and (left := until - time.monotonic()) > 0:
            if self._link is not None:
                self._link.heartbeat()
            self.poll(min(left, self.timer_secs))

    @property
    def connections(self) -> dict[str, int]:
        """Numbers of connections refused without the key, and of ended connections."""
        return {
            "refused": self._authenticator.refused,
            "disconnected": self._authenticator.disconnected,
        }

    def close(self, linger_ms: int) -> ServerEnd:
        """Close all sockets, with `linger_ms` for unsent messages; returns the end."""
        self.end = self.end or ServerEnd("nothing to do", 0)  # a later signal has no effect
        self.context.destroy(linger=linger_ms)
        self._stopped.close()
        return self.end
