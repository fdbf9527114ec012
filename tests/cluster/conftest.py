"""Real servers for all of these tests, started once; whatever happens nothing of them is left."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jars import NoJars, jars_of
from kafka_broker import KafkaBroker
from tests.conformance.report import pytest_terminal_summary
from tests.process.conftest import place, usual_signals
from yarn_cluster import YarnCluster

__all__ = ["place", "pytest_terminal_summary", "usual_signals"]


@pytest.fixture(scope="session")
def hadoop_jars() -> Path:
    """The folder with all of Hadoop's jars."""
    return _jars_of("hadoop")


@pytest.fixture(scope="session")
def yarn(hadoop_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    """A ResourceManager and two NodeManagers that run."""
    cluster = YarnCluster(tmp_path_factory.mktemp("yarn"), hadoop_jars)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that runs; a test that kills it has to start it again."""
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"), _jars_of("kafka"))
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


def _jars_of(server: str) -> Path:
    try:
        return jars_of(server)
    except NoJars as error:
        pytest.fail(str(error), pytrace=False)
