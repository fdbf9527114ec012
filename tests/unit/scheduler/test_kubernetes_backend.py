"""What the back end does to the objects of a cluster, with a stand-in for the API server.

tests/kubernetes does the same with a real one, its controllers and pods that run.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import (
    MIB,
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    Resource,
    packing_to_json,
)
from heron_core.records import replace
from heron_core.state_tree import code_path, master_path, packing_path, topology_path
from heron_core.topology import ComponentSpec, TopologySpec, topology_to_json
from heron_engine.scheduler.backends.kubernetes import backend as kubernetes_backend
from heron_engine.scheduler.backends.kubernetes import pod_start
from heron_engine.scheduler.backends.kubernetes.backend import KubernetesBackend
from heron_engine.scheduler.backends.kubernetes.render import CONTAINER_LABEL
from heron_engine.scheduler.clusters.config import ClusterConfig
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.opening import open_store
from tests.store.api_stand_in import StandIn

URL = "kubernetes://streams"
DEPLOYMENTS = "/apis/apps/v1/namespaces/streams/deployments"
PODS = "/api/v1/namespaces/streams/pods"
EVENTS = "/api/v1/namespaces/streams/events"
RUNNING = {"containerStatuses": [{"name": "heron", "state": {"running": {}}}]}


class Cluster(StandIn):
    """A stand-in whose Deployments have a running pod, unless refused by the quota."""

    def __init__(self) -> None:
        super().__init__()
        self.refusal = ""
        self.status: dict[str, Any] = RUNNING
        """Of each new pod."""
        self.event: dict[str, str] = {}
        """A warning about each new pod."""
        self.holds_pods = False
        """Whether pods stay, as on a lost node."""
        self._pods = 0

    def _create(self, collection: str, new: dict[str, Any]) -> dict[str, Any]:
        if collection == DEPLOYMENTS and self.refusal:
            condition = {"type": "ReplicaFailure", "status": "True", "message": self.refusal}
            new["status"] = {"conditions": [condition]}
        created = super()._create(collection, new)
        if collection == DEPLOYMENTS and not self.refusal:
            self._start(created)
        return created

    def _delete(self, path: str, options: dict[str, Any]) -> dict[str, Any]:
        labels = self.objects[path]["object"]["metadata"].get("labels") or {}
        if self.holds_pods and path.startswith(PODS):
            return {"status": "Success"}
        answer = super()._delete(path, options)
        collection = path.rpartition("/")[0]
        if collection == DEPLOYMENTS and not self.holds_pods:
            for pod in [each for each in self.objects if self._is_of(each, labels)]:
                super()._delete(pod, {})
        if collection == PODS:
            of = [each for each in self.objects if each.startswith(DEPLOYMENTS)]
            for each in of:
                deployment = self.objects[each]["object"]
                if deployment["metadata"]["labels"] == labels:
                    self._start(deployment)
        return answer

    def _is_of(self, path: str, labels: dict[str, str]) -> bool:
        metadata = self.objects[path]["object"]["metadata"]
        return path.startswith(PODS) and metadata["labels"] == labels

    def _start(self, deployment: dict[str, Any]) -> None:
        self._pods += 1
        labels = deployment["metadata"]["labels"]
        metadata = {"name": f"pod-{self._pods}", "labels": labels}
        pod = {"metadata": metadata, "status": self.status}
        created = super()._create(PODS, pod)
        if self.event:
            about = {"involvedObject": {"uid": created["metadata"]["uid"]}, "type": "Warning"}
            event = {"metadata": {"name": f"pod-{self._pods}.1"}, **about, **self.event}
            super()._create(EVENTS, event)

    def numbers(self, collection: str) -> list[int]:
        """Containers with an object in a collection."""
        paths = [each for each in self.objects if each.startswith(f"{collection}/")]
        found = [self.objects[each]["object"]["metadata"]["labels"] for each in paths]
        return sorted(int(labels[CONTAINER_LABEL]) for labels in found)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """An API server of kubectl."""
    cluster = Cluster()
    cluster.start()
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig(tmp_path)))
    monkeypatch.setattr(pod_start, "REFUSED_SECS", 0.0)
    yield cluster
    cluster.stop()


@pytest.fixture
def backend() -> KubernetesBackend:
    """The back end of a cluster's file."""
    options = {"image": "heronpy:0.2.0", "node_selector": {"place": "west", "disk": "any"}}
    return KubernetesBackend(ClusterConfig("k8s", "k8s.yaml", "kubernetes", URL, options=options))


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """A topology of two containers, with code."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "words.py").write_text("# words\n")
    spec = TopologySpec("words", (), {}, search_paths=(str(tmp_path / "code"),))
    size = Resource(1.0, 512 * MIB, 0)
    packing = PackingPlan("words", (ContainerPlan(1, (), size), ContainerPlan(2, (), size)))
    return Submission(spec, packing, URL, Home(str(tmp_path)), foreground=False)


def test_a_topology_is_deployed_and_ended(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """Its code is in the state store before a pod could request the code; at the end the cluster is
    empty."""
    backend.check(submission)
    backend.deploy(submission)
    assert cluster.numbers(DEPLOYMENTS) == cluster.numbers(PODS) == [0, 1, 2]
    with open_store(URL) as store:
        assert len(store.children(code_path("words"))) == 1
        assert backend.waiting(store, "words") == ""
    assert "heron-words-0" in backend.known("words")
    backend.end("words")
    assert backend.known("words") == ""
    assert [each for each in cluster.objects if "configmaps" not in each] == []
    backend.end("words")  # what is gone is no error


def test_pods_that_are_refused_leave_nothing(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """A quota: the controller says so, in the Deployment's status."""
    cluster.refusal = "exceeded quota: small"
    with pytest.raises(HeronError, match="gives words no pods: exceeded quota: small"):
        backend.deploy(submission)
    assert cluster.numbers(DEPLOYMENTS) == []


def test_an_image_that_cannot_be_pulled_leaves_nothing(
    cluster: Cluster,
    backend: KubernetesBackend,
    submission: Submission,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wait for room would be in vain."""
    monkeypatch.setattr(pod_start, "FAILING_SECS", 0.0)
    cluster.fault = lambda _, path: (404, "no log") if path.endswith("/log") else None
    waiting = {"reason": "ErrImagePull", "message": "heronpy:0.2.0: not found"}
    cluster.status = {"containerStatuses": [{"name": "heron", "state": {"waiting": waiting}}]}
    told = "words cannot start: containers 0, 1, 2: ErrImagePull: heronpy:0.2.0: not found; nothing"
    with pytest.raises(HeronError, match=told):
        backend.deploy(replace(submission, waits_for_capacity=True))
    assert cluster.numbers(DEPLOYMENTS) == cluster.numbers(PODS) == []


def test_a_volume_that_is_missing_is_told_by_an_event(
    cluster: Cluster, submission: Submission
) -> None:
    """A pod on its way has no reason of its own; the number of questions is limited."""
    options = {"image": "heronpy:0.2.0", "ready_secs": 0}
    config = ClusterConfig("k8s", "k8s.yaml", "kubernetes", URL, options=options)
    cluster.status = {"phase": "Pending"}
    cluster.event = {"reason": "FailedMount", "message": 'secret "x"'}
    told = r'words: 0 of 3 pods run .*\(containers 0, 1, 2: FailedMount: secret "x"\)'
    with pytest.raises(HeronError, match=told):
        KubernetesBackend(config).deploy(submission)


def test_an_api_server_that_refuses_an_object_is_told_in_one_line(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """The submitting user lacks the right to create Deployments."""

    def fault(method: str, path: str) -> tuple[int, str] | None:
        return (403, "no rights") if (method, path) == ("POST", DEPLOYMENTS) else None

    cluster.fault = fault
    with pytest.raises(HeronError, match="refuses Deployment heron-words-0 in streams: no rights"):
        backend.deploy(submission)
    assert [each for each in cluster.objects if "configmaps" not in each] == []


def test_containers_are_restarted(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """The topology master's node goes, so that the next master does not wait for a session."""
    backend.deploy(submission)
    before = [each for each in cluster.objects if each.startswith(PODS)]
    with open_store(URL) as store:
        store.put(master_path("words"), 1)
        backend.restart("words", 2)
        assert store.get(master_path("words")) == 1
        assert len([each for each in before if each in cluster.objects]) == 2
        backend.restart("words", None)
        assert store.get(master_path("words")) is None
    assert [each for each in before if each in cluster.objects] == []
    assert cluster.numbers(PODS) == [0, 1, 2]
    with pytest.raises(HeronError, match="no container 7"):
        backend.restart("words", 7)


def test_containers_are_added_and_removed(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """Any container, not only the last."""
    deployed(backend, submission)
    backend.scale("words", [3, 4], [])
    backend.scale("words", [], [1, 3])
    assert cluster.numbers(DEPLOYMENTS) == cluster.numbers(PODS) == [0, 2, 4]

    def fault(method: str, path: str) -> tuple[int, str] | None:
        is_late = method == "POST" and 5 in cluster.numbers(DEPLOYMENTS)
        return (403, "no more") if is_late else None

    cluster.fault = fault
    with pytest.raises(HeronError, match="no more"):
        backend.scale("words", [5, 6], [])
    assert cluster.numbers(DEPLOYMENTS) == [0, 2, 4]


def test_objects_that_the_state_does_not_know_are_named(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """A topology of equal name, of another root of the state or of an emptied root."""
    backend.deploy(submission)
    with pytest.raises(HeronError, match=r"the state store does not know them.*heronpy kill words"):
        backend.check(submission)
    with open_store(URL) as store:
        store.put(topology_path("words"), {})
    backend.check(submission)


def test_a_topology_s_labels_of_nodes_decide(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """Over the cluster's file."""
    labels = {keys.NODE_LABELS: {"disk": "ssd", "zone": 1}}
    shown = backend.preview(
        replace(submission, topology=replace(submission.topology, config=labels))
    )
    deployment = list(yaml.safe_load_all(shown))[-1]
    selector = deployment["spec"]["template"]["spec"]["nodeSelector"]
    assert selector == {"place": "west", "disk": "ssd", "zone": "1"}


def test_a_component_s_constraints_are_those_of_its_containers(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    """Also of a container added by an update, by the stored packing plan: of either group, and of a
    component without a container before."""
    config = {
        keys.NODE_LABELS: {"disk": "ssd"},
        keys.CONSTRAINTS: {"lights": {"place": "edge"}, "alarm": {"place": "police"}},
    }
    components = tuple(
        ComponentSpec(name, name == "lights", "module.Class", 1)
        for name in ("lights", "count", "alarm")
    )
    topology = replace(submission.topology, components=components, config=config)
    packing = placed({1: "lights", 2: "count"})
    deployed(backend, replace(submission, topology=topology, packing=packing))
    with open_store(URL) as store:
        wanted = placed({1: "lights", 2: "count", 3: "lights", 4: "count", 5: "alarm"})
        store.put(packing_path("words"), packing_to_json(wanted))
    backend.scale("words", [3, 4, 5], [])
    places = {}
    for number in cluster.numbers(DEPLOYMENTS):
        deployment = cluster.objects[f"{DEPLOYMENTS}/heron-words-{number}"]["object"]
        places[number] = deployment["spec"]["template"]["spec"]["nodeSelector"]
    assert {each["disk"] for each in places.values()} == {"ssd"}
    assert {number: each["place"] for number, each in places.items()} == {
        0: "west", 1: "edge", 2: "west", 3: "edge", 4: "west", 5: "police",
    }  # fmt: skip


def placed(containers: dict[int, str]) -> PackingPlan:
    """container -> the component of its only instance."""
    size = Resource(1.0, 512 * MIB, 0)
    plans = [
        ContainerPlan(number, (InstancePlan(number, component, number, size),), size)
        for number, component in containers.items()
    ]
    return PackingPlan("words", tuple(plans))


def deployed(backend: KubernetesBackend, submission: Submission) -> None:
    """With the nodes of `submit`."""
    with open_store(URL) as store:
        store.put(topology_path("words"), topology_to_json(submission.topology))
        store.put(packing_path("words"), packing_to_json(submission.packing))
    backend.deploy(submission)


def test_the_nodes_of_a_submission_are_found_again(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    backend.check(submission)
    fields = backend.node_fields()
    assert (fields["cluster"], fields["namespace"]) == ("k8s", "streams")
    assert fields["container_size"]["ram_bytes"] == 512 * MIB
    assert "kubectl logs -n streams -l heronpy.io/topology=heron-words" in backend.logs(submission)
    assert "name: heron-words-2" in backend.preview(submission)


def test_without_the_right_to_remove_collections_objects_are_removed_one_by_one(
    cluster: Cluster, backend: KubernetesBackend, submission: Submission
) -> None:
    backend.deploy(submission)

    def fault(method: str, path: str) -> tuple[int, str] | None:
        is_collection = path in (DEPLOYMENTS, PODS) or path.endswith(("/roles", "/replicasets"))
        return (403, "cannot deletecollection") if method == "DELETE" and is_collection else None

    cluster.fault = fault
    backend.end("words")
    assert [each for each in cluster.objects if "configmaps" not in each] == []


def test_a_removal_that_fails_says_what_is_left(
    cluster: Cluster,
    backend: KubernetesBackend,
    submission: Submission,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`submit` failed, and so does what takes it back: another right is missing."""
    cluster.refusal = "exceeded quota: small"
    cluster.fault = lambda method, path: (403, "no removal") if method == "DELETE" else None
    with pytest.raises(HeronError, match="no removal"):
        backend.deploy(submission)
    told = capsys.readouterr().err
    assert told.startswith("objects of words are left in streams (Kubernetes refuses Deployment")
    assert told.endswith("`heronpy kill words --cluster k8s` removes them\n")


def test_a_successor_that_cannot_start_is_told_at_once(
    cluster: Cluster,
    backend: KubernetesBackend,
    submission: Submission,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The image has left the registry since."""
    backend.deploy(submission)
    monkeypatch.setattr(pod_start, "FAILING_SECS", 0.0)
    cluster.fault = lambda _, path: (404, "no log") if path.endswith("/log") else None
    waiting = {"reason": "ErrImagePull", "message": "heronpy:0.2.0: not found"}
    cluster.status = {"containerStatuses": [{"name": "heron", "state": {"waiting": waiting}}]}
    assert backend.unstartable("words", [0, 1, 2]) == ""
    with pytest.raises(HeronError, match="words cannot start again: container 2: ErrImagePull"):
        backend.restart("words", 2)
    assert backend.unstartable("words", [1]) == ""
    assert (
        backend.unstartable("words", [2]) == "container 2: ErrImagePull: heronpy:0.2.0: not found"
    )


def test_pods_that_do_not_end_are_named(
    cluster: Cluster,
    backend: KubernetesBackend,
    submission: Submission,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The node of these pods is lost."""
    monkeypatch.setattr(kubernetes_backend, "END_SECS", 0.0)
    backend.deploy(submission)
    cluster.holds_pods = True
    told = r"pods of words do not end within 0 s \(pod-1, pod-2, pod-3\): a node may be lost"
    with pytest.raises(HeronError, match=told):
        backend.end("words")
    cluster.holds_pods = False
    backend.end("words")
    assert cluster.numbers(PODS) == []
