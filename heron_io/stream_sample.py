"""A sample of the tuples on a stream of a running topology: asked for, and read until it is there.

Its master asks the instances; who wants to see them looks again and again what has come.
"""

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from heron_core.topology import DEFAULT_STREAM

COUNT = 10
COUNT_MAX = 100
"""As topology_master.samples has it: what a person reads."""
SECS = 10
SECS_MAX = 60
POLL_SECS = 0.2

Ask = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Command and arguments -> the master's answer; HeronError if it refuses."""


class WantedSample(Struct, frozen=True):
    """What somebody wants to see."""

    component: str
    stream: str = DEFAULT_STREAM
    count: int = COUNT
    secs: int = SECS


def sampled(
    ask: Ask, wanted: WantedSample, rest: Callable[[float], object] = time.sleep
) -> list[dict[str, Any]]:
    """The tuples that came in time: task, instance, and values by field; HeronError for what there
    is not."""
    number = ask("sample", asdict(wanted))["sample"]
    deadline = time.monotonic() + wanted.secs
    while True:
        answer = ask("sampled", {"sample": number})
        if answer["complete"] or time.monotonic() >= deadline:
            return list(answer["tuples"])
        rest(POLL_SECS)
