"""What holds for all tests."""

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import hung, where_time_goes
from tests.by_server import ByServer, rank

# Spark's JVMs start in half the time from an archive of classes, kept here for tests.
CACHE = Path(__file__).parents[1] / ".cache"
os.environ["XDG_CACHE_HOME"] = str(CACHE)

# The machine may be busy: the duration of an example does not measure the code. Developers get new
# examples each time, a build server fixed ones.
settings.register_profile("patient", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("patient")

SPARK = Path(__file__).parent / "spark"
SPARK_SECS = 600
"""For a test of Spark's: a JVM starts in seconds, or in a minute where others are busy."""


def pytest_configure(config: pytest.Config) -> None:
    """A hanging test fails; a long run reports its time."""
    config.pluginmanager.register(hung)
    config.pluginmanager.register(where_time_goes)


@pytest.fixture(scope="session", autouse=True)
def usual_signals() -> None:
    """A shell's & and nohup start the tests with these signals ignored, and each child process
    would ignore the signals as well."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests begin, in random order among themselves. A test that reads the results of
    further tests of its file comes last: otherwise the test would run all of them itself."""
    for item in items:
        if item.path.parent == SPARK and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SPARK_SECS))
    items.sort(key=lambda item: (rank(item.path), item.get_closest_marker("behind") is not None))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Modules imported and collected by now stay to the end, without visits of the garbage
    collector: each visit takes some tenths of a second each time, and tests of connectors collect
    at each kill."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, object]:
    """A failed test with a `place` shows the output of its processes: a failure may be rare."""
    report = yield
    place = getattr(item, "funcargs", {}).get("place")
    if report.failed and place is not None and hasattr(place, "told"):
        report.sections.extend(place.told())
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByServer:
    """With `--numprocesses`."""
    return ByServer(config, log)
