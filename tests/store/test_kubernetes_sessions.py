"""The API server goes away, forgets, refuses or is contended: the store says so and goes on."""

import signal
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import Fenced, HeronError, StateStoreError
from heron_io.kubernetes.access import access_of
from heron_io.kubernetes.client import ApiClient
from heron_io.state_store.kubernetes import CONFLICTS_MAX, KubernetesStore
from heron_io.state_store.kubernetes_guards import check_guard
from heron_io.state_store.kubernetes_nodes import ChangedMeanwhile, KubernetesNodes
from heron_io.state_store.kubernetes_objects import NewNode, object_name
from heron_io.state_store.kubernetes_session import Leases
from heron_io.state_store.opening import open_store
from tests.store.api_stand_in import StandIn
from tests.store.store_support import SESSION_TIMEOUT_MS, Backend, Heard, Holder

CONFIG_MAPS = "/api/v1/namespaces/tests/configmaps"


def impatient(
    operation_timeout_ms: int = 30_000, connect_timeout_ms: int = 5_000
) -> KubernetesStore:
    """A store whose sessions end after a second."""
    return KubernetesStore(
        "tests",
        "/root",
        session_timeout_ms=SESSION_TIMEOUT_MS,
        operation_timeout_ms=operation_timeout_ms,
        connect_timeout_ms=connect_timeout_ms,
    )


def nodes_of(stand_in: StandIn, folder: Path) -> KubernetesNodes:
    """The objects, as the store's parts see them."""
    client = ApiClient(access_of({"KUBECONFIG": str(stand_in.kubeconfig(folder))}))
    return KubernetesNodes(client, "tests", "/root", Leases(client, "tests", 1.0))


def test_an_api_server_that_is_replaced_ends_no_session(
    api_server: StandIn, kubernetes_backend: Backend
) -> None:
    # An upgrade of the control plane: it is away for longer than a session lasts.
    states, heard = Heard(), Heard()
    with impatient(operation_timeout_ms=300) as store, impatient() as other:
        store.on_session(states)
        assert states.next() == "connected"
        store.create("/tmasters/wordcount", 1, ephemeral=True)
        other.watch("/tmasters/wordcount", heard)
        assert heard.next() == 1
        api_server.stop()
        assert states.next() == "suspended"
        with pytest.raises(StateStoreError, match=rf"no API server .*{api_server.address}"):
            store.get("/tmasters/wordcount")
        assert not threading.Event().wait(3 * SESSION_TIMEOUT_MS / 1000)
        api_server.start()
        assert states.next() == "connected"
        assert other.get("/tmasters/wordcount") == 1
        store.put("/tmasters/wordcount", 2)
        assert heard.next() == 2
        assert states.is_silent()


def test_a_frozen_process_learns_that_its_session_is_lost(kubernetes_backend: Backend) -> None:
    # A node hangs: meanwhile a standby has taken the place.
    store, heard = kubernetes_backend.open(), Heard()
    with Holder(kubernetes_backend.url, "states") as holder:
        assert [holder.line(), holder.line()] == ["connected", "ready"]
        store.watch("/tmasters/wordcount", heard)
        assert heard.next() is not None
        holder.process.send_signal(signal.SIGSTOP)
        assert heard.next() is None
        store.create("/tmasters/wordcount", {"pid": 1}, ephemeral=True)
        holder.process.send_signal(signal.SIGCONT)
        states = [holder.line(), holder.line()]
        assert [state for state in states if state != "suspended"][:1] == ["lost"]
    assert store.get("/tmasters/wordcount") == {"pid": 1}


def test_what_a_dead_process_has_left_is_swept(
    api_server: StandIn, kubernetes_backend: Backend
) -> None:
    # The node is not observed any more.
    with Holder(kubernetes_backend.url) as holder:
        assert holder.line() == "ready"
        holder.process.send_signal(signal.SIGKILL)
    leases = "/apis/coordination.k8s.io/v1/namespaces/tests/leases"
    [dead] = [path for path in api_server.objects if path.startswith(leases)]
    store = kubernetes_backend.open()
    for number in range(100):
        with impatient() as holding:
            holding.create(f"/locks/{number}", 1, ephemeral=True)
        if dead not in api_server.objects:
            break
        threading.Event().wait(0.1)
    assert dead not in api_server.objects
    assert store.get("/tmasters/wordcount") is None


def test_a_watch_survives_versions_that_are_gone(
    api_server: StandIn, kubernetes_backend: Backend
) -> None:
    # etcd is compacted every five minutes: a watch that comes later is told 410 Gone.
    store, heard = kubernetes_backend.open(), Heard()
    store.put("/pplans/wordcount", 1)
    store.watch("/pplans/wordcount", heard)
    assert heard.next() == 1
    api_server.stop()
    api_server.start()
    for number in (2, 3):
        store.put("/pplans/wordcount", number)
        api_server.compact()
    heard.wait_for(3)
    store.put("/pplans/wordcount", 4)
    heard.wait_for(4)


def test_a_conflict_on_every_write_has_a_limit(
    api_server: StandIn, kubernetes_backend: Backend
) -> None:
    # Two processes that write one node without end.
    store = kubernetes_backend.open()
    store.put("/pplans/wordcount", 1)
    refused: list[str] = []

    def conflict(method: str, path: str) -> tuple[int, str] | None:
        if method == "GET":
            return None
        refused.append(method)
        return (409, "modified") if len(refused) % 10 else None

    api_server.fault = conflict
    store.put("/pplans/wordcount", 2)
    store.create("/pplans/other", 1)
    assert store.delete("/pplans/other") is True
    assert (len(refused), store.get("/pplans/wordcount")) == (30, 2)
    api_server.fault = lambda method, path: (409, "modified") if method == "PUT" else None
    with pytest.raises(StateStoreError, match=f"changed by other clients {CONFLICTS_MAX} times"):
        store.put("/pplans/wordcount", 3)
    assert store.get("/pplans/wordcount") == 2


def test_a_write_whose_answer_is_lost_is_not_refused_as_somebody_elses(
    api_server: StandIn, kubernetes_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The connection breaks behind the request.
    store = kubernetes_backend.open()
    handle, lost = api_server.handle, iter([True])

    def losing(method: str, *arguments: Any) -> dict[str, Any]:
        answer = handle(method, *arguments)
        if method == "POST" and next(lost, False):
            raise ConnectionResetError
        return answer

    monkeypatch.setattr(api_server, "handle", losing)
    store.create("/topologies/wordcount", 1)
    assert store.get("/topologies/wordcount") == 1
    assert next(lost, None) is None


@pytest.mark.parametrize("path", ["/pplans/wordcount", "/pplans/other"], ids=["present", "absent"])
def test_a_guarded_write_under_way_is_refused_once_the_guard_is_removed(
    api_server: StandIn, kubernetes_backend: Backend, tmp_path: Path, path: str
) -> None:
    # A master is stopped between its look at the fence and the write, for as long as may be.
    store, nodes, fence = kubernetes_backend.open(), nodes_of(api_server, tmp_path), "/fences/w/old"
    store.put(fence, 1)
    store.put("/pplans/wordcount", 1)
    stored = nodes.read(path)
    check_guard(nodes, path, fence)
    store.delete(fence)
    late = NewNode(path, b"2", "late")
    write = partial(nodes.replace, stored) if stored else nodes.create
    with pytest.raises(ChangedMeanwhile):
        write(late)
    with pytest.raises(Fenced):
        check_guard(nodes, path, fence)
    assert store.get(path) == (1 if stored else None)
    assert store.children("/pplans") == ["wordcount"]
    store.put("/fences/w/new", 1)
    store.put(path, 3, guard="/fences/w/new")
    assert store.get(path) == 3


def test_old_seals_are_removed(
    api_server: StandIn, kubernetes_backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A killed topology leaves nothing for ever.
    store = kubernetes_backend.open()
    store.put("/fences/w/old", 1)
    store.put("/pplans/w", 1, guard="/fences/w/old")
    store.delete("/pplans/w")
    store.delete("/fences/w/old")
    seal = f"{CONFIG_MAPS}/{object_name('/root', '/pplans/w')}"
    assert store.children("/pplans") == []
    assert seal in api_server.objects
    monkeypatch.setattr("heron_io.state_store.kubernetes_nodes.SEAL_SECS", -2.0)
    store.create("/tmasters/w", 1, ephemeral=True)
    assert seal not in api_server.objects
    assert store.children("/pplans") == []


REFUSALS = [
    (403, 'configmaps is forbidden: User "x" cannot create', "no permission for /a: .*Role"),
    (403, "exceeded quota: small, requested: configmaps=1", "exceeded quota: small"),
    (401, "Unauthorized", "does not know the user: correct the user"),
    (404, "namespace not found", "kubectl create namespace tests"),
    (422, "metadata.name: Invalid value", "Invalid value"),
]


@pytest.mark.parametrize(("code", "message", "said"), REFUSALS, ids=lambda value: str(value)[:12])
def test_a_refusal_is_told_in_one_line(
    api_server: StandIn, kubernetes_backend: Backend, code: int, message: str, said: str
) -> None:
    # A service account without the Role, a full quota, a missing namespace.
    store = kubernetes_backend.open()
    api_server.fault = lambda method, path: (code, message) if method == "POST" else None
    with pytest.raises(StateStoreError, match=said) as caught:
        store.put("/a", 1)
    assert "\n" not in str(caught.value)


def test_keys_are_in_secrets(api_server: StandIn, kubernetes_backend: Backend) -> None:
    # The right to read ConfigMaps does not grant access to a topology's processes.
    store = kubernetes_backend.open()
    store.put("/keys/wordcount", {"secret": "größe"})
    store.put("/topologies/wordcount", 1)
    assert store.get("/keys/wordcount") == {"secret": "größe"}
    assert store.children("/") == ["keys", "topologies"]
    assert store.children("/keys") == ["wordcount"]
    [public] = [path for path in api_server.objects if "/configmaps/" in path]
    [private] = [path for path in api_server.objects if "/secrets/" in path]
    assert api_server.objects[public]["object"]["data"] == {"value": "1\n"}
    assert api_server.objects[private]["object"]["kind"] == "Secret"


def test_a_value_beyond_the_limit_is_named(kubernetes_backend: Backend) -> None:
    # A topology with a pickled model in its config.
    store = kubernetes_backend.open()
    with pytest.raises(StateStoreError, match=r"/topologies/big would take 1,100,\d\d\d bytes"):
        store.put("/topologies/big", "x" * 1_100_000)
    store.put("/topologies/big", "x" * 999_000)
    assert len(store.get("/topologies/big") or "") == 999_000


def test_names_tell_paths_and_roots_apart() -> None:
    # Names of topologies have capitals and other letters; names of objects have not.
    names = {
        object_name(root, path)
        for root in ("/heron", "/other")
        for path in (
            "/topologies/Größe",
            "/topologies/grosse",
            "/topologies/GROSSE",
            "/a/" + "ü" * 99,
        )
    }
    assert len(names) == 8
    assert all(len(name) <= 253 and name == name.lower() and name.isascii() for name in names)


@pytest.mark.parametrize("url", ["kubernetes://", "kubernetes://UPPER", "kubernetes://a:1/x"])
def test_a_bad_url_is_refused(url: str) -> None:
    with pytest.raises(HeronError, match="kubernetes://namespace"):
        open_store(url)


def test_an_unreachable_server_is_named_in_one_line(
    api_server: StandIn, kubernetes_backend: Backend
) -> None:
    api_server.stop()
    with pytest.raises(StateStoreError, match=rf"{api_server.address} .* after 0\.3 s") as caught:
        impatient(connect_timeout_ms=300)
    assert "\n" not in str(caught.value)
