"""Authentication between processes over tcp: access is by the topology's key pair.

Each topology has a CURVE key pair, created at the start and stored in the state store. Client and
server both use the pair: a server accepts clients with the topology's public key, and a client
without the server's public key cannot complete a handshake. Local sockets need no keys: their
folder is accessible to its owner alone.
"""

import logging
import struct
from typing import Any, ClassVar

import zmq
from msgspec import Struct
from zmq.utils import z85

from heron_core.typed_json import from_json

log = logging.getLogger("security")

LOG_EVERY_SECS = 60.0
"""Repeated attempts of an intruder must not fill the log."""
_FAILED = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
_MONITOR_EVENT = struct.Struct("=Hi")
"""First frame of a monitor's message: event, value."""


def monitored_event(frames: list[bytes]) -> int:
    """The event of a monitor's message. zmq.utils.monitor would do, but imports asyncio and ssl, a
    quarter of the imports of an engine's process."""
    event: int = _MONITOR_EVENT.unpack(frames[0])[0]
    return event


class Keys(Struct, frozen=True):
    """A topology's CURVE key pair, each 40 characters of Z85, and the key of its states."""

    omitted: ClassVar[tuple[str, ...]] = ("run", "states")
    public: str
    secret: str
    run: str = ""
    """The earlier run whose states this run continues; empty: its own."""
    states: str = ""
    """Key for signatures of checkpoints' states, in hex; empty: states are not signed."""

    @staticmethod
    def new(run: str = "", states: bytes = b"") -> "Keys":
        """A new pair; the key `states` signs the topology's states."""
        public, secret = zmq.curve_keypair()
        return Keys(public.decode("ascii"), secret.decode("ascii"), run, states.hex())

    @property
    def states_key(self) -> bytes:
        """The key `states` as bytes."""
        return bytes.fromhex(self.states)

    @staticmethod
    def stored(data: Any) -> "Keys":
        """The pair from a node of the state store; ProtocolError for a node without keys."""
        return from_json(Keys, data, "a topology's pair of keys")

    def use_as_client(self, sock: "zmq.Socket[bytes]") -> None:
        """Let a socket connect to servers of the same topology."""
        self._own(sock)
        sock.curve_serverkey = self.public.encode("ascii")

    def _own(self, sock: "zmq.Socket[bytes]") -> None:
        sock.curve_publickey = self.public.encode("ascii")
        sock.curve_secretkey = self.secret.encode("ascii")

    def use_as_server(self, sock: "zmq.Socket[bytes]") -> None:
        """Let a socket accept clients chosen by `CurveAuthenticator`."""
        self._own(sock)
        sock.curve_server = True


class CurveAuthenticator:
    """Lets clients with the topology's key into the guarded sockets of one context.

    Answers zmq's questions about clients (ZAP, RFC 27) from the process's poll loop, without a
    thread.
    """

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", keys: Keys) -> None:
        self._keys = keys
        self._allowed = z85.decode(keys.public.encode("ascii"))
        self._questions = context.socket(zmq.REP)
        self._questions.bind("inproc://zeromq.zap.01")
        self._monitors: list[zmq.Socket[bytes]] = []
        self.refused = 0
        """Refused clients."""
        self.disconnected = 0
        """Ended connections: of dead or refused processes, and connections cut by zmq for bytes of
        another protocol or an overlong frame."""
        self._logged_at = float("-inf")
        self._last = "?"

    def guard(self, sock: "zmq.Socket[bytes]") -> None:
        """Let only clients with the key into a socket; before `bind`."""
        self._keys.use_as_server(sock)
        self._monitors.append(sock.get_monitor_socket(_FAILED | zmq.EVENT_DISCONNECTED))

    @property
    def sockets(self) -> list["zmq.Socket[bytes]"]:
        """Sockets to poll for input, for `serve`."""
        return [self._questions, *self._monitors]

    def serve(self, ready: dict[Any, int], now: float) -> None:
        """Answer questions about clients; count and log refused clients."""
        if self._questions in ready:
            self._answer(self._questions.recv_multipart())
        for monitor in self._monitors:
            if monitor in ready:
                event = monitored_event(monitor.recv_multipart())
                if event == zmq.EVENT_DISCONNECTED:
                    self.disconnected += 1
                else:
                    self._refuse(self._last, now)

    def _answer(self, question: list[bytes]) -> None:
        version, request, _domain, address, _identity, mechanism, *credentials = question
        known = mechanism == b"CURVE" and credentials == [self._allowed]
        if not known:
            self._last = address.decode("ascii", "replace")
        status = (b"200", b"OK") if known else (b"400", b"not of this topology")
        self._questions.send_multipart([version, request, *status, b"", b""])

    def _refuse(self, who: str, now: float) -> None:
        self.refused += 1
        if now - self._logged_at >= LOG_EVERY_SECS:
            self._logged_at = now
            log.warning(
                "refused a connection without this topology's key (last address %s, %d so far)",
                who,
                self.refused,
            )
