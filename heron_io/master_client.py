"""Talks to a running topology's master, whose address is in the state store."""

import time
from typing import TYPE_CHECKING, Any, Self

import zmq

from heron_core.errors import HeronError, OtherProtocol, StateStoreError
from heron_core.state_tree import keys_path, master_path
from heron_core.version import PROTOCOL, other_engine
from heron_core.wire import message_codec, messages
from heron_io.security import Keys
from heron_io.state_store.protocol import StateStore
from heron_io.transport import connect_dealer

if TYPE_CHECKING:
    from heron_core.stats import TopologyStats

ANSWER_SECS = 3.0
"""Timeout of an answer: a master answers within milliseconds."""


class NoAnswer(HeronError):
    """The master is missing, or has not confirmed the command."""


class MasterClient:
    """Commands to a topology's master, whose address is looked up again without an answer."""

    def __init__(
        self, store: StateStore, name: str, context: "zmq.Context[zmq.Socket[bytes]] | None" = None
    ) -> None:
        """`context`: shared by clients of many masters, together with its threads."""
        self._store = store
        self._name = name
        self._shared = context is not None
        self._context: zmq.Context[zmq.Socket[bytes]] = context or zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._keys: Keys | None = None

    def connected_to(self, address: str) -> "zmq.Socket[bytes]":
        """A connection to a stream manager of the topology, whose address the master has told."""
        assert self._keys is not None, "the master has told nothing yet"
        return connect_dealer(self._context, address, 0, self._keys)

    def ask(
        self, command: str, arguments: dict[str, Any] | None = None, wait_secs: float = ANSWER_SECS
    ) -> dict[str, Any]:
        """The master's answer; NoAnswer without one, HeronError for a rejection."""
        deadline = time.monotonic() + wait_secs
        reply = self._exchange(messages.Command(command, arguments or {}), deadline)
        if reply is None:
            raise NoAnswer(
                f"the topology master of {self._name!r} does not answer: look at "
                f"`heronpy tail {self._name}`"
            )
        if not reply.ok:
            raise HeronError(str(reply.data.get("error", "the master refused")))
        return dict(reply.data)

    def try_ask(
        self, command: str, arguments: dict[str, Any] | None = None, wait_secs: float = ANSWER_SECS
    ) -> dict[str, Any] | None:
        """Like `ask`, but None without an answer, also of the state store."""
        deadline = time.monotonic() + wait_secs
        try:
            reply = self._exchange(messages.Command(command, arguments or {}), deadline)
        except (StateStoreError, OtherProtocol):  # a display of a run continues, like the run
            return None
        return dict(reply.data) if reply is not None and reply.ok else None

    def stats(
        self, component: str | None = None, wait_secs: float = ANSWER_SECS
    ) -> "TopologyStats":
        """All numbers, those of one component's instances too if it is given, or of
        EVERY_COMPONENT's; errors as `ask`."""
        from heron_core.stats import TopologyStats  # smaller requests do not need the import

        return TopologyStats.from_json(self.ask("stats", {"component": component}, wait_secs))

    def try_stats(
        self, wait_secs: float = ANSWER_SECS, component: str | None = None
    ) -> "TopologyStats | None":
        """Like `stats`, but None without an answer, also of the state store."""
        from heron_core.stats import TopologyStats

        arguments = None if component is None else {"component": component}
        found = self.try_ask("stats", arguments, wait_secs)
        return None if found is None else TopologyStats.from_json(found)

    def _exchange(self, command: messages.Command, deadline: float) -> messages.Reply | None:
        dealer = self._connected()
        if dealer is None:
            return None
        dealer.send(message_codec.encode(command))
        if not dealer.poll(max(1, int((deadline - time.monotonic()) * 1000))):
            self._disconnect()  # its late answer must not be taken for the next one
            return None
        reply: messages.Reply = message_codec.decode(dealer.recv())
        return reply

    def _connected(self) -> "zmq.Socket[bytes] | None":
        if self._socket is None:
            location = self._store.get(master_path(self._name))
            if location is None:
                return None
            self._check_engine(location)
            keys = self._store.get(keys_path(self._name))
            if keys is None:
                return None
            self._keys = Keys.stored(keys)
            self._socket = connect_dealer(self._context, location["address"], 0, self._keys)
        return self._socket

    def _check_engine(self, master: dict[str, Any]) -> None:
        """OtherProtocol if the master would not understand us."""
        protocol = master.get("protocol", PROTOCOL)
        if protocol != PROTOCOL:
            who = f"the topology master of {self._name}"
            raise OtherProtocol(other_engine(who, str(master.get("version")), protocol))

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close(linger=0)
            self._socket = None

    def close(self) -> None:
        """Let the sockets go."""
        self._disconnect()
        if not self._shared:
            self._context.destroy(linger=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
