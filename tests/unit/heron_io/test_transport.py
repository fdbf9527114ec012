"""Connections between containers: what a receiver that stands still for a while does not lose."""

import time

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
