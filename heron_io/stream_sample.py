"""Sample of a running topology's tuples on a stream: requested, then polled until complete.

The master forwards the request to the instances; the client polls the result.
"""

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from heron_core.topology import DEFAULT_STREAM

COUNT = 10
COUNT_MAX = 100
"""Limit as in topology_master.samples: enough for a person."""
SECS = 10
SECS_MAX = 60
POLL_SECS = 0.2

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Command and arguments -> the master's answer; HeronError if it refuses."""


class WantedSample(Struct, frozen=True):
    """The requested sample."""

    component: str
    stream: str = DEFAULT_STREAM
    count: int = COUNT
    secs: int = SECS


def sampled(
    ask: Ask, wanted: WantedSample, rest: Callable[[float], object] = time.sleep
) -> list[dict[str, Any]]:
    """Tuples received in time: task, instance, and values by field; HeronError for an unknown
    stream."""
    number = ask("sample", asdict(wanted))["sample"]
    deadline = time.monotonic() + wanted.secs
    while True:
        answer = ask("sampled", {"sample": number})
        if answer["complete"] or time.monotonic() >= deadline:
            return list(answer["tuples"])
        rest(POLL_SECS)
