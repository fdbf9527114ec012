"""A stream manager's connection to the topology master, at any address.

The master's address is in the state store; a master that takes over writes its own. A broken
connection shows at once that the master is dead or unreachable: the state store is read
immediately, before the master's heartbeat timeout. If the master is unchanged, the connection is
restored automatically, and lost messages are sent again (heron_core.wire.numbered_link).
"""

import logging
from typing import Any

import zmq

from heron_core.errors import ProtocolError
from heron_core.wire.frames import Frames
from heron_core.wire.numbered_link import Packet, decode_header
from heron_engine.stream_manager import events
from heron_engine.stream_manager.master_lookup import RETRY_SECS, MasterLookup
from heron_engine.stream_manager.master_session import MasterSession
from heron_io.security import Keys, monitored_event
from heron_io.transport import connect_dealer, drain

log = logging.getLogger("stream_manager")

WAIT_SECS = RETRY_SECS / 5
"""Longest wait for messages without a master."""
DRAIN_MESSAGES = 256
MONITORED = zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED


class MasterLink:
    """One connection, and the search for its remote end."""

    def __init__(
        self,
        context: "zmq.Context[Any]",
        poller: zmq.Poller,
        keys: Keys,
        incarnation: int,
        lookup: MasterLookup,
    ) -> None:
        """`incarnation`: of the stream manager's process."""
        self._context = context
        self._poller = poller
        self._keys = keys
        self._lookup = lookup
        poller.register(lookup.waker.readable, zmq.POLLIN)
        self._session: MasterSession[bytes] = MasterSession(incarnation)
        self._socket: zmq.Socket[bytes] | None = None
        self._address = ""
        self._monitor: zmq.Socket[bytes] | None = None
        """Reports a broken or restored connection."""
        self._is_broken = False
        """Whether the connection broke, without input since."""
        self._was_broken = False
        """Whether the connection ever broke: a first connection has lost nothing."""

    @property
    def is_polling(self) -> bool:
        """Whether the connection is missing or broken."""
        return self._socket is None or self._is_broken

    @property
    def over(self) -> str:
        """Reason why a master is permanently absent; empty while possible."""
        return self._lookup.over

    def poll(self, now: float) -> events.Event | None:
        """News of the connection for the core: the master's node in the state store, or a
        connection that requires a new registration."""
        if self._session.is_over:
            self._session.renew()
            if self._socket is not None:
                return self._connected()
        if not self.is_polling:
            self._lookup.forget()
            return None
        node = self._lookup.node(now)
        if node is None:
            return None
        if self._socket is None:
            self._connect(node["address"])
            return self._connected()
        return events.MasterReplaced() if node["address"] != self._address else None

    def _connected(self) -> events.MasterConnected:
        # In a partition each search for a silent master opens a connection. Only one registration
        # is queued for the remote end, not one per connection.
        return events.MasterConnected(registers=self._session.begin_registration())

    def received(self, ready: dict[Any, int], now: float) -> list[bytes]:
        """Input from the master, in order."""
        if self._socket is None or self._monitor is None:
            return []
        if self._monitor in ready:
            for frames in drain(self._monitor, DRAIN_MESSAGES):
                self._connection_changed(monitored_event(frames))
        if self._socket not in ready:
            return []
        self._is_broken = False
        messages = [self._taken(frames, now) for frames in drain(self._socket, DRAIN_MESSAGES)]
        return [message for message in messages if message is not None]

    def _connection_changed(self, event: int) -> None:
        self._is_broken = event == zmq.EVENT_DISCONNECTED
        if self._is_broken:
            self._was_broken = True
        elif self._was_broken:
            log.info("reconnected to the topology master")
            self._put(self._session.reconnected())

    def _taken(self, frames: Frames, now: float) -> bytes | None:
        if len(frames) == 1:
            return frames[0]  # rejected by an engine of a different protocol, without numbering
        message = frames[0]
        try:
            header = decode_header(frames[1])
        except ProtocolError:
            return b""  # no message either, and counted as such
        taken = self._session.take(Packet(header, message or None), now)
        for answer in taken.answers:
            self._put(answer)
        return taken.message

    def send(self, message: bytes) -> None:
        """Send to the master, now or once connected."""
        self._put(self._session.send(message))

    def _put(self, packet: Packet[bytes]) -> None:
        if self._socket is not None:
            self._socket.send_multipart([packet.message or b"", packet.header.encode()])

    def statistics(self) -> dict[str, int]:
        """Counts of repeated messages, and of messages lost with a session."""
        return self._session.statistics()

    def disconnect(self, linger_ms: int = 0) -> None:
        """Close the connection; the next search is for a new master."""
        if self._socket is None or self._monitor is None:
            return
        log.info("the connection to the topology master at %s is closed", self._address)
        for socket in (self._socket, self._monitor):
            self._poller.unregister(socket)
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=linger_ms)
        self._socket = self._monitor = None

    def close(self) -> None:
        """Look no more; the context's owner closes the sockets."""
        self._lookup.close()

    def _connect(self, address: str) -> None:
        self._session.found(address)
        self._address = address
        self._socket = connect_dealer(self._context, address, 0, self._keys)
        self._monitor = self._socket.get_monitor_socket(MONITORED)
        self._is_broken = self._was_broken = False
        for each in (self._socket, self._monitor):
            self._poller.register(each, zmq.POLLIN)
        self._put(self._session.reconnected())
