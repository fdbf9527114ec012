"""A small kubelet: a node whose pods are processes of this machine.

The needs of a topology are met: the kubelet starts a pod's container, reports the status, asks the
probes, restarts an ended container, ends containers gracefully, and is silent once lost.
"""

import base64
import http.client
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heron_core.errors import HeronError
from heron_io.kubernetes.client import MERGE_PATCH, ApiClient, ApiError
from tests.kubernetes.control_plane import ControlPlane
from tests.kubernetes.kubelet_logs import KubeletLogs
from tests.kubernetes.pod_status import (
    CONFIG_ERROR,
    NO_IMAGE,
    PULL_BACKOFF,
    absent_image,
    status_of,
    warning_event,
)
from tests.kubernetes.pods import PodProcess, written_files

POLL_SECS = 0.3
BEAT_SECS = 2.0
BACKOFF_SECS, BACKOFF_SECS_MAX = 1.0, 5.0
"""A kubelet's own begins with ten seconds."""
PROBE_SECS = 2.0
CPU, MEMORY = "8", "16Gi"


class Kubelet:
    """One node."""

    def __init__(
        self, plane: ControlPlane, name: str, number: int, labels: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self._plane = plane
        self._number = number
        self._labels = dict(labels or {})
        self._client: ApiClient = plane.client()
        self.pods: dict[str, PodProcess] = {}
        self.lost_images: set[str] = set()
        """Which new pods cannot have; what runs goes on."""
        self._count = 0
        self._ended = threading.Event()
        self._start_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._beat_at = self._probe_at = 0.0
        self._reported: dict[str, Any] = {}
        self._logs = KubeletLogs(plane.authority, plane.authority_key, self._log_of)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Be a node from now on."""
        self._register()
        self._thread.start()

    def lose(self) -> None:
        """The machine is gone, with all processes, without a report."""
        self._ended.set()
        self._thread.join()
        for pod in self.pods.values():
            pod.kill()
        self._logs.close()
        self._client.close()

    def pod_of(self, container: int) -> PodProcess | None:
        """The pod of a container of a topology, if on this node."""
        for pod in list(self.pods.values()):
            if f"-{container}-" in pod.name and pod.is_running:
                return pod
        return None

    def _log_of(self, pod: str) -> Path | None:
        """The file with the output of a pod of this node."""
        return next((each.timed for each in list(self.pods.values()) if each.name == pod), None)

    def _register(self) -> None:
        now = _now()
        condition = {"type": "Ready", "status": "True", "reason": "KubeletReady",
                     "lastHeartbeatTime": now, "lastTransitionTime": now}  # fmt: skip
        amounts = {"cpu": CPU, "memory": MEMORY, "pods": "110"}
        node = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {"kubernetes.io/hostname": self.name, **self._labels},
            },
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [condition],
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": self._logs.port}},
            },
        }
        self._client.request("POST", "/api/v1/nodes", node)
        path = f"/api/v1/nodes/{self.name}/status"
        self._client.request("PATCH", path, {"status": node["status"]}, content=MERGE_PATCH)

    def _run(self) -> None:
        while not self._ended.wait(POLL_SECS):
            with suppress(HeronError):
                self._beat()
                self._sync()

    def _beat(self) -> None:
        if time.monotonic() < self._beat_at:
            return
        self._beat_at = time.monotonic() + BEAT_SECS
        leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40,
                "renewTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")}  # fmt: skip
        try:
            path = f"{leases}/{self.name}"
            self._client.request("PATCH", path, {"spec": spec}, content=MERGE_PATCH)
        except ApiError:
            lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                     "metadata": {"name": self.name}, "spec": spec}  # fmt: skip
            self._client.request("POST", leases, lease)

    def _sync(self) -> None:
        wanted = self._client.get("/api/v1/pods", fieldSelector=f"spec.nodeName={self.name}")
        objects = {pod["metadata"]["uid"]: pod for pod in wanted.get("items") or ()}
        for uid, pod in objects.items():
            if pod["metadata"].get("deletionTimestamp"):
                self._end(uid, pod)
            else:
                self._keep(uid, pod)
        for uid in self.pods.keys() - objects.keys():
            self.pods.pop(uid).kill()  # removed by force
        self._probe(objects)

    def _end(self, uid: str, pod: Mapping[str, Any]) -> None:
        process = self.pods.get(uid)
        if process is not None and process.is_running:
            process.terminate(pod["metadata"].get("deletionGracePeriodSeconds", 30))
            process.poll()
            return
        self.pods.pop(uid, None)
        self._reported.pop(uid, None)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
        with suppress(ApiError):
            self._client.request("DELETE", _path(pod), options)

    def _keep(self, uid: str, pod: Mapping[str, Any]) -> None:
        process = self.pods.get(uid)
        if process is None:
            self._count += 1
            folder = self._plane.folder / "pods" / pod["metadata"]["name"]
            folder.mkdir(parents=True, exist_ok=True)
            network = self._plane.subnet + self._number
            address = f"127.{network}.{self._count // 250}.{self._count % 250 + 1}"
            process = self.pods[uid] = PodProcess(pod, folder, address)
        elif process.reap():
            process.restarts += 1
            process.is_started = False
            seconds = min(BACKOFF_SECS_MAX, BACKOFF_SECS * (process.restarts - 1))
            self._start_at[uid] = time.monotonic() + seconds
        if not process.is_running and time.monotonic() >= self._start_at.get(uid, 0.0):
            self._start(uid, pod, process)
        self._report(uid, pod, process)

    def _start(self, uid: str, pod: Mapping[str, Any], process: PodProcess) -> None:
        """Start the container, or name the missing objects, for another try later."""
        self._start_at[uid] = time.monotonic() + BACKOFF_SECS
        image = pod["spec"]["containers"][0]["image"]
        if (message := absent_image(image, self.lost_images)) is not None:
            is_first = process.held is None
            process.held = (NO_IMAGE if is_first else PULL_BACKOFF, message)
            return
        try:
            variables = {**self._account_variables(), **self._secret_variables(pod)}
        except ApiError as error:
            process.held = (CONFIG_ERROR, str(error))
            return
        try:
            sources = self._sources(pod, process.folder)
        except ApiError as error:
            self._tell(pod, "FailedMount", f"MountVolume.SetUp failed for volume: {error}")
            return
        process.held = None
        process.start(variables, sources)

    def _secret_variables(self, pod: Mapping[str, Any]) -> dict[str, str]:
        """Variables of `envFrom`; ApiError for a missing Secret."""
        found: dict[str, str] = {}
        for each in pod["spec"]["containers"][0].get("envFrom") or ():
            namespace, name = pod["metadata"]["namespace"], each["secretRef"]["name"]
            secret = self._client.get(f"/api/v1/namespaces/{namespace}/secrets/{name}")
            data = secret.get("data") or {}
            found |= {key: base64.b64decode(text).decode() for key, text in data.items()}
        return found

    def _tell(self, pod: Mapping[str, Any], reason: str, message: str) -> None:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/events"
        self._client.request("POST", path, warning_event(pod, reason, message, _now()))

    def _report(self, uid: str, pod: Mapping[str, Any], process: PodProcess) -> None:
        status = status_of(pod, process, is_failing=bool(self._failures.get(uid)))
        if self._reported.get(uid) != status:
            self._client.request(
                "PATCH", f"{_path(pod)}/status", {"status": status}, content=MERGE_PATCH
            )
            self._reported[uid] = status

    def _probe(self, objects: Mapping[str, Mapping[str, Any]]) -> None:
        """Startup, and liveness: a container is restarted at the threshold of failures."""
        for uid, process in self.pods.items():
            container = objects.get(uid, {}).get("spec", {}).get("containers", [{}])[0]
            startup = container.get("startupProbe")
            if process.is_running and not process.is_started:
                process.is_started = startup is None or _answers(process.address, startup)
        if time.monotonic() < self._probe_at:
            return
        self._probe_at = time.monotonic() + PROBE_SECS
        for uid, process in self.pods.items():
            probe = (
                objects.get(uid, {}).get("spec", {}).get("containers", [{}])[0].get("livenessProbe")
            )
            if probe is None or not process.is_running:
                continue
            if _answers(process.address, probe):
                self._failures.pop(uid, None)
                continue
            self._failures[uid] = self._failures.get(uid, 0) + 1
            startup_secs = 60.0
            limit = probe.get("failureThreshold", 3) * probe.get("periodSeconds", 10) / PROBE_SECS
            if time.time() - process.started_at > startup_secs and self._failures[uid] > limit:
                process.kill()

    def _account_variables(self) -> dict[str, str]:
        return {"KUBERNETES_SERVICE_HOST": "127.0.0.1",
                "KUBERNETES_SERVICE_PORT": str(self._plane.port)}  # fmt: skip

    def _sources(self, pod: Mapping[str, Any], folder: Path) -> dict[str, Path]:
        """The folder of each volume."""
        sources = {}
        for volume in pod["spec"].get("volumes") or ():
            own = folder / "volumes" / volume["name"]
            own.mkdir(parents=True, exist_ok=True)
            if "hostPath" in volume:
                own = Path(volume["hostPath"]["path"])
            elif "projected" in volume:
                self._write_account(pod, own)
            elif "configMap" in volume or "secret" in volume:
                self._write_keys(pod, volume, own)
            sources[volume["name"]] = own
        return sources

    def _write_account(self, pod: Mapping[str, Any], folder: Path) -> None:
        namespace, account = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                   "spec": {"expirationSeconds": 7200}}  # fmt: skip
        answer = self._client.request("POST", path, request)
        (folder / "token").write_text(answer["status"]["token"])
        (folder / "ca.crt").write_bytes(self._plane.authority.read_bytes())
        (folder / "namespace").write_text(namespace)

    def _write_keys(self, pod: Mapping[str, Any], volume: Mapping[str, Any], folder: Path) -> None:
        namespace = pod["metadata"]["namespace"]
        is_secret = "secret" in volume
        name = volume["secret"]["secretName"] if is_secret else volume["configMap"]["name"]
        collection = "secrets" if is_secret else "configmaps"
        found = self._client.get(f"/api/v1/namespaces/{namespace}/{collection}/{name}")
        written_files(folder, found.get("data") or {}, is_secret)


def _path(pod: Mapping[str, Any]) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _answers(address: str, probe: Mapping[str, Any]) -> bool:
    wanted = probe.get("httpGet") or probe["tcpSocket"]
    connection = http.client.HTTPConnection(address, wanted["port"], timeout=1.0)
    try:
        if "tcpSocket" in probe:
            connection.connect()
            return True
        connection.request("GET", wanted["path"])
        return connection.getresponse().status < http.HTTPStatus.BAD_REQUEST
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
