"""zmq sockets as the processes use them: who is who on the local ROUTER, limits, draining.

Each instance process has two DEALERs on its stream manager's ROUTER, one for data and one for
control; a socket's identity says which, of which task, and of which process (incarnation), so that
a successor is never mistaken for its predecessor.
"""

import os
import struct
from collections.abc import Iterator

import zmq

from heron_core.wire.frames import Frames
from heron_io.security import CurveAuthenticator, Keys

DATA = b"d"
CONTROL = b"c"
POLLIN, POLLOUT = int(zmq.POLLIN), int(zmq.POLLOUT)
_NOBLOCK, _NOBLOCK_MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)
"""As integers, for each message: `&` and `|` of a flag make another flag, which takes 1 µs."""
_IDENTITY = struct.Struct("<cIQ")

LOCAL_HWM = 16
"""Messages between an instance and its stream manager, on either side: 4 MiB of full batches."""
PEER_HWM = 64
"""Messages that wait for the connection to a peer: 16 MiB of full batches cover a round trip of
100 ms at full speed. The receiver has no such mark, since zmq stops to read at one, heartbeats as
well: a process that stands still for HEARTBEAT_TIMEOUT_MS would lose its connections, or be ended
by an assertion of libzmq (zeromq/libzmq#4767). The sender's link bounds what the receiver holds:
LINK_BYTES_MAX of messages without an acknowledgement."""


HANDSHAKE_MS = 5_000
"""A client that has not shown its key by then is cut off: zmq's 30 s let a stranger hold six times
as many connections open. A server that has not answered by then is connected to again."""


UNACKNOWLEDGED_MS = 1_500
"""A connection whose packets the other host's kernel has not acknowledged for so long is closed and
made again (TCP_USER_TIMEOUT, RFC 5482): TCP itself repeats a lost packet after a pause that doubles
each time, and goes on as late after a partition or a lossy network is whole. The kernel of a
process that stands still acknowledges for it as long as its receive buffer has room: with more
under way that connection is closed as well, and the link sends again (stream_manager/link.py)."""
HEARTBEAT_MS = 1_000
"""Between two pings on a connection to another host."""
HEARTBEAT_TIMEOUT_MS = 3_000
"""A connection that answers no ping for so long is closed and made again: it may be open at one end
only, and have nothing to acknowledge."""
CONNECT_MS = 500
"""For one attempt to connect; then the next one, whose first packet leaves at once. With the pause
between two it is what passes at most between the end of a partition and a connection. A round trip
across an ocean takes half of it; hosts with a longer one, by a satellite, cannot be connected."""
RECONNECT_MS, RECONNECT_MAX_MS = 50, 200
"""Between two attempts to connect."""


def identity(channel: bytes, task: int, incarnation: int) -> bytes:
    """The identity of an instance's socket."""
    return _IDENTITY.pack(channel, task, incarnation)


def parse_identity(data: bytes) -> tuple[bytes, int, int]:
    """(channel, task, incarnation); struct.error if it is not one."""
    channel, task, incarnation = _IDENTITY.unpack(data)
    return channel, task, incarnation


def local_router(context: "zmq.Context[zmq.Socket[bytes]]", path: str) -> "zmq.Socket[bytes]":
    """The ROUTER of a stream manager, bound to a socket file only its owner can reach."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.ROUTER_MANDATORY, 1)
    router.setsockopt(zmq.RCVHWM, LOCAL_HWM)
    # What goes to an instance is bounded by its window, so the socket need not refuse any.
    router.setsockopt(zmq.SNDHWM, 0)
    router.bind(f"ipc://{path}")
    return router


def tcp_router(
    context: "zmq.Context[zmq.Socket[bytes]]",
    host: str,
    hwm: int,
    bytes_max: int,
    authenticator: CurveAuthenticator,
) -> "tuple[zmq.Socket[bytes], str]":
    """A ROUTER on a free port of `host`, and its address; `bytes_max` limits one frame."""
    router = context.socket(zmq.ROUTER)
    router.setsockopt(zmq.SNDHWM, hwm)
    router.setsockopt(zmq.RCVHWM, 0)
    router.setsockopt(zmq.MAXMSGSIZE, bytes_max)
    _find_broken_connections(router)
    authenticator.guard(router)
    port = router.bind_to_random_port(f"tcp://{host}")
    return router, f"tcp://{host}:{port}"


def connect_local(
    context: "zmq.Context[zmq.Socket[bytes]]", path: str, name: bytes
) -> "zmq.Socket[bytes]":
    """An instance's DEALER to its stream manager; sending blocks when that is busy."""
    return _connected_local(context.socket(zmq.DEALER), path, name)


def watch_local(
    context: "zmq.Context[zmq.Socket[bytes]]", path: str, name: bytes
) -> "zmq.Socket[bytes]":
    """The same, whose monitor (`get_monitor_socket()`) hears of each connection.

    The monitor is there before the first connection: a later one would take a new stream manager
    for the first one.
    """
    dealer = context.socket(zmq.DEALER)
    dealer.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
    return _connected_local(dealer, path, name)


def close_watched(dealer: "zmq.Socket[bytes]", linger_ms: int) -> None:
    """Close a dealer of `watch_local`: its context would wait for the monitor's sockets."""
    monitor = dealer.get_monitor_socket()
    dealer.disable_monitor()
    monitor.close(linger=0)
    dealer.close(linger=linger_ms)


def _connected_local(dealer: "zmq.Socket[bytes]", path: str, name: bytes) -> "zmq.Socket[bytes]":
    dealer.setsockopt(zmq.IDENTITY, name)
    dealer.setsockopt(zmq.SNDHWM, LOCAL_HWM)
    dealer.setsockopt(zmq.RCVHWM, 0)
    dealer.setsockopt(zmq.RECONNECT_IVL, 20)
    dealer.setsockopt(zmq.RECONNECT_IVL_MAX, 200)
    dealer.connect(f"ipc://{path}")
    return dealer


def connect_dealer(
    context: "zmq.Context[zmq.Socket[bytes]]", address: str, hwm: int, keys: Keys
) -> "zmq.Socket[bytes]":
    """A DEALER to a peer or a master of the same topology, over tcp."""
    dealer = context.socket(zmq.DEALER)
    dealer.setsockopt(zmq.SNDHWM, hwm)
    dealer.setsockopt(zmq.RCVHWM, 0)
    keys.use_as_client(dealer)
    _find_broken_connections(dealer)
    dealer.setsockopt(zmq.CONNECT_TIMEOUT, CONNECT_MS)
    dealer.setsockopt(zmq.RECONNECT_IVL, RECONNECT_MS)
    dealer.setsockopt(zmq.RECONNECT_IVL_MAX, RECONNECT_MAX_MS)
    dealer.connect(address)
    return dealer


def _find_broken_connections(sock: "zmq.Socket[bytes]") -> None:
    """Half-open and silent connections are closed within seconds."""
    sock.setsockopt(zmq.TCP_MAXRT, UNACKNOWLEDGED_MS)
    sock.setsockopt(zmq.HEARTBEAT_IVL, HEARTBEAT_MS)
    sock.setsockopt(zmq.HEARTBEAT_TIMEOUT, HEARTBEAT_TIMEOUT_MS)
    sock.setsockopt(zmq.HEARTBEAT_TTL, HEARTBEAT_TIMEOUT_MS)
    sock.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MS)


def send_now(sock: "zmq.Socket[bytes]", frames: Frames) -> None:
    """Send one message, whole; zmq.ZMQError, zmq.Again among them, if the socket takes none."""
    for frame in frames[:-1]:
        sock.send(frame, _NOBLOCK_MORE)
    sock.send(frames[-1], _NOBLOCK)


def drain(sock: "zmq.Socket[bytes]", most: int) -> Iterator[list[bytes]]:
    """Up to `most` messages that are there already."""
    try:
        for _ in range(most):
            yield sock.recv_multipart(_NOBLOCK)
    except zmq.Again:
        return
