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
"""Time for a client to prove its key: zmq's 30 s would let a stranger hold six times as many
connections open. A client reconnects to a server that is silent for the same time.
"""


UNACKNOWLEDGED_MS = 1_500
"""A connection with packets unacknowledged by the other host's kernel for this time is closed and
reopened (TCP_USER_TIMEOUT, RFC 5482): TCP itself repeats a lost packet after a pause that doubles
each time, and so resumes late after a partition or packet loss. The kernel of a stopped process
acknowledges as long as its receive buffer has room: with more data under way the connection is
closed as well, and the link repeats the data (stream_manager/link.py).
"""
HEARTBEAT_MS = 1_000
"""Between two pings on a connection to another host."""
HEARTBEAT_TIMEOUT_MS = 3_000
"""A connection without an answer to pings for this time is closed and reopened: the connection may
be open at one end only, without anything to acknowledge.
"""
CONNECT_MS = 500
"""Limit of one attempt to connect, followed at once by the next. Together with the pause between
attempts, the limit bounds the time from the end of a partition to a connection. A round trip across
an ocean takes half of the limit; hosts with a longer round trip, by satellite, cannot be connected.
"""
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
    """Send one whole message; zmq.ZMQError, including zmq.Again, if the socket refuses."""
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
