"""A client's side of a running graph: sends elements, reads rows (materializer.py)."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from heron_connectors.bridge.client_items import ClientItems
from heron_connectors.bridge.client_rows import ClientRows
from heron_connectors.bridge.frames import FRAME_BYTES_MAX
from heron_connectors.bridge.server import BridgeServer
from heron_core.errors import HeronError, UsageError
from heron_core.wire.values import packer, unpack
from heronpy_compat.streamlet.localstreamlet import LocalChain, Source, elements_of

FRAME_REST_BYTES = 1024
"""Of a frame that are not the element."""


class FlowSource:
    """A local source: elements on their way into the topology."""

    def __init__(self, name: str, bridge: BridgeServer, source: Source, chain: LocalChain) -> None:
        self.name = name
        self._bridge, self._chain = bridge, chain
        self._outgoing: ClientItems = bridge.sources[name]
        self._is_fed = source is None
        self._fed: asyncio.Queue[Any] = asyncio.Queue(1)
        self._unfinished = 0
        """Elements of `send` that the local part has not asked for the next of."""
        self._has_ended = False
        elements = self._of_send() if source is None else elements_of(source)
        self._pumping = asyncio.get_running_loop().create_task(self._pump(elements))
        self._pack = packer()

    @property
    def unsettled(self) -> int:
        """Number of elements that the topology has not acked yet."""
        return self._outgoing.unsettled + self._unfinished

    @property
    def abandoned(self) -> int:
        """Number of elements that failed more often than `topology.replay.max` allows."""
        return self._outgoing.abandoned_count

    async def send(self, element: Any) -> None:
        """Give an element to the local part; waits while as many as the window are not acked.

        UsageError after `end`, or for a source with an iterable; also the errors of the local part
        and of the flow.
        """
        if not self._is_fed:
            raise UsageError(f"source {self.name!r} has an iterable: it cannot be sent elements")
        if self._has_ended:
            raise UsageError(f"source {self.name!r} has ended")
        self._unfinished += 1
        putting = asyncio.ensure_future(self._fed.put(element))
        try:
            await self._bridge.until_done(putting)
        except BaseException:
            if not putting.done() or putting.cancelled():
                self._unfinished -= 1
            putting.cancel()
            raise

    async def settled(self) -> None:
        """Wait until all elements are acked; HeronError if some were abandoned."""
        await self._bridge.until(lambda: not self.unsettled)
        if self.abandoned:
            raise HeronError(
                f"{self.abandoned} elements of source {self.name!r} were abandoned by the topology"
                " (topology.replay.max): see `heronpy stats` for the errors"
            )

    def end(self) -> None:
        """No element will follow: when all sources have ended and all is processed, the topology
        ends, and `async for` over its sinks with it."""
        self._has_ended = True
        self._bridge.changed()

    async def close(self) -> None:
        """Stop the local part."""
        self._pumping.cancel()
        await asyncio.gather(self._pumping, return_exceptions=True)

    async def _of_send(self) -> AsyncIterator[Any]:
        while True:
            await self._bridge.until(lambda: not self._fed.empty() or self._has_ended)
            if self._fed.empty():
                return
            yield self._fed.get_nowait()
            self._unfinished -= 1
            self._bridge.changed()

    async def _pump(self, elements: AsyncIterator[Any]) -> None:
        try:
            async for element in self._chain.generator(elements):
                data = self._packed(element)
                await self._bridge.until(lambda: not self._outgoing.is_full)
                self._outgoing.put(data)
                self._bridge.pump(self.name)
        except Exception as error:
            self._bridge.fail(error)
            return
        self._has_ended = self._outgoing.is_ended = True
        self._bridge.pump(self.name)
        self._bridge.changed()

    def _packed(self, element: Any) -> bytes:
        data = self._pack(element)
        if len(data) > FRAME_BYTES_MAX - FRAME_REST_BYTES:
            raise UsageError(
                f"an element of {len(data)} bytes for source {self.name!r}: at most"
                f" {FRAME_BYTES_MAX >> 20} MiB are sent"
            )
        return data


class FlowSink:
    """A local end: rows out of the topology, in one sequence for all loops over it.

    A row is acked when the next one is asked for. A loop that is left may be continued by another.
    """

    def __init__(self, name: str, bridge: BridgeServer, chain: LocalChain) -> None:
        self.name = name
        self._bridge = bridge
        self._incoming: ClientRows = bridge.sinks[name]
        self._rows = chain.generator(self._received())

    @property
    def unread(self) -> int:
        """Number of rows that have come and were not asked for."""
        return self._incoming.unread

    def __aiter__(self) -> "FlowSink":
        return self

    async def __anext__(self) -> Any:
        """The next row; StopAsyncIteration when the topology has ended, the flow's problem."""
        return await anext(self._rows)

    async def _received(self) -> AsyncIterator[Any]:
        incoming = self._incoming
        while True:
            await self._bridge.until(lambda: incoming.unread > 0 or incoming.is_over)
            row = incoming.next_row()
            if row is None:
                return
            yield unpack(row.data)
            self._bridge.took(self.name, row)


class Flow:
    """A running graph: its local ends by name; `source` and `sink` are the only ones."""

    def __init__(
        self, name: str, sources: Mapping[str, FlowSource], sinks: Mapping[str, FlowSink]
    ) -> None:
        self.name = name
        self.sources, self.sinks = sources, sinks

    @property
    def source(self) -> FlowSource:
        """The local source of a graph with one; UsageError otherwise."""
        source: FlowSource = _only("source", self.sources)
        return source

    @property
    def sink(self) -> FlowSink:
        """The local end of a graph with one; UsageError otherwise."""
        sink: FlowSink = _only("sink", self.sinks)
        return sink


def _only(what: str, ends: Mapping[str, Any]) -> Any:
    if len(ends) != 1:
        names = ", ".join(map(repr, ends)) or "none"
        raise UsageError(f"flow.{what} is of a graph with one; it has {names}: flow.{what}s[NAME]")
    return next(iter(ends.values()))
