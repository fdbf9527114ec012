"""A graph of local and remote parts in a test: the remote parts run in a TopologyTester.

The tester works in a thread, as its components have event loops of their own and the test's is
running; the test's loop stands still meanwhile, because the tester's clock is that of the process.
A row is acked when the topology has processed it, so a slow client pauses nothing here.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

from heron_connectors.bridge.client_items import ClientItems
from heron_connectors.bridge.client_rows import ClientRows, WaitingRow
from heron_connectors.bridge.frames import EndHello, Part
from heron_connectors.bridge.link import ADDRESS
from heron_connectors.bridge.server import BridgeServer
from heron_core.wire.values import packer, unpack
from heron_tester.tester import TopologyTester
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.flow import Flow
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM
from heronpy_compat.streamlet.materializer import WINDOW, ends_of, flowing, topology_of

SESSION = "tester"
REPLAYS = 3
"""Of an element whose tuple fails: a default `topology.replay.max` would take longer to show the
same error."""
TASK = (1, SESSION)


class FlowInTester(Flow):
    """As Flow, with the tester's time."""

    def __init__(self, flow: Flow, bridge: "TesterBridge") -> None:
        super().__init__(flow.name, flow.sources, flow.sinks)
        self._bridge = bridge

    async def advance(self, secs: float) -> None:
        """Let virtual time pass in the topology: ticks, windows and timers come."""
        await self._bridge.call(lambda: self._bridge.tester.advance(secs))

    async def ask(self, question: Callable[[TopologyTester], Any]) -> Any:
        """The result of a function of the tester, in the tester's thread."""
        return await self._bridge.call(lambda: question(self._bridge.tester))


class TesterBridge(BridgeServer):
    """Feeds a tester instead of connections."""

    def __init__(
        self,
        tester: TopologyTester,
        sources: Mapping[str, ClientItems],
        sinks: Mapping[str, ClientRows],
    ) -> None:
        super().__init__(b"", sources, sinks)
        self.tester = tester
        self._thread = ThreadPoolExecutor(1, "tester")
        self._work = asyncio.Event()
        self._seen = {name: [0, 0] for name in sources} | {name: [0, 0] for name in sinks}
        """Acked and failed elements of a source, rows of a sink, that the flow knows."""
        self._has_finished = False

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Begin; there is no port."""
        self._in_thread(self.tester.__enter__)
        for outgoing in self.sources.values():
            outgoing.attach(SESSION)
        for name, incoming in self.sinks.items():
            incoming.attach(EndHello(name, False, *TASK[:1], 1, TASK[1]))
        self._work.set()  # of a graph without local sources
        self._running = asyncio.get_running_loop().create_task(self._run())
        return 0

    async def close(self) -> None:
        """End the tester; raises what components raised, as the tester does."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        try:
            self._in_thread(lambda: self.tester.__exit__(None, None, None))
        finally:
            self._thread.shutdown()

    def pump(self, source: str) -> None:
        """See BridgeServer."""
        self._work.set()

    def took(self, sink: str, row: WaitingRow) -> None:
        """See BridgeServer."""
        self.sinks[sink].took(row)

    async def call(self, function: Callable[[], Any]) -> Any:
        """The result of a function in the tester's thread; its rows arrive."""
        await asyncio.sleep(0)  # the local parts go on
        result = self._in_thread(function)
        self._collect(self._in_thread(self._outcomes))
        return result

    def _in_thread(self, function: Callable[[], Any]) -> Any:
        return self._thread.submit(function).result()

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                await self._deliver()
            except Exception as error:
                self.fail(error)

    async def _deliver(self) -> None:
        for name, outgoing in self.sources.items():
            outgoing.demand(SESSION, outgoing.unsettled)
            for _, parts in outgoing.take():
                await self.call(partial(self._feed, name, parts))
        if not self._has_finished and all(each.is_over for each in self.sources.values()):
            self._has_finished = True
            await self.call(self._finish)
            for incoming in self.sinks.values():
                incoming.finish(TASK[0])
            self.changed()

    def _feed(self, name: str, parts: list[Part]) -> None:
        for number, data in parts:
            self.tester.feed(name, [unpack(data)], number, stream=OUTPUT_STREAM, replays=REPLAYS)
        self.tester.run()

    def _finish(self) -> None:
        self.tester.run_spouts()
        self.tester.finish()

    def _outcomes(self) -> list[tuple[str, list[Any], list[Any]]]:
        news: list[tuple[str, list[Any], list[Any]]] = []
        for name, seen in self._seen.items():
            if name in self.sources:
                results = [self.tester.acked(name), self.tester.failed(name)]
            else:
                results = [[each.values[0] for each in self.tester.received(name)], []]
            news.append((name, results[0][seen[0] :], results[1][seen[1] :]))
            self._seen[name] = [len(results[0]), len(results[1])]
        return news

    def _collect(self, news: list[tuple[str, list[Any], list[Any]]]) -> None:
        pack = packer()
        for name, first, failed in news:
            if name in self.sources:
                self.sources[name].acked(first)
                abandoned = {each for each in failed if failed.count(each) > REPLAYS}
                self.sources[name].abandoned(abandoned)
                continue
            begin = self._seen[name][0] - len(first)
            parts = [(begin + number, pack(row)) for number, row in enumerate(first, 1)]
            self.sinks[name].add(TASK, parts)
        self.changed()


@asynccontextmanager
async def materialize_in_tester(
    builder: Builder,
    name: str = "flow",
    config: Config | None = None,
    *,
    window: int = WINDOW,
    **tester_options: Any,
) -> AsyncIterator[FlowInTester]:
    """As `materialize`, without processes: the remote parts run in a TopologyTester on a virtual
    clock (`flow.advance`). `tester_options` are TopologyTester's.

    What a component raises fails its element, and is raised at the end, as by the tester.

    Example:

        async with materialize_in_tester(graph()) as flow:
            await flow.source.send("to be or not to be")
            flow.source.end()
            rows = [row async for row in flow.sink]
    """
    ends = ends_of(builder)
    topology = topology_of(builder, name, config, {ADDRESS: ""})
    tester = TopologyTester(topology, **tester_options)
    bridge = TesterBridge(tester, {each: ClientItems(window) for each in ends.sources},
                          {each: ClientRows() for each in ends.sinks})  # fmt: skip
    async with AsyncExitStack() as opened:
        await bridge.start("", 0, None)
        opened.push_async_callback(bridge.close)
        flow = await opened.enter_async_context(flowing(builder, name, ends, bridge))
        yield FlowInTester(flow, bridge)
