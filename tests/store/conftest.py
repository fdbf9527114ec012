"""A state store of each kind at a place of its own, and one real ZooKeeper for them all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.store.store_support import Backend


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZooKeeper]:
    """The ZooKeeper that most tests share; each has its own root in it."""
    with EmbeddedZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def file_backend(tmp_path: Path) -> Iterator[Backend]:
    """A directory that does not exist yet."""
    backend = Backend(f"file://{tmp_path}/state")
    yield backend
    backend.close()


@pytest.fixture
def zookeeper_backend(zookeeper: EmbeddedZooKeeper, tmp_path: Path) -> Iterator[Backend]:
    """A root that does not exist yet."""
    backend = Backend(f"zk://{zookeeper.address}/{tmp_path.parent.name}-{tmp_path.name}")
    yield backend
    backend.close()


@pytest.fixture(params=["file_backend", "zookeeper_backend"], ids=["file", "zookeeper"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each kind of store in turn."""
    chosen: Backend = request.getfixturevalue(request.param)
    return chosen
