"""Connections of HTTP with a deadline for each request.

A client that sends nothing or half of a request holds one of a limited number of connections. An
incomplete request has a deadline, and at the limit of connections the oldest incomplete request is
dropped: so complete requests are answered, however many clients send nothing.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECS = 10.0
"""Deadline of a whole request; a slow line takes a second for the largest, a form."""


class RequestProtocol(H11Protocol):
    """One connection."""

    connections_max: int
    """Connections at once; set by a server's subclass."""
    _deadline: asyncio.TimerHandle | None = None
    _since = 0.0
    """Start of the current request, or of the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """At the limit, drop the oldest waiting connection."""
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
        """The next bytes of a request."""
        super().data_received(data)
        if self._deadline is None and self.is_incomplete:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    @property
    def is_waiting(self) -> bool:
        """Whether the connection has no request in progress at the server."""
        is_read = self.conn.their_state is not h11.IDLE and not self._lacks_body
        is_answered = self.cycle is None or self.cycle.response_complete
        return self._is_own and not is_read and (is_answered or self._lacks_body)

    @property
    def is_incomplete(self) -> bool:
        """Whether a part of the request is still to arrive."""
        return self.is_waiting and self.timeout_keep_alive_task is None

    @property
    def _lacks_body(self) -> bool:
        return self.conn.their_state is h11.SEND_BODY

    @property
    def _is_own(self) -> bool:
        """Whether the connection is HTTP, and not a WebSocket."""
        return self.transport.get_protocol() is self

    def _watch(self) -> None:
        self._since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_SECS, self._check_deadline)

    def _check_deadline(self) -> None:
        self._deadline = None
        if self.is_incomplete:
            self.drop()

    def drop(self) -> None:
        """End the connection."""
        self.connections.discard(self)
        self.transport.abort()
