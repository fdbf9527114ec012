"""The life of a topology of 1,000 pods, and the requests of its operator to the API server.

kwok reports 999 pods as running; the topology master's pod is a process, on a node of the suite.
Pods, Deployments and nodes are those of 1,000 pods, and instances never register.
"""

import json
import re
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heron_engine.scheduler.backends.kubernetes.backend import KubernetesBackend
from heron_engine.scheduler.clusters.backends import backend_of
from heron_engine.scheduler.clusters.config import cluster_of
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.kubernetes_support import CLUSTER, KubernetesPlace
from tests.kubernetes.kwok.needs import missing
from tests.kubernetes.kwok_stages import NODE_ROOM
from tests.process.process_support import until

CONTAINERS = 999
NODES, NODE_LABEL = 4, "kwok"
NODE_GRACE_SECS = 300
"""While 1,000 pods are created on two cores, kwok renews the leases of its nodes late."""
SECS = 300.0
"""Limit of one step of the life; a free machine takes a tenth."""
WATCHES_PER_SEC = 1.0
"""A watch lasts two seconds; twice the number for a busy machine."""
TOPOLOGY = """
from heronpy_compat import Bolt, Grouping, Spout, Topology


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self):
        pass


class Count(Bolt):
    def process(self, tup):
        pass


class Wide(Topology):
    words = Words.spec(par=500)
    count = Count.spec(par=499, inputs={words: Grouping.fields("word")})
"""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane with nodes of kwok."""
    if (why := missing()) is not None:
        pytest.skip(why)
    plane = ControlPlane(tmp_path_factory.mktemp("plane"), NODE_GRACE_SECS)
    try:
        plane.start()
        plane.start_controllers()
        plane.start_kwok(f"place={NODE_LABEL}")
        for number in range(NODES):
            metadata = {"name": f"kwok-{number}", "labels": {"place": NODE_LABEL}}
            status = {"allocatable": NODE_ROOM, "capacity": NODE_ROOM}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
            plane.client().request("POST", "/api/v1/nodes", node)
        yield plane
    finally:
        plane.close()


@pytest.fixture
def place(plane: ControlPlane, tmp_path: Path) -> Iterator[KubernetesPlace]:
    """A namespace, with commands by the counted user."""
    place = KubernetesPlace(tmp_path, plane)
    place.environment["KUBECONFIG"] = plane.counted_kubeconfig
    try:
        place.add_node()
        yield place
    finally:
        place.close()


@pytest.fixture
def backend(place: KubernetesPlace, monkeypatch: pytest.MonkeyPatch) -> KubernetesBackend:
    """Without the commands around it."""
    monkeypatch.setenv("KUBECONFIG", place.plane.counted_kubeconfig)
    monkeypatch.setenv("HERONPY_HOME", str(place.home))
    backend = backend_of(cluster_of(CLUSTER, None))
    assert isinstance(backend, KubernetesBackend)
    return backend


Requests = Counter[tuple[str, str]]


def counted(place: KubernetesPlace, act: Callable[[], object]) -> tuple[Requests, float]:
    """The requests of an action to the API server, and its seconds."""
    before, began = place.plane.counted(), time.monotonic()
    act()
    secs = time.monotonic() - began
    made = place.plane.counted() - before
    print(f"{secs:.1f} s: {dict(made)}")
    return made, secs


def submitted(place: KubernetesPlace) -> None:
    """Submit until all pods run, and interrupt the wait for instances."""
    place.cluster(ready_secs=int(SECS))
    file = place.path / "wide.py"
    file.write_text(TOPOLOGY)
    labels = f"{{words: {{place: {NODE_LABEL}}}, count: {{place: {NODE_LABEL}}}}}"
    submit = place.start(
        "submit", file, "-N", place.name, "--cluster", CLUSTER, "-w", CONTAINERS,
        "-o", f"topology.component.constraints={labels}",
    )  # fmt: skip
    submit.until(lambda: asks_the_master(place), "all pods run", SECS)
    submit.signal()
    assert f"{place.name} is starting: to stop" in submit.wait(SECS).err


def asks_the_master(place: KubernetesPlace) -> bool:
    """Whether `submit` waits for instances: only this step reads the topology master's lease."""
    return place.plane.counted()["get", "leases"] > 0


@pytest.mark.timeout(4 * SECS)
def test_the_requests_of_a_life_of_a_thousand_pods_are_bounded(
    place: KubernetesPlace, backend: KubernetesBackend
) -> None:
    """The number of lists does not grow with the time of an operation; only the creation has a
    request for each pod."""
    made, secs = counted(place, lambda: submitted(place))
    assert made["create", "deployments"] == CONTAINERS + 1
    assert made["list", "pods"] <= 3
    assert made["watch", "pods"] <= WATCHES_PER_SEC * secs + 5
    rest = made.total() - made["create", "deployments"] - made["watch", "pods"]
    assert rest <= 100 + 10 * secs, made

    made, _ = counted(place, lambda: is_listed(place))
    assert made.total() <= 20, made
    made, _ = counted(place, lambda: has_a_page(place))
    assert made["list", "pods"] == 0
    assert made.total() <= 300, made

    made, secs = counted(place, lambda: backend.restart(place.name, 5))
    assert (made["delete", "pods"], made["list", "pods"], made["list", "deployments"]) == (1, 2, 1)
    assert made.total() <= 10 + WATCHES_PER_SEC * secs, made

    kill = ("kill", place.name, "--cluster", CLUSTER)
    made, secs = counted(place, lambda: place.heronpy(*kill, secs=SECS).succeeded())
    assert made["list", "pods"] <= 3
    assert made.total() <= 100 + 10 * secs, made
    assert [
        kind for verb, kind in made if verb == "delete" and kind in ("pods", "deployments")
    ] == []
    until(lambda: not place.left(), "nothing is left in the namespace", SECS)


def is_listed(place: KubernetesPlace) -> None:
    listed = place.heronpy("list", "--cluster", CLUSTER, "--json", secs=SECS).succeeded()
    (topology,) = json.loads(listed.out)
    assert (topology["containers"], topology["instances"]) == (CONTAINERS, CONTAINERS)


def has_a_page(place: KubernetesPlace) -> None:
    """Page and packing plan of the topology, from a new service."""
    service = place.start("ui", "--port", 0, "--cluster", CLUSTER)
    found = service.until(lambda: re.search(r"serving at (\S+)", service.out), "it serves", SECS)
    address, name = found[1].rstrip("/"), place.name
    until(lambda: name in answer(f"{address}/topologies"), "the topology is found", SECS)
    plan = json.loads(answer(f"{address}/topologies/packingplan?topology={name}"))
    assert len(plan["result"]["container_plans"]) == CONTAINERS
    assert name in answer(f"{address}/ui/topology/{name}")
    service.signal()
    service.wait(SECS)


def answer(url: str) -> str:
    with urllib.request.urlopen(url, timeout=SECS) as response:
        return str(response.read().decode())
