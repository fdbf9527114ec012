"""A place for the runs of each test, emptied whatever happens, and one real ZooKeeper for all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.process.process_support import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Where this test's topologies run; what is left of them is killed at the end."""
    made = Place(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="session")
def running_zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """A ZooKeeper that runs before the topologies do."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server
