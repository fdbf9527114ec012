"""A place with a cluster of Kubernetes: nodes of the suite, commands of a user."""

import http
import json
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heron_io.kubernetes.access import access_of
from heron_io.kubernetes.client import ApiClient, ApiError, ApiUnanswered
from heron_io.state_store.kubernetes import KubernetesStore
from heron_io.state_store.opening import DEFAULT_ROOT
from heron_io.state_store.protocol import StateStore
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.kubelet import Kubelet
from tests.kubernetes.pods import PodProcess
from tests.process.process_support import Place, until

CLUSTER = "k8s"
IMAGE = "heronpy:tests"
PODS_SECS = 90.0
"""For what a control plane, two nodes and a topology do on a machine of two cores."""


class KubernetesPlace(Place):
    """A namespace, and nodes reserved for its pods."""

    def __init__(self, path: Path, plane: ControlPlane) -> None:
        super().__init__(path)
        self.plane = plane
        self.client: ApiClient = plane.client()
        self.namespace = f"test-{secrets.token_hex(4)}"
        self.nodes: list[Kubelet] = []
        self.home.mkdir()
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        self.client.request("POST", "/api/v1/namespaces", body)
        self.environment["KUBECONFIG"] = plane.kubeconfig
        self.cluster()

    def cluster(
        self, name: str = CLUSTER, volumes: Sequence[dict[str, Any]] = (), **changed: Any
    ) -> None:
        """Write the cluster's file; the template gives pods the folder of results, and the given
        volumes."""
        volume = {"name": "results", "hostPath": {"path": str(self.path)}}
        mount = {"name": "results", "mountPath": str(self.path)}
        template = {
            "spec": {
                "volumes": [volume, *volumes],
                "containers": [{"name": "heron", "volumeMounts": [mount]}],
            }
        }
        folder = self.home / "clusters"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}-pod.yaml").write_text(json.dumps(template))
        section = {
            "image": IMAGE,
            "pod_template": f"{name}-pod.yaml",
            "node_selector": {"place": self.namespace},
            "cpu_limits": False,
            "master": {"cpu": 0.1, "ram": "256MB"},
            "environment": {"TEST_RESULTS": str(self.results_folder)},
            **changed,
        }
        document = {
            "scheduler": "kubernetes",
            "state": f"kubernetes://{self.namespace}",
            "packing": {"container": {"cpu": 0.5, "ram": "512MB"}},
            "kubernetes": section,
        }
        (folder / f"{name}.yaml").write_text(json.dumps(document, indent=1))

    def add_node(self, **labels: str) -> Kubelet:
        """Add a machine."""
        number = len(self.nodes) + 1
        wanted = {"place": self.namespace, **labels}
        node = Kubelet(self.plane, f"{self.namespace}-node-{number}", 10 + number, wanted)
        node.start()
        self.nodes.append(node)
        path = f"/api/v1/nodes/{node.name}"
        until(lambda: not self.client.get(path)["spec"].get("taints"), "it is ready", PODS_SECS)
        return node

    def store(self) -> StateStore:
        """The state of the topologies."""
        access = access_of({"KUBECONFIG": self.plane.kubeconfig})
        return KubernetesStore(self.namespace, DEFAULT_ROOT, access=access)

    def value(self, path: str) -> Any:
        """Present value of a node in the state store."""
        with self.store() as store:
            return store.get(path)

    def pod(self, container: int, other_than: str = "") -> PodProcess:
        """The pod of a container, once its process runs; `other_than`: uid of the previous pod."""

        def found() -> PodProcess | None:
            pods = [node.pod_of(container) for node in self.nodes]
            return next((pod for pod in pods if pod and pod.uid != other_than), None)

        return until(found, f"the pod of container {container} runs", PODS_SECS)

    def node_of(self, pod: PodProcess) -> Kubelet:
        """Where a pod is."""
        return next(node for node in self.nodes if pod.uid in node.pods)

    def pods(self) -> list[dict[str, Any]]:
        """Pods of the namespace, from the API server."""
        answer = self.client.get(f"/api/v1/namespaces/{self.namespace}/pods")
        return list(answer.get("items") or ())

    def objects(self, collection: str) -> list[str]:
        """Names in a collection of the namespace, as `/apis/apps/v1` and `deployments`."""
        group, _, kind = collection.rpartition("/")
        answer = self.client.get(f"{group}/namespaces/{self.namespace}/{kind}")
        return [item["metadata"]["name"] for item in answer.get("items") or ()]

    def left(self) -> list[str]:
        """Objects left in the namespace by topologies, besides the state."""
        collections = ("/apis/apps/v1/deployments", "/apis/apps/v1/replicasets", "/api/v1/pods",
                       "/apis/rbac.authorization.k8s.io/v1/roles",
                       "/apis/rbac.authorization.k8s.io/v1/rolebindings")  # fmt: skip
        names = [f"{path}: {name}" for path in collections for name in self.objects(path)]
        accounts = self.objects("/api/v1/serviceaccounts")
        return [*names, *(f"account: {name}" for name in accounts if name != "default")]

    def pod_logs(self) -> str:
        """Output of all pods, for a failed test."""
        folder = self.plane.folder / "pods"
        texts = [
            f"--- {path.parent.name}\n{path.read_text('utf-8', 'replace')[-6000:]}"
            for path in sorted(folder.glob("*/log"))
        ]
        return "\n".join(texts)

    def close(self) -> None:
        """End the nodes, and the rest of their pods."""
        for node in self.nodes:
            node.lose()
            self._remove(f"/api/v1/nodes/{node.name}")
        self._remove(f"/api/v1/namespaces/{self.namespace}")
        super().close()

    def _remove(self, path: str) -> None:
        """Also where the connection has ended meanwhile."""

        def is_removed() -> bool:
            try:
                self.client.request("DELETE", path)
            except ApiUnanswered:
                return False
            except ApiError as error:
                return error.code in (http.HTTPStatus.NOT_FOUND, http.HTTPStatus.CONFLICT)
            return True

        until(is_removed, f"{path} is removed")


def kubectl(place: KubernetesPlace, *words: object) -> str:
    """Output of kubectl; AssertionError with its complaint after a failure."""
    command = ["kubectl", f"--kubeconfig={place.plane.kubeconfig}", "-n", place.namespace]
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
