"""A pytest plugin: the process of a test that no exception ends prints its stacks, and ends.

pytest-timeout raises an exception in the test. Compiled code in a loop does not see the exception,
a task of asyncio keeps it, and a clean-up behind it may wait for ever. Then the plugin acts: with
several processes the test fails by its name, and a new process runs the remaining tests.
"""

import faulthandler
import os
from collections.abc import Generator

import pytest

GRACE_SECS = 60.0
"""From the time-out of a test to the end of its process: the time of a clean-up, granted again once
started."""
STANDARD_ERROR = 2
_output = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Before output is captured."""
    config.stash[_output] = os.dup(STANDARD_ERROR)


def pytest_unconfigure(config: pytest.Config) -> None:
    """After the last test."""
    os.close(config.stash[_output])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """From before the fixtures of a test to behind them."""
    _end_later(item)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """pytest has cancelled the end of a test that failed, as it may be looked at in a debugger."""
    _end_later(item)


def _end_later(item: pytest.Item) -> None:
    marker = item.get_closest_marker("timeout")
    secs = marker.args[0] if marker is not None else item.config.getini("timeout")
    output = item.config.stash[_output]
    faulthandler.dump_traceback_later(float(secs) + GRACE_SECS, file=output, exit=True)
