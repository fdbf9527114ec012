"""Entries of requests expire by their age, however often a request is repeated."""

import time
from typing import Any

import pytest

from heron_api.requests.expiring import ExpiringEntries
from heron_api.topology_context import TopologyContext

SECS = 10


class Context(TopologyContext):
    """Without a topology: ticks are requested and never come."""

    def __init__(self) -> None:
        pass

    def request_ticks(self, secs: float) -> None:
        """See TopologyContext."""


def test_a_repeated_request_is_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first position would end the search for older entries."""
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    config = {"topology.message.timeout.secs": SECS}
    entries: ExpiringEntries[Any] = ExpiringEntries(config, Context())
    for at, request in enumerate(("repeated", "lost", "repeated")):
        now[0] = float(at)
        entries.add(request, at)
    now[0] = SECS + 1.0
    assert list(entries.expired()) == ["lost"]
    now[0] = SECS + 2.0
    assert list(entries.expired()) == ["repeated"]
    assert len(entries) == 0
