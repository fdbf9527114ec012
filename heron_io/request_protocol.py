"""How a connection of HTTP is read: a request that does not come to its end is not waited for.

A client that connects and says nothing, or half of a request, holds one of a limited number of
connections. It is given so long, and when all are taken the oldest of these makes room: so however
many of them there are, a whole request is answered.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECS = 10.0
"""For all of a request; the largest is a form, and a slow line takes a second for it."""


class RequestProtocol(H11Protocol):
    """One connection."""

    connections_max: int
    """At once; a server's own class says it."""
    _deadline: asyncio.TimerHandle | None = None
    _since = 0.0
    """When the request began that is under way, or the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The oldest that waits makes room, if no other is left."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) >= self.connections_max:
            waiting = [
                connection
                for connection in self.connections
                if isinstance(connection, RequestProtocol)
                and connection is not self
                and connection.is_waiting
            ]
            if waiting:
                min(waiting, key=lambda connection: connection._since).drop()

    def data_received(self, data: bytes) -> None:
        """Some more of a request."""
        super().data_received(data)
        if self._deadline is None and self.is_incomplete:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether nothing is under way for it here."""
        is_read = self.conn.their_state is not h11.IDLE and not self._lacks_body
        is_answered = self.cycle is None or self.cycle.response_complete
        return self._is_own and not is_read and (is_answered or self._lacks_body)

    @property
    def is_incomplete(self) -> bool:
        """Whether a request has begun, or was to, and the rest of it has not come."""
        return self.is_waiting and self.timeout_keep_alive_task is None

    @property
    def _lacks_body(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY

    @property
    def _is_own(self) -> bool:
        """Whether it is still HTTP, rather than a WebSocket."""
        return self.transport.get_protocol() is self

    def _watch(self) -> None:
        self._since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_SECS, self._check_deadline)

    def _check_deadline(self) -> None:
        self._deadline = None
        if self.is_incomplete:
            self.drop()

    def drop(self) -> None:
        """The connection ends."""
        self.connections.discard(self)
        self.transport.abort()
