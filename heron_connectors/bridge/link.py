"""An instance's side of the bridge: keeps a connection to the client, on the component's loop.

    CONNECTING ─► GREETING ─► CONNECTED ─► (lost) CONNECTING, after a pause that doubles

`send` has an effect only while CONNECTED: an end sends again what matters when it is connected.
"""

import asyncio
import secrets
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from heron_connectors.bridge.frames import (
    FRAME_BYTES_MAX,
    GREETING_BYTES_MAX,
    NONCE_BYTES,
    BridgeFrame,
    EndHello,
    closed,
    field,
    frame,
    is_proof,
    proof,
    read_frame,
)
from heron_core.algorithms.retries import pause_secs
from heron_core.errors import ProtocolError

ADDRESS = "bridge.address"
"""Config key of an end: host and port of the client; empty in a tester."""
TOKEN = "bridge.token"
"""Config key: the token of the flow, in hex."""
CERTIFICATE = "bridge.certificate"
"""Config key: the client's certificate in PEM, for TLS."""
END = "bridge.end"
"""Config key: name of the source or sink."""

RETRY_SECS = 0.05
RETRY_SECS_MAX = 2.0
"""Pause between attempts: short, as a client that is restarted waits for its topology."""
GREETING_SECS = 10.0


class ClientAddress(Struct, frozen=True):
    """Where the client is."""

    host: str
    port: int
    token: bytes
    certificate: str | None

    @staticmethod
    def of(config: Mapping[str, Any]) -> "ClientAddress | None":
        """As the config of an end says; None in a tester."""
        host, _, port = str(config[ADDRESS]).rpartition(":")
        if not port:
            return None
        token = bytes.fromhex(str(config[TOKEN]))
        return ClientAddress(host, int(port), token, config.get(CERTIFICATE))

    def tls(self) -> ssl.SSLContext | None:
        """TLS that trusts the client's certificate alone; its name is not compared, because a
        flow's certificate is made for the flow."""
        if self.certificate is None:
            return None
        context = ssl.create_default_context(cadata=self.certificate)
        context.check_hostname = False
        return context


Take = Callable[[BridgeFrame, list[Any]], None]
Connected = Callable[[str], None]
Report = Callable[[str, str], None]


class BridgeLink:
    """One end's connection. The callbacks run on the event loop."""

    def __init__(
        self,
        address: ClientAddress,
        hello: EndHello,
        connected: Connected,
        take: Take,
        report: Report,
    ) -> None:
        """`connected` receives the client's id; `report` is called once for each loss."""
        self._address, self._hello = address, hello
        self._connected, self._take, self._report = connected, take, report
        self._writer: asyncio.StreamWriter | None = None
        self._failures = 0
        self.is_connected = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def send(self, kind: BridgeFrame, *fields: Any) -> None:
        """Send a frame if connected."""
        if self._writer is not None:
            self._writer.write(frame(kind, *fields))

    async def close(self) -> None:
        """End the connection after what was sent."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        tls = self._address.tls()
        while True:
            try:
                await self._connect(tls)
            except (OSError, EOFError, ProtocolError, TimeoutError) as error:
                self._lost(error)
            secs = min(pause_secs(RETRY_SECS, self._failures), RETRY_SECS_MAX)
            await asyncio.sleep(secs)

    def _lost(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 2:  # the first attempt follows a loss at once, and mostly succeeds
            where = f"{self._address.host}:{self._address.port}"
            self._report("the client of this topology cannot be reached", f"{where}: {error}")

    async def _connect(self, tls: ssl.SSLContext | None) -> None:
        async with asyncio.timeout(GREETING_SECS):
            reader, writer = await asyncio.open_connection(
                self._address.host, self._address.port, ssl=tls
            )
        try:
            async with asyncio.timeout(GREETING_SECS):
                client = await self._greet(reader, writer)
            self._failures, self._writer = 0, writer
            self.is_connected.set()
            self._connected(client)
            while True:
                self._take(*await read_frame(reader, FRAME_BYTES_MAX))
        finally:
            self._writer = None
            self.is_connected.clear()
            await closed(writer)

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        token, nonce = self._address.token, secrets.token_bytes(NONCE_BYTES)
        kind, fields = await read_frame(reader, GREETING_BYTES_MAX)
        if kind != BridgeFrame.CHALLENGE:
            raise ProtocolError(f"{kind.name} instead of a challenge")
        own = proof(token, "end", field(fields, 0, bytes))
        hello = {name: getattr(self._hello, name) for name in EndHello.__struct_fields__}
        writer.write(frame(BridgeFrame.HELLO, own, nonce, hello))
        kind, fields = await read_frame(reader, GREETING_BYTES_MAX)
        if kind != BridgeFrame.WELCOME or not is_proof(
            field(fields, 0, bytes), token, "client", nonce
        ):
            raise ProtocolError("the client does not have this topology's token")
        client: str = field(fields, 1, str)
        return client
