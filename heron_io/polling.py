"""Waiting for what nobody announces."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

POLL_SECS = 0.05
"""What a person sees as at once, and what costs a state store next to nothing."""


def wait_until(
    condition: Callable[[], Found], timeout_secs: float, poll_secs: float = POLL_SECS
) -> Found:
    """The first true value of `condition`, which is asked every `poll_secs`, or its last one after
    `timeout_secs`."""
    deadline = time.monotonic() + timeout_secs
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(poll_secs)
    return found
