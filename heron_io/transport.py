"""zmq sockets between containers and to the topology master: limits, time-outs, draining.

Within a container instances and their stream manager have Unix sockets (local_connection.py).
"""

from collections.abc import Iterator

import zmq

from heron_core.wire.frames import Frames
from heron_io.security import CurveAuthenticator, Keys

POLLOUT = int(zmq.POLLOUT)
_NOBLOCK, _NOBLOCK_MORE = int(zmq.NOBLOCK), int(zmq.NOBLOCK | zmq.SNDMORE)
"""As integers, for each message: `&` and `|` of a flag make another flag, which takes 1 µs."""

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
