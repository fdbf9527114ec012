"""Connections between containers: what a receiver that stands still for a while does not lose."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import zmq

from heron_io import transport
from heron_io.security import CurveAuthenticator, Keys

MESSAGES = 4 * transport.PEER_HWM
STALL_SECS = 2.5
DEADLINE_SECS = 30.0


def test_a_receiver_that_stands_still_keeps_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its heartbeats are read however much waits for it: zmq stops to read at a high-water mark."""
    monkeypatch.setattr(transport, "HEARTBEAT_MS", 500)
    monkeypatch.setattr(transport, "HEARTBEAT_TIMEOUT_MS", 1500)
    keys = Keys.new()
    with zmq.Context() as ours, zmq.Context() as theirs:
        authenticator = CurveAuthenticator(ours, keys)
        router, address = transport.tcp_router(
            ours, "127.0.0.1", transport.PEER_HWM, 1 << 20, authenticator
        )
        dealer = transport.connect_dealer(theirs, address, transport.PEER_HWM, keys)
        dealer.setsockopt(zmq.SNDTIMEO, int(1000 * DEADLINE_SECS))
        poller = zmq.Poller()
        for each in (router, *authenticator.sockets):
            poller.register(each, zmq.POLLIN)
        received = 0
        dealer.send(b"the first")
        while not received:
            ready = dict(poller.poll(int(1000 * DEADLINE_SECS)))
            authenticator.serve(ready, time.monotonic())
            received = len(list(transport.drain(router, 1)))
        for _ in range(MESSAGES):
            dealer.send(bytes(10_000))
        told = zmq.Poller()  # of a connection that has ended; nothing is received meanwhile
        for each in authenticator.sockets:
            told.register(each, zmq.POLLIN)
        assert not told.poll(int(1000 * STALL_SECS))
        end = time.monotonic() + DEADLINE_SECS
        while received <= MESSAGES and time.monotonic() < end:
            ready = dict(poller.poll(100))
            authenticator.serve(ready, time.monotonic())
            received += len(list(transport.drain(router, 256)))
        for each in (dealer, router, *authenticator.sockets):
            each.close(linger=0)
    assert received == MESSAGES + 1
    assert not authenticator.disconnected


@pytest.mark.skipif(sys.platform != "linux", reason="the option is Linux's")
def test_the_kernel_closes_a_connection_whose_packets_are_lost_at_both_ends() -> None:
    with zmq.Context() as context:
        authenticator = CurveAuthenticator(context, keys := Keys.new())
        router, address = transport.tcp_router(context, "127.0.0.1", 16, 1 << 20, authenticator)
        dealer = transport.connect_dealer(context, address, 16, keys)
        port = int(address.rpartition(":")[2])
        end = time.monotonic() + DEADLINE_SECS
        while len(ends := list(_user_timeouts_ms(port))) < 2 and time.monotonic() < end:
            router.poll(10)
        for each in (dealer, router, *authenticator.sockets):
            each.close(linger=0)
    assert ends == [transport.UNACKNOWLEDGED_MS] * 2


def _user_timeouts_ms(port: int) -> Iterator[int]:
    """Of the connections to a port, of which this process has both ends."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(descriptor.name))) as connection:
            is_tcp = connection.family == socket.AF_INET
            if is_tcp and port in (connection.getpeername()[1], connection.getsockname()[1]):
                yield connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
