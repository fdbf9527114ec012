"""A stream manager's connection to the topology master, wherever that is.

The master's address is in the state store; a master that takes over writes its own. A connection
that breaks says at once that the master is gone or cut off: whoever is in the state store then is
looked for, rather than after the time for which a master may be silent.
"""

import logging
from typing import Any

import zmq

from heron_core.errors import StateStoreError
from heron_core.state_tree import master_path
from heron_core.wire.frames import Frames
from heron_io.known_master import KnownMaster
from heron_io.security import Keys
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import CONNECTED, StateStore
from heron_io.transport import connect_dealer, drain
from stream_manager import events

log = logging.getLogger("stream_manager")

RETRY_SECS = 0.05
"""Between two looks for the master's address: only while there is none."""
WAIT_SECS = RETRY_SECS / 5
"""For messages at most, meanwhile."""
DRAIN_MESSAGES = 256


class MasterLink:
    """One connection, and the look for its other end."""

    def __init__(
        self,
        context: "zmq.Context[Any]",
        poller: zmq.Poller,
        keys: Keys,
        store_url: str,
        topology: str,
        known: KnownMaster,
    ) -> None:
        self._context = context
        self._poller = poller
        self._keys = keys
        self._store_url = store_url
        self._store: StateStore | None = None
        self._session = CONNECTED
        self._path = master_path(topology)
        self._known = known
        self._socket: zmq.Socket[bytes] | None = None
        self._address = ""
        self._monitor: zmq.Socket[bytes] | None = None
        """Tells when the connection breaks."""
        self._is_broken = False
        """Whether it broke, and nothing has come since."""
        self._look_at = 0.0

    @property
    def looks(self) -> bool:
        """Whether there is no connection, or a broken one."""
        return self._socket is None or self._is_broken

    def look(self, now: float) -> events.Event | None:
        """If it is time for it: what the state store says of the master, where that is news."""
        if not self.looks or now < self._look_at:
            return None
        self._look_at = now + RETRY_SECS
        node = self._node()
        if node is None:
            return None
        if self._socket is None:
            self._connect(node["address"])
            return events.MasterConnected()
        return events.MasterReplaced() if node["address"] != self._address else None

    def received(self, ready: dict[Any, int]) -> list[Frames]:
        """What has come from the master."""
        if self._socket is None or self._monitor is None:
            return []
        if self._monitor in ready:
            self._is_broken = any(drain(self._monitor, DRAIN_MESSAGES))
        if self._socket not in ready:
            return []
        self._is_broken = False
        return list(drain(self._socket, DRAIN_MESSAGES))

    def send(self, message: bytes) -> None:
        """To the master, if there is a connection."""
        if self._socket is not None:
            self._socket.send(message)

    def disconnect(self, linger_ms: int = 0) -> None:
        """Close the connection; the next look is for another one."""
        if self._socket is None or self._monitor is None:
            return
        log.info("the connection to the topology master at %s is closed", self._address)
        for each in (self._socket, self._monitor):
            self._poller.unregister(each)
        self._socket.disable_monitor()
        self._monitor.close(linger=0)
        self._socket.close(linger=linger_ms)
        self._socket = self._monitor = None

    def close(self) -> None:
        """Let go of the state store; the context's owner closes the sockets."""
        if self._store is not None:
            self._store.close()

    def _connect(self, address: str) -> None:
        self._address = address
        self._socket = connect_dealer(self._context, address, 0, self._keys)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._is_broken = False
        for each in (self._socket, self._monitor):
            self._poller.register(each, zmq.POLLIN)

    def _node(self) -> Any | None:
        """The master's node; None while there is none. Without a state store to ask it is where it
        was last: data goes on."""
        try:
            if self._store is None:
                self._store = open_store(self._store_url)
                self._store.on_session(self._session_changed)
            if self._session == CONNECTED:
                node = self._store.get(self._path)
                if node is not None:
                    self._known.remember(node)
                return node
        except StateStoreError as error:
            log.warning("cannot look for the topology master: %s", error)
        return self._known.recall()

    def _session_changed(self, state: str) -> None:
        """From a thread of the state store."""
        self._session = state
