"""The source that a client feeds: the end of `LocalStreamlet.remote`."""

import asyncio
import time
from collections import deque
from typing import Any

from heron_api.spout.spout import Spout
from heron_api.topology import TopologyBuilder
from heron_connectors.bridge.frames import BridgeFrame, Part, field
from heron_connectors.bridge.link import BridgeLink, ClientAddress
from heron_connectors.replay_queue import ReplayQueue, abandon
from heron_core import config as keys
from heron_core.errors import ProtocolError
from heron_core.wire.values import unpacker
from heronpy_compat.streamlet.impl.bridgeends import bridge_settings, hello_of
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM
from heronpy_compat.streamlet.impl.streamletspoutbase import StreamletSpoutBase
from heronpy_compat.streamlet.streamlet import Streamlet

CREDIT = 128
"""Items that the client sends ahead of their emits: a batch for the engine, small in memory."""
POLL_SECS = 0.05
"""Interval of looks for replays that are due; each pauses ten times as long, except the first."""

Item = tuple[str, int]
"""The client's id and its number of the item."""


class ClientSpout(Spout, StreamletSpoutBase):
    """Emits the client's items, at least once, and sends their acks to the client.

    A failed item is emitted again by `topology.replay.max`; then the client counts the item as
    abandoned. The items of a process that dies are sent again by the client.
    """

    async def initialize(self, config: dict[str, Any], context: Any) -> None:
        """Connect to the client; in a tester there is none."""
        self._items: dict[Item, Any] = {}
        self._arrived: deque[Item] = deque()
        self._replays: ReplayQueue[Item] = ReplayQueue.of(config)
        self._acked: list[int] = []
        self._client = ""
        self._is_ended = False
        self._has_work = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._unpack = unpacker(pickles=keys.flag(keys.with_defaults(config), keys.VALUES_PICKLE))
        self._link: BridgeLink | None = None
        if (address := ClientAddress.of(config)) is not None:
            hello = hello_of(config, context, is_source=True)
            self._link = BridgeLink(address, hello, self._connected, self._take, self._report)

    async def next_tuple(self) -> None:
        """Emit all received items, or wait for items; a tester feeds tuples of its own."""
        if self._link is None:
            self.finish()
            return
        if not self._emit_due():
            await self._work()

    def _emit_due(self) -> bool:
        emitted = 0
        while (item := self._replays.take(time.monotonic())) is not None:
            self._emit(item)
            emitted += 1
        while self._arrived:
            self._emit(self._arrived.popleft())
            emitted += 1
            self._tell(BridgeFrame.DEMAND, 1)
        if not emitted and self._is_ended and not self._items:
            self.finish()
            return True
        return emitted > 0

    def _emit(self, item: Item) -> None:
        self.emit([self._items[item]], tup_id=item, stream=OUTPUT_STREAM)

    async def _work(self) -> None:
        self._has_work.clear()
        try:
            async with asyncio.timeout(POLL_SECS if len(self._replays) else None):
                await self._has_work.wait()
        except TimeoutError:
            pass  # a replay may be due

    def ack(self, tup_id: Item) -> None:
        """The client may forget the item."""
        self._items.pop(tup_id, None)
        self._replays.acked(tup_id)
        if tup_id[0] == self._client:
            if not self._acked:
                self._loop.call_soon(self._flush)
            self._acked.append(tup_id[1])

    def fail(self, tup_id: Item) -> None:
        """Emit the item again, or give it up and tell the client."""
        if tup_id not in self._items:
            return
        failures = self._replays.failed(tup_id, time.monotonic())
        if failures:
            abandon(self.delegate, tup_id, [self._items.pop(tup_id)], failures)
            if tup_id[0] == self._client:
                self._tell(BridgeFrame.ABANDONED, [tup_id[1]])
        self._has_work.set()

    async def close(self) -> None:
        """Send the last acks, and disconnect."""
        if self._link is not None:
            self._flush()
            await self._link.close()

    # --- callbacks of the link ----------------------------------------------------------------

    def _connected(self, client: str) -> None:
        if client != self._client:
            self._client, self._is_ended = client, False
            self._acked.clear()
        self._flush()
        self._tell(BridgeFrame.DEMAND, CREDIT - len(self._arrived))

    def _take(self, kind: BridgeFrame, fields: list[Any]) -> None:
        if kind == BridgeFrame.ENDED:
            self._is_ended = True
        elif kind == BridgeFrame.ITEMS:
            for number, data in field(fields, 0, list[Part]):
                self._add((self._client, number), data)
        else:
            raise ProtocolError(f"{kind.name} for a source")
        self._has_work.set()

    def _add(self, item: Item, data: bytes) -> None:
        if item in self._items:  # sent before the connection was lost, and still under way
            self._tell(BridgeFrame.DEMAND, 1)
            return
        self._items[item] = self._unpack(data)
        self._arrived.append(item)

    def _flush(self) -> None:
        if self._acked and self._link is not None and self._link.is_connected.is_set():
            self._tell(BridgeFrame.ACKED, self._acked)
            self._acked = []

    def _tell(self, kind: BridgeFrame, *fields: Any) -> None:
        if self._link is not None:
            self._link.send(kind, *fields)

    def _report(self, what: str, text: str) -> None:
        self.delegate.record_error(what, text)


class ClientStreamlet(Streamlet):
    """What `LocalStreamlet.remote` returns; the materializer sets `settings` before the build."""

    prefix = "client"

    def __init__(self, end: str) -> None:
        super().__init__()
        self.set_name(end)
        self.settings: dict[str, Any] | None = None

    def _build_this(self, builder: TopologyBuilder, stage_names: set[str]) -> bool:
        config = bridge_settings(self)
        name = self._take_name(self.prefix, stage_names)
        builder.add_spout(name, ClientSpout, self.get_num_partitions(), config=config)
        return True
