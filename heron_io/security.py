"""Doors between processes over tcp: only who holds the topology's key pair comes in.

Each topology has a CURVE key pair of its own, made when it starts and kept in the state store. Its
processes use it on both sides: a server lets in clients whose public key is the topology's, and a
client that does not know the server's public key cannot even begin. Local sockets need none of it:
they lie in a folder that only its owner may enter.
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
"""An intruder that tries again and again must not fill the log."""
_FAILED = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
_MONITOR_EVENT = struct.Struct("=Hi")
"""The first frame of what a monitor says: event, value."""


def monitored_event(frames: list[bytes]) -> int:
    """Which event a monitor socket tells of. zmq.utils.monitor reads it, too, but imports asyncio
    and ssl, a quarter of what a process of the engine imports."""
    event: int = _MONITOR_EVENT.unpack(frames[0])[0]
    return event


class Keys(Struct, frozen=True):
    """A topology's CURVE key pair, each 40 characters of Z85, and the key of its states."""

    omitted: ClassVar[tuple[str, ...]] = ("run", "states")
    public: str
    secret: str
    run: str = ""
    """The run whose states this one goes on with; empty: its own."""
    states: str = ""
    """Signs the states of its checkpoints, in hex; empty: they are not signed."""

    @staticmethod
    def new(run: str = "", states: bytes = b"") -> "Keys":
        """A new pair, for a topology whose states the key `states` signs."""
        public, secret = zmq.curve_keypair()
        return Keys(public.decode("ascii"), secret.decode("ascii"), run, states.hex())

    @property
    def states_key(self) -> bytes:
        """As bytes."""
        return bytes.fromhex(self.states)

    @staticmethod
    def stored(data: Any) -> "Keys":
        """The pair of a node of the state store; ProtocolError if it has none."""
        return from_json(Keys, data, "a topology's pair of keys")

    def use_as_client(self, sock: "zmq.Socket[bytes]") -> None:
        """Let a socket connect to servers of the same topology."""
        self._own(sock)
        sock.curve_serverkey = self.public.encode("ascii")

    def _own(self, sock: "zmq.Socket[bytes]") -> None:
        sock.curve_publickey = self.public.encode("ascii")
        sock.curve_secretkey = self.secret.encode("ascii")

    def use_as_server(self, sock: "zmq.Socket[bytes]") -> None:
        """Let a socket accept clients; `CurveAuthenticator` says which."""
        self._own(sock)
        sock.curve_server = True


class CurveAuthenticator:
    """Lets clients with the topology's key into the guarded sockets of one context.

    It answers zmq's questions about clients (ZAP, RFC 27) from the process's own poll loop, so it
    needs no thread.
    """

    def __init__(self, context: "zmq.Context[zmq.Socket[bytes]]", keys: Keys) -> None:
        self._keys = keys
        self._allowed = z85.decode(keys.public.encode("ascii"))
        self._questions = context.socket(zmq.REP)
        self._questions.bind("inproc://zeromq.zap.01")
        self._monitors: list[zmq.Socket[bytes]] = []
        self.refused = 0
        """Clients that were not let in."""
        self.disconnected = 0
        """Connections that have ended: of processes that died or were refused, and those that zmq
        cut for bytes of another protocol or for a frame that is too long."""
        self._logged_at = float("-inf")
        self._last = "?"

    def guard(self, sock: "zmq.Socket[bytes]") -> None:
        """Before it is bound: let only clients with the key into this socket."""
        self._keys.use_as_server(sock)
        self._monitors.append(sock.get_monitor_socket(_FAILED | zmq.EVENT_DISCONNECTED))

    @property
    def sockets(self) -> list["zmq.Socket[bytes]"]:
        """To be polled for input; `serve` when there is any."""
        return [self._questions, *self._monitors]

    def serve(self, ready: dict[Any, int], now: float) -> None:
        """Answer what came, count and tell who was refused."""
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
