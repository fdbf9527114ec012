"""Log levels of a process: applied from a table, and restored."""

import logging
from collections.abc import Iterator

import pytest

from heron_core.log_levels import SetLevel
from heron_io.log_levels import ProcessLevels

LOGGER = "tests.log_levels"


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of user code with a level of its own."""
    found = logging.getLogger(LOGGER)
    found.setLevel(logging.WARNING)
    yield found
    found.setLevel(logging.NOTSET)


def test_the_former_level_returns_after_its_time(logger: logging.Logger) -> None:
    """By the process's own clock: a topology master that died restores no level."""
    levels = ProcessLevels("count")
    levels.apply((SetLevel("count", LOGGER, 10, 30.0), SetLevel("split", LOGGER, 40, 30.0)), 100.0)
    assert logger.level == logging.DEBUG
    levels.apply((SetLevel("count", LOGGER, 20, 20.0),), 110.0)
    assert logger.level == logging.INFO
    levels.expire(129.0)
    assert logger.level == logging.INFO
    levels.expire(130.0)
    assert logger.level == logging.WARNING
    levels.expire(131.0)
    assert logger.level == logging.WARNING


def test_a_level_that_the_table_lacks_is_restored(logger: logging.Logger) -> None:
    levels = ProcessLevels("count")
    levels.apply((SetLevel("", LOGGER, 10, 30.0),), 100.0)
    levels.apply((), 101.0)
    assert logger.level == logging.WARNING
