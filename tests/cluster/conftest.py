"""Real servers for all tests of the folder, started once and ended with the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.state_tree import scheduler_path
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.cluster.hbase_server import HBaseServer
from tests.cluster.jars import NoJars, jars_of
from tests.cluster.kafka_broker import KafkaBroker
from tests.cluster.registry_server import RegistryServer
from tests.cluster.yarn_cluster import YarnCluster
from tests.cluster.yarn_place import YarnPlace
from tests.conformance.report import pytest_terminal_summary
from tests.process import process_support
from tests.process.conftest import place

__all__ = ["place", "pytest_terminal_summary"]

LOOK_AGAIN_SECS = 0.2


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """The conditions here take seconds, and each poll costs more than elsewhere: all processes of
    the machine, or an answer of the resource manager."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process_support, "LOOK_AGAIN_SECS", LOOK_AGAIN_SECS)
        yield


@pytest.fixture(scope="session")
def hadoop_jars() -> Path:
    """The folder with all of Hadoop's jars."""
    return _jars_of("hadoop")


@pytest.fixture(scope="session")
def yarn(hadoop_jars: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[YarnCluster]:
    """A running ResourceManager and two NodeManagers."""
    cluster = YarnCluster(tmp_path_factory.mktemp("yarn"), hadoop_jars)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running broker; a test that kills the broker starts a new one."""
    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"), _jars_of("kafka"))
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.fixture(scope="session")
def storm_jars() -> Path:
    """The folder with Storm's client and its dependencies."""
    return _jars_of("storm")


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    server = RegistryServer(tmp_path_factory.mktemp("registry"), _jars_of("registry"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def hbase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HBaseServer]:
    """HBase with its gateway; a test that kills the gateway starts a new one."""
    server = HBaseServer(tmp_path_factory.mktemp("hbase"), _jars_of("hbase"))
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def runtime_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runtime is packed."""
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """The state of all topologies here."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def west(
    tmp_path: Path, runtime_cache: Path, yarn: YarnCluster, zookeeper: EmbeddedZooKeeper
) -> Iterator[YarnPlace]:
    """A place with a cluster; remaining topologies are killed at the end."""
    made = YarnPlace(tmp_path, runtime_cache, yarn, zookeeper.url)
    yield made
    if made.node(scheduler_path(made.name)) is not None:
        print(made.story())  # which is shown if the test has failed
        made.on("west", "kill", made.name, "--wait", 0)
    made.close()


def _jars_of(server: str) -> Path:
    try:
        return jars_of(server)
    except NoJars as error:
        pytest.fail(str(error), pytrace=False)
