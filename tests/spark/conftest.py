"""One Spark of each kind for all of these tests: its start takes longer than any of them."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from heron_spark.driver.session import session
from heron_spark.options import SparkOptions
from tests.conformance.report import pytest_terminal_summary
from tests.spark.spark_scheduler_support import Standalone, standalone

__all__ = ["pytest_terminal_summary"]


FEW = ("spark.sql.shuffle.partitions", "3")
"""Of the exchanges above a topology: plans of a hundred rows need no 200."""


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session of two cores."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with session("tests", SparkOptions(master="local[2]", config=(FEW,))) as made:
        yield made


@pytest.fixture(scope="session")
def standalone_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """A standalone master, reached by this machine's name, and two workers of 32 cores. Whoever
    kills an executor there gets another; master and workers stay."""
    with standalone(tmp_path_factory.mktemp("standalone"), 2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """Where topologies on the standalone cluster have their state."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server
