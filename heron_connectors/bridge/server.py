"""The client's side of the bridge: listens on the client's event loop, one connection per end.

The instances connect, so a topology may run on any machine with a way to the client. Both sides
show the token before an element is read, because elements may be pickles. On an address of the
network TLS is required.
"""

import asyncio
import logging
import secrets
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from heron_connectors.bridge.client_items import ClientItems
from heron_connectors.bridge.client_rows import ClientRows, WaitingRow
from heron_connectors.bridge.frames import (
    FRAME_BYTES_MAX,
    GREETING_BYTES_MAX,
    NONCE_BYTES,
    BridgeFrame,
    EndHello,
    Part,
    batches,
    closed,
    field,
    frame,
    is_proof,
    proof,
    read_frame,
)
from heron_core.errors import HeronError, ProtocolError

log = logging.getLogger("bridge")

GREETING_SECS = 10.0
"""Deadline for a peer to show the token."""


class BridgeBroken(HeronError):
    """The topology of a flow has ended, or does not reach the client."""


class EndSession:
    """A connection of one end."""

    def __init__(self, writer: asyncio.StreamWriter, hello: EndHello) -> None:
        self.hello = hello
        self._writer = writer

    def send(self, kind: BridgeFrame, *fields: Any) -> None:
        """Send a frame; a connection that is ending is noticed by its reader."""
        self._writer.write(frame(kind, *fields))

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


class BridgeServer:
    """Sources and sinks of one flow, by name, and the connections of their instances."""

    def __init__(
        self, token: bytes, sources: Mapping[str, ClientItems], sinks: Mapping[str, ClientRows]
    ) -> None:
        self._token = token
        self.sources, self.sinks = sources, sinks
        self._sessions: dict[tuple[str, int], EndSession] = {}
        self._waiters: set[asyncio.Future[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.client = secrets.token_hex(8)
        """Distinguishes the numbers of this client from those of an earlier one."""
        self.refused = self.malformed = 0
        """Connections without the token, and closed because of their frames."""
        self.problem: Exception | None = None
        """The reason why the flow cannot continue; raised by each wait."""
        self.lost_at: float | None = None
        """Loop time of the last disconnection; None while ends are connected."""

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; returns the port. HeronError if the address cannot be used."""
        self.lost_at = asyncio.get_running_loop().time()
        try:
            self._server = await asyncio.start_server(self._serve, host, port, ssl=tls)
        except OSError as error:
            reason = error.strerror or error
            raise HeronError(f"the bridge cannot listen on {host}:{port}: {reason}") from None
        listening: int = self._server.sockets[0].getsockname()[1]
        return listening

    async def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        for session in self._sessions.values():
            session.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def connected(self) -> int:
        """Number of connected instances."""
        return len(self._sessions)

    # --- calls of the client ------------------------------------------------------------------

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds; raises the flow's problem."""
        while True:
            if self.problem is not None:
                raise self.problem
            if holds():
                return
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)

    async def until_done(self, future: "asyncio.Future[Any]") -> None:
        """Wait for a future; raises the flow's problem."""
        future.add_done_callback(lambda _: self.changed())
        await self.until(future.done)

    def changed(self) -> None:
        """Have all waits look at their conditions again."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def fail(self, problem: Exception) -> None:
        """Let each wait raise."""
        self.problem = self.problem or problem
        self.changed()

    def pump(self, source: str) -> None:
        """Send a source's items, within the demand of its sessions."""
        outgoing = self.sources[source]
        for session, parts in outgoing.take():
            assert isinstance(session, EndSession)
            for batch in batches(parts):
                session.send(BridgeFrame.ITEMS, batch)
        if outgoing.is_over:
            for session in self._of(source):
                session.send(BridgeFrame.ENDED)

    def took(self, sink: str, row: WaitingRow) -> None:
        """Ack a row to its task, if the task is connected; otherwise when it connects again."""
        self.sinks[sink].took(row)
        session = self._sessions.get((sink, row.task[0]))
        if session is not None and session.hello.incarnation == row.task[1]:
            session.send(BridgeFrame.TAKEN, [row.number])

    def _of(self, end: str) -> list[EndSession]:
        return [session for (name, _), session in self._sessions.items() if name == end]

    # --- connections --------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            async with asyncio.timeout(GREETING_SECS):
                session = await self._greet(reader, writer)
            await self._converse(session, reader)
        except ProtocolError as error:
            self.malformed += 1
            log.warning("a connection was closed: %s", error)
        except (EOFError, OSError, TimeoutError):
            pass  # a process has ended, or its machine cannot be reached: an end connects again
        finally:
            await closed(writer)
            self._tasks.discard(task)

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> EndSession:
        nonce = secrets.token_bytes(NONCE_BYTES)
        writer.write(frame(BridgeFrame.CHALLENGE, nonce))
        kind, fields = await read_frame(reader, GREETING_BYTES_MAX)
        if kind != BridgeFrame.HELLO or not is_proof(
            field(fields, 0, bytes), self._token, "end", nonce
        ):
            self.refused += 1
            raise ProtocolError("without the token of this flow")
        hello: EndHello = field(fields, 2, EndHello)
        if hello.end not in (self.sources if hello.is_source else self.sinks):
            raise ProtocolError(f"the graph of this flow has no end {hello.end!r}")
        own = proof(self._token, "client", field(fields, 1, bytes))
        writer.write(frame(BridgeFrame.WELCOME, own, self.client))
        return EndSession(writer, hello)

    async def _converse(self, session: EndSession, reader: asyncio.StreamReader) -> None:
        key = (session.hello.end, session.hello.task)
        if (previous := self._sessions.pop(key, None)) is not None:
            self._detach(previous)
            previous.close()
        self._sessions[key] = session
        self.lost_at = None
        self._attach(session)
        try:
            while True:
                kind, fields = await read_frame(reader, FRAME_BYTES_MAX)
                self._take(session, kind, fields)
                self.changed()
        finally:
            if self._sessions.get(key) is session:
                del self._sessions[key]
                self._detach(session)
            if not self._sessions:
                self.lost_at = asyncio.get_running_loop().time()

    def _attach(self, session: EndSession) -> None:
        if session.hello.is_source:
            self.sources[session.hello.end].attach(session)
            self.pump(session.hello.end)
        else:
            self.sinks[session.hello.end].attach(session.hello)

    def _detach(self, session: EndSession) -> None:
        if session.hello.is_source:
            self.sources[session.hello.end].detach(session)
            self.pump(session.hello.end)

    def _take(self, session: EndSession, kind: BridgeFrame, fields: list[Any]) -> None:
        hello = session.hello
        if hello.is_source:
            self._take_of_source(session, self.sources[hello.end], kind, fields)
        elif kind == BridgeFrame.ROWS:
            task = (hello.task, hello.incarnation)
            again = self.sinks[hello.end].add(task, field(fields, 0, list[Part]))
            if again:
                session.send(BridgeFrame.TAKEN, again)
        elif kind == BridgeFrame.ENDED:
            self.sinks[hello.end].finish(hello.task)
        else:
            raise ProtocolError(f"{kind.name} from a sink")

    def _take_of_source(
        self, session: EndSession, outgoing: ClientItems, kind: BridgeFrame, fields: list[Any]
    ) -> None:
        match kind:
            case BridgeFrame.DEMAND:
                outgoing.demand(session, field(fields, 0, int))
            case BridgeFrame.ACKED:
                outgoing.acked(field(fields, 0, list[int]))
            case BridgeFrame.ABANDONED:
                outgoing.abandoned(field(fields, 0, list[int]))
            case _:
                raise ProtocolError(f"{kind.name} from a source")
        self.pump(session.hello.end)
