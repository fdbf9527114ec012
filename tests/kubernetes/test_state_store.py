"""The contract of state stores, and their sessions, with a real API server."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from heron_core.errors import StateStoreError
from heron_io.state_store.kubernetes import KubernetesStore
from tests.kubernetes.control_plane import ControlPlane
from tests.store.store_support import Backend, Heard
from tests.store.test_store_conformance import *  # noqa: F403
from tests.store.test_store_holders import (  # noqa: F401
    test_a_holder_that_ends_in_order_cleans_up,
    test_kill_minus_nine_frees_the_place,
)


def namespace(plane: ControlPlane) -> str:
    """A namespace that is empty."""
    name = f"test-{secrets.token_hex(6)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    plane.client().request("POST", "/api/v1/namespaces", body)
    return name


@pytest.fixture
def kubernetes_backend(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Backend]:
    """A namespace of the API server."""
    monkeypatch.setenv("KUBECONFIG", plane.kubeconfig)
    backend = Backend(f"kubernetes://{namespace(plane)}/root")
    yield backend
    backend.close()


@pytest.fixture
def backend(kubernetes_backend: Backend) -> Backend:
    """The only one here."""
    return kubernetes_backend


@pytest.fixture
def file_backend(tmp_path: Path) -> Iterator[Backend]:
    """What it is compared with."""
    backend = Backend(f"file://{tmp_path}/state")
    yield backend
    backend.close()


@pytest.fixture
def zookeeper_backend(tmp_path: Path) -> Iterator[Backend]:
    """In place of a ZooKeeper, with which `make test` compares: files once more."""
    backend = Backend(f"file://{tmp_path}/other")
    yield backend
    backend.close()


def test_an_api_server_that_is_replaced_ends_no_session(
    plane: ControlPlane, kubernetes_backend: Backend
) -> None:
    # An upgrade of the control plane: watches go on, ephemeral nodes stand.
    states, heard = Heard(), Heard()
    store, other = kubernetes_backend.open(), kubernetes_backend.open()
    store.on_session(states)
    assert states.next() == "connected"
    store.create("/tmasters/wordcount", 1, ephemeral=True)
    other.watch("/tmasters/wordcount", heard)
    assert heard.next() == 1
    plane.stop("kube-apiserver")
    assert states.next() == "suspended"
    plane.start_api_server()
    states.wait_for("connected")
    assert other.get("/tmasters/wordcount") == 1
    store.put("/tmasters/wordcount", 2)
    assert heard.next() == 2


def test_a_quota_is_told_in_one_line(plane: ControlPlane, kubernetes_backend: Backend) -> None:
    # An administrator limits a namespace; the API server enforces it itself.
    store = kubernetes_backend.open()
    name = kubernetes_backend.url.split("/")[2]
    path = f"/api/v1/namespaces/{name}/resourcequotas"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
             "spec": {"hard": {"count/configmaps": "1"}}}  # fmt: skip
    plane.client().request("POST", path, quota)
    status = {"status": {"hard": {"count/configmaps": "1"}, "used": {"count/configmaps": "1"}}}
    plane.client().request(
        "PATCH", f"{path}/small/status", status, content="application/merge-patch+json"
    )

    def fill() -> None:
        for number in range(100):
            store.put(f"/topologies/{number}", number)

    with pytest.raises(StateStoreError, match="exceeded quota: small") as caught:
        fill()
    assert "\n" not in str(caught.value)


def test_a_namespace_that_is_not_there_is_named(
    plane: ControlPlane, kubernetes_backend: Backend
) -> None:
    with (
        KubernetesStore("nowhere", "/heron") as store,
        pytest.raises(StateStoreError, match="kubectl create namespace nowhere"),
    ):
        store.put("/topologies/words", 1)
