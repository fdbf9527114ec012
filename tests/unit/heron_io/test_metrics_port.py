"""A port for Prometheus beside a loop that owns the numbers: real HTTP, the loop is the test."""

import http.client
import select
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from heron_core.errors import HeronError
from heron_io.metrics_port import SCRAPES_AT_ONCE, MetricsPort

SECS = 60.0


@pytest.fixture
def port() -> Iterator[MetricsPort]:
    """On any port that is free."""
    made = MetricsPort("127.0.0.1", 0)
    yield made
    made.close()


def get(port: MetricsPort, path: str, **headers: str) -> tuple[int, str]:
    """Status and text."""
    client = http.client.HTTPConnection(urlsplit(port.address).netloc, timeout=SECS)
    client.request("GET", path, headers=headers)
    answer = client.getresponse()
    found = answer.status, answer.read().decode()
    client.close()
    return found


def test_several_scrapes_are_answered_by_the_loop(port: MetricsPort) -> None:
    """Each gets the format that it asks for."""
    with ThreadPoolExecutor(2) as clients:
        asked = [clients.submit(get, port, "/metrics", accept=each) for each in ("a", "b")]
        while not all(each.done() for each in asked):
            if select.select([port.asked.readable], [], [], 0.01)[0]:
                port.answer(lambda accept: (f"for {accept}".encode(), "text/plain"))
    assert [each.result() for each in asked] == [(200, "for a"), (200, "for b")]


def test_what_is_not_a_scrape_does_not_reach_the_loop(port: MetricsPort) -> None:
    """Nor does a page whose name was pointed at this machine."""
    assert get(port, "/etc/passwd")[0] == 404
    assert get(port, "/metrics", host="evil.example")[0] == 421
    assert select.select([port.asked.readable], [], [], 0)[0] == []


def test_a_port_that_is_taken_is_one_line(port: MetricsPort) -> None:
    taken = urlsplit(port.address).port
    assert taken is not None
    line = rf"127\.0\.0\.1 port {taken} cannot be used: Address already in use\. Give topology"
    with pytest.raises(HeronError, match=line):
        MetricsPort("127.0.0.1", taken)


def test_half_sent_requests_lock_nobody_out(port: MetricsPort) -> None:
    """More of them than there are threads, and they stay."""
    address = urlsplit(port.address)
    with ExitStack() as held:
        for _ in range(3 * SCRAPES_AT_ONCE):
            client = socket.create_connection((address.hostname, address.port), SECS)
            held.enter_context(client)
            client.sendall(b"GET /metrics HT")
        assert get(port, "/nothing")[0] == 404
