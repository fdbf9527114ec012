"""The sink that a client reads: the end of `Streamlet.local`."""

import asyncio
from typing import Any

from heron_api.bolt.bolt import Bolt
from heron_api.topology import TopologyBuilder
from heron_connectors.bridge.frames import FRAME_BYTES_MAX, BridgeFrame, Part, batches, field
from heron_connectors.bridge.link import BridgeLink, ClientAddress
from heron_core import config as keys
from heron_core.errors import ComponentError, ProtocolError
from heron_core.wire.values import packer
from heronpy_compat.streamlet.impl.bridgeends import bridge_settings, hello_of
from heronpy_compat.streamlet.impl.stage import StageStreamlet
from heronpy_compat.streamlet.localstreamlet import LocalChain, LocalStreamlet
from heronpy_compat.streamlet.streamlet import Streamlet

FINISH_SECS = 60.0
"""Deadline for the client to learn of the end of the rows."""
PATIENCE_MS = 365 * 24 * 3600 * 1000
"""Timeout of a row's coroutine: the client decides how long a row waits."""
FRAME_REST_BYTES = 1024
"""Of a frame that are not the element."""


class ClientBolt(Bolt):
    """Sends rows to the client; a row is acked when the client has asked for the next one.

    `topology.async.capacity` rows are with the client or on their way; the others wait in the
    instance's queue, whose length pauses the spouts.
    """

    async def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Connect to the client; in a tester there is none, and each row is acked at once."""
        self._rows: dict[int, tuple[bytes, asyncio.Future[None]]] = {}
        self._last = 0
        self._unsent: list[Part] = []
        self._has_finished = False
        self._loop = asyncio.get_running_loop()
        pickles = keys.flag(keys.with_defaults(config), keys.VALUES_PICKLE)
        self._pack = packer(pickles=pickles)
        self._link: BridgeLink | None = None
        if (address := ClientAddress.of(config)) is not None:
            hello = hello_of(config, context, is_source=False)
            self._link = BridgeLink(address, hello, self._connected, self._take, self._report)

    async def process(self, tup: Any) -> None:
        """Send a row, and wait until the client is done with the row."""
        if self._link is None:
            return
        data = self._packed(tup.values[0])
        self._last += 1
        number, taken = self._last, self._loop.create_future()
        self._rows[number] = data, taken
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append((number, data))
        try:
            await taken
        finally:
            del self._rows[number]

    def _packed(self, element: Any) -> bytes:
        data = self._pack(element)
        if len(data) > FRAME_BYTES_MAX - FRAME_REST_BYTES:
            raise ComponentError(
                f"an element of {len(data)} bytes for the client: at most {FRAME_BYTES_MAX >> 20}"
                " MiB are sent to it"
            )
        return data

    async def on_finish(self) -> None:
        """Tell the client that all rows have come."""
        self._has_finished = True
        if self._link is None:
            return
        try:
            async with asyncio.timeout(FINISH_SECS):
                await self._link.is_connected.wait()
        except TimeoutError:
            self._report("the end of the rows cannot be told to the client", "it is not connected")
        self._link.send(BridgeFrame.ENDED)

    async def close(self) -> None:
        """Disconnect."""
        if self._link is not None:
            await self._link.close()

    # --- callbacks of the link ----------------------------------------------------------------

    def _connected(self, client: str) -> None:
        self._unsent = [(number, data) for number, (data, _) in sorted(self._rows.items())]
        self._flush()
        if self._has_finished and self._link is not None:
            self._link.send(BridgeFrame.ENDED)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        assert self._link is not None
        for batch in batches(unsent):
            self._link.send(BridgeFrame.ROWS, batch)

    def _take(self, kind: BridgeFrame, fields: list[Any]) -> None:
        if kind != BridgeFrame.TAKEN:
            raise ProtocolError(f"{kind.name} for a sink")
        for number in field(fields, 0, list[int]):
            if number in self._rows and not self._rows[number][1].done():
                self._rows[number][1].set_result(None)

    def _report(self, what: str, text: str) -> None:
        self.delegate.record_error(what, text)


class ClientSinkStreamlet(StageStreamlet):
    """The end that `Streamlet.local` makes; the materializer sets `settings` before the build."""

    prefix = "client"
    bolt = ClientBolt

    def __init__(self, end: str, parent: Streamlet) -> None:
        super().__init__(parent)
        self.set_name(end)
        self.set_num_partitions(1)  # rows of one task arrive in their order
        self.chain = LocalChain()
        self.local_streamlet: LocalStreamlet[Any] = LocalStreamlet(self.chain)
        self.settings: dict[str, Any] | None = None

    def _add_bolt(self, builder: TopologyBuilder, stage_names: set[str]) -> None:
        self._config = {keys.ASYNC_TIMEOUT_MS: PATIENCE_MS, **bridge_settings(self)}
        super()._add_bolt(builder, stage_names)
