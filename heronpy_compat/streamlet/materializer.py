"""Runs a graph of local and remote parts: the remote parts as a topology, the local ones here.

    builder = Builder()
    lines = builder.new_local_source().remote()
    lines.flat_map(str.split).group_by(str).count().local()

    async with materialize(builder, "words") as flow:
        await flow.source.send("to be or not to be")
        async for word, count in flow.sink:
            ...

Both directions deliver at least once, and both are bounded (docs/MATERIALIZE.md).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from heron_api.submissions import capture_submissions
from heron_api.topology import TopologyBuilder
from heron_connectors.bridge.client_items import ClientItems
from heron_connectors.bridge.client_rows import ClientRows
from heron_connectors.bridge.server import BridgeBroken, BridgeServer
from heron_core import config as keys
from heron_core.errors import HeronError, UsageError
from heron_core.loopback import is_loopback
from heron_core.topology import TopologySpec
from heron_io.http_settings import server_tls
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.config import Config
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.streamlet.flow import Flow, FlowSink, FlowSource
from heronpy_compat.streamlet.flowaddress import FlowAddress
from heronpy_compat.streamlet.flowprocesses import guarded, kill, submit
from heronpy_compat.streamlet.impl.clientbolt import ClientSinkStreamlet
from heronpy_compat.streamlet.impl.clientspout import ClientStreamlet
from heronpy_compat.streamlet.streamlet import Streamlet

WINDOW = 1000
"""Default of the elements of a source without an ack: that of topology.max.spout.pending."""
START_SECS = 120.0
"""Deadline for the first instance to connect: containers of a cluster may have to be allocated."""
AWAY_SECS = 30.0
"""Deadline for an instance to connect again: its process is replaced in seconds, a host in ten."""
POLL_SECS = 1.0


@asynccontextmanager
async def materialize(
    builder: Builder,
    name: str,
    config: Config | None = None,
    *,
    options: Sequence[str] = (),
    host: str = "127.0.0.1",
    port: int = 0,
    certificate: str | None = None,
    key: str | None = None,
    window: int = WINDOW,
    detached: bool = False,
    attach: bool = False,
) -> AsyncIterator[Flow]:
    """Submit the remote parts as the topology `name`, and connect them with this process.

    `options` are those of `heronpy submit` (--scheduler, --zookeeper, …). `host` is this machine's
    name as containers reach it; any other than loopback takes a `certificate` and its `key`, files
    in PEM. The topology ends with the `async with`, or with this process, unless `detached`; a
    later client continues with `attach`.

    UsageError for arguments, RuntimeError for a graph, HeronError if the topology cannot be
    submitted, ends by itself early (BridgeBroken), or has not acked all elements at the end.
    """
    check_arguments(host, certificate, key, window)
    ends = ends_of(builder)
    address = FlowAddress.stored(name) if attach else FlowAddress.new(name, host, port, certificate)
    bridge = BridgeServer(address.token, {each: ClientItems(window) for each in ends.sources},
                          {each: ClientRows() for each in ends.sinks})  # fmt: skip
    async with AsyncExitStack() as opened:
        opened.push_async_callback(bridge.close)
        address.port = await bridge.start(address.host, address.port, tls_of(certificate, key))
        if not attach:
            topology = topology_of(builder, name, config, address.settings)
            await opened.enter_async_context(_running(address, topology, options, detached))
        polling = asyncio.get_running_loop().create_task(_poll(bridge, name))
        opened.callback(polling.cancel)
        flow = await opened.enter_async_context(flowing(builder, name, ends, bridge))
        yield flow
        if not detached:
            refuse_unsettled(flow)


def check_arguments(host: str, certificate: str | None, key: str | None, window: int) -> None:
    """UsageError for arguments that contradict each other."""
    if window < 1:
        raise UsageError(f"window={window}: at least one element has to be on its way")
    if (certificate is None) != (key is None):
        raise UsageError("certificate= and key= go together: give both or neither")
    if certificate is None and not is_loopback(host):
        raise UsageError(
            f"host={host!r}: other machines reach it, and elements would cross the network"
            " unencrypted: give certificate= and key= (openssl req -x509 -newkey rsa:2048 -nodes"
            " -keyout key.pem -out certificate.pem -days 365 -subj /CN=flow)"
        )


def tls_of(certificate: str | None, key: str | None) -> ssl.SSLContext | None:
    """TLS of the bridge; UsageError for files that are not a certificate and its key."""
    return server_tls(certificate, key)


class Ends:
    """The local ends of a graph, by name."""

    def __init__(self) -> None:
        self.sources: dict[str, ClientStreamlet] = {}
        self.sinks: dict[str, ClientSinkStreamlet] = {}

    def __iter__(self) -> Iterator[ClientStreamlet | ClientSinkStreamlet]:
        yield from self.sources.values()
        yield from self.sinks.values()


def ends_of(builder: Builder) -> Ends:
    """The local ends; RuntimeError for a graph without, or with two of one name."""
    ends = Ends()
    for streamlet in _all_of(builder._sources):
        name = streamlet.get_name() or ""
        if isinstance(streamlet, ClientStreamlet):
            ends.sources[name] = streamlet
        elif isinstance(streamlet, ClientSinkStreamlet):
            if name in ends.sinks:
                raise StreamletError(f"two local ends have the name {name!r}: local(NAME)")
            ends.sinks[name] = streamlet
    if not ends.sources and not ends.sinks:
        raise StreamletError(
            "the graph has no local part: give it new_local_source() or local(), or run it with"
            " Runner().run"
        )
    return ends


def _all_of(sources: Sequence[Streamlet[Any]]) -> list[Streamlet[Any]]:
    known: dict[int, Streamlet[Any]] = {}
    waiting = list(sources)
    while waiting:
        streamlet = waiting.pop()
        if id(streamlet) not in known:
            known[id(streamlet)] = streamlet
            waiting += streamlet._children
    return list(known.values())


def topology_of(
    builder: Builder, name: str, config: Config | None, settings: dict[str, Any]
) -> TopologySpec:
    """The remote parts. RuntimeError for a reliability mode without acks."""
    merged = dict((config or Config())._api_config)
    mode = merged.setdefault(keys.RELIABILITY_MODE, keys.ATLEAST_ONCE)
    if str(getattr(mode, "value", mode)) != keys.ATLEAST_ONCE:
        raise StreamletError(
            f"{name}: a graph with local parts is acked through the bridge, which takes"
            f" {keys.RELIABILITY_MODE} ATLEAST_ONCE, not {mode}"
        )
    for end in ends_of(builder):
        end.settings = settings
    topology = TopologyBuilder(name)
    topology.set_config(merged)
    builder.build(topology)
    with capture_submissions() as submitted:
        topology.build_and_submit()
    return submitted[0]


@asynccontextmanager
async def flowing(
    builder: Builder, name: str, ends: Ends, bridge: BridgeServer
) -> AsyncIterator[Flow]:
    """The local parts, running."""
    sources = {
        end: FlowSource(end, bridge, source, chain) for end, source, chain in builder._local_sources
    }
    sinks = {end: FlowSink(end, bridge, sink.chain) for end, sink in ends.sinks.items()}
    try:
        yield Flow(name, sources, sinks)
    finally:
        for source in sources.values():
            await source.close()


def refuse_unsettled(flow: Flow) -> None:
    """HeronError if the topology has not acked what was sent."""
    for source in flow.sources.values():
        if source.unsettled or source.abandoned:
            raise HeronError(
                f"{flow.name} ends, and of source {source.name!r} {source.unsettled} elements are"
                f" not processed, {source.abandoned} abandoned: `await"
                f" flow.sources[{source.name!r}].settled()` waits for them"
            )


@asynccontextmanager
async def _running(
    address: FlowAddress, topology: TopologySpec, options: Sequence[str], detached: bool
) -> AsyncIterator[None]:
    """The remote parts, submitted, and killed at the end unless detached."""
    file = address.write(topology)
    async with guarded(address.name, options, detached):
        await submit(address.name, file, options)
        try:
            yield
        finally:
            if not detached:
                await kill(address.name, options)
                address.remove()


async def _poll(bridge: BridgeServer, name: str) -> None:
    """Fail the flow when its topology is gone."""
    loop, has_been, patience_secs = asyncio.get_running_loop(), False, START_SECS
    while True:
        await asyncio.sleep(POLL_SECS)
        if bridge.connected and not has_been:
            has_been, patience_secs = True, AWAY_SECS
        if bridge.lost_at is not None and loop.time() - bridge.lost_at > patience_secs:
            what = "is no longer" if has_been else "is not"
            bridge.fail(
                BridgeBroken(
                    f"topology {name!r} {what} connected with this process, for"
                    f" {patience_secs:.0f} s: it has ended, or does not reach this machine: see"
                    f" `heronpy stats {name}`"
                )
            )
            return


__all__ = ["BridgeBroken", "Flow", "FlowSink", "FlowSource", "materialize"]
