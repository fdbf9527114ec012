"""A state store of each kind at a place of its own, and one real ZooKeeper for them all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.store.api_stand_in import StandIn
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


@pytest.fixture
def api_server() -> Iterator[StandIn]:
    """A stand-in for Kubernetes' API server that the test may stop."""
    stand_in = StandIn()
    stand_in.start()
    yield stand_in
    stand_in.stop()


@pytest.fixture
def kubernetes_backend(
    api_server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    """A namespace that is empty."""
    monkeypatch.setenv("KUBECONFIG", str(api_server.kubeconfig(tmp_path)))
    backend = Backend("kubernetes://tests/root")
    yield backend
    backend.close()


@pytest.fixture(
    params=["file_backend", "zookeeper_backend", "kubernetes_backend"],
    ids=["file", "zookeeper", "kubernetes"],
)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each kind of store in turn."""
    chosen: Backend = request.getfixturevalue(request.param)
    return chosen
