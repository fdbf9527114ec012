"""A real control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler."""

import base64
import json
import os
import socket
import subprocess
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from heron_core.errors import HeronError
from heron_io.kubernetes.access import access_of
from heron_io.kubernetes.client import ApiClient, ApiError
from tests.kubernetes.kwok_stages import STAGES
from tests.kubernetes.needs import FOLDER, KWOK
from tests.leftovers import leftovers
from tests.process.process_support import until

TOKEN, COUNTED_TOKEN = "admin-of-the-tests", "operator-of-the-tests"
COUNTED_USER = "operator"
"""Has an administrator's rights; the audit log has the requests of this user alone."""
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata", "users": [COUNTED_USER]}, {"level": "None"}],
}
START_SECS = 120.0
"""An API server takes three seconds on an idle machine."""
STOP_SECS = 20.0
SUBNETS_OF_WORKER = 50
"""More than a test has nodes."""
NODE_GRACE_SECS = 10
WITHOUT_STREAMED_LISTS = {"KUBE_FEATURE_WatchListClient": "false"}
"""etcd 3.4 has none. kwok would ask for one again and again, up to half a minute later each time,
and see no pod meanwhile."""
QUICK = ("--kube-api-qps=1000", "--kube-api-burst=2000")
"""Controllers and scheduler have 20 and 50 requests a second otherwise: minutes for 1,000 pods."""
CONTROLLERS = (
    "deployment-controller", "replicaset-controller", "garbage-collector-controller",
    "serviceaccount-controller", "namespace-controller", "resourcequota-controller",
    "node-lifecycle-controller", "taint-eviction-controller", "pod-garbage-collector-controller",
)  # fmt: skip


def free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class ControlPlane:
    """The servers, below a folder of their own, and clients of them."""

    def __init__(self, folder: Path, node_grace_secs: int = NODE_GRACE_SECS) -> None:
        """`node_grace_secs`: how long a silent node is not lost yet."""
        self.folder = folder
        self._node_grace_secs = node_grace_secs
        self.port, self._etcd_port, self._peer_port = free_port(), free_port(), free_port()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        leftovers().add(word=str(folder))

    @property
    def kubeconfig(self) -> str:
        """A file with the administrator's token."""
        return str(self.folder / "kubeconfig.json")

    @property
    def counted_kubeconfig(self) -> str:
        """A file with the token of the user whose requests are counted."""
        return str(self.folder / "counted.json")

    def counted(self) -> Counter[tuple[str, str]]:
        """(verb, resource) -> the finished requests of that user."""
        with open(self.folder / "audit.log", encoding="utf-8") as log:
            events = map(json.loads, log)
            return Counter(
                (event["verb"], event.get("objectRef", {}).get("resource", "")) for event in events
            )

    @property
    def authority(self) -> Path:
        """The certificate of the API server, which has signed itself."""
        return self.folder / "certificates" / "apiserver.crt"

    @property
    def authority_key(self) -> Path:
        """The key of that certificate, also used by the kubelets of the suite."""
        return self.authority.with_suffix(".key")

    @property
    def subnet(self) -> int:
        """The nodes' addresses are 127.X.*.*, with X above this: the control plane of another
        process of pytest-xdist has different addresses."""
        worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
        return SUBNETS_OF_WORKER * int(worker.removeprefix("gw"))

    def start(self) -> None:
        """Data and API server; returns when ready."""
        self.folder.mkdir(parents=True, exist_ok=True)
        key = self.folder / "account.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        (self.folder / "tokens.csv").write_text(
            f'{TOKEN},admin,admin,"system:masters"\n'
            f'{COUNTED_TOKEN},{COUNTED_USER},{COUNTED_USER},"system:masters"\n'
        )
        (self.folder / "audit.json").write_text(json.dumps(AUDIT_POLICY))
        self.start_etcd()
        self.start_api_server()

    def start_controllers(self) -> None:
        """Controllers of Deployments, and the scheduler."""
        key = self.folder / "account.key"
        for name, words in (
            ("kube-controller-manager", self._controller_words(key)),
            ("kube-scheduler", []),
        ):
            common = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0",
                      *QUICK]  # fmt: skip
            self._spawn(name, str(FOLDER / name), *common, *words)
        client = self.client()
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        until(lambda: answers(client, path), "the controllers work", START_SECS)

    def restart_controllers(self) -> None:
        """As in a leader election: a controller without the API server for a while ends."""
        for name in ("kube-controller-manager", "kube-scheduler"):
            self.stop(name)
        self.start_controllers()

    def start_etcd(self) -> None:
        """The data."""
        peer = f"http://127.0.0.1:{self._peer_port}"
        url = f"http://127.0.0.1:{self._etcd_port}"
        self._spawn(
            "etcd", "etcd", f"--data-dir={self.folder / 'etcd'}", f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}", f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=default={peer}",
        )  # fmt: skip

    def start_api_server(self) -> None:
        """At a fixed address; returns when ready."""
        key = self.folder / "account.key"
        self._spawn(
            "kube-apiserver", str(FOLDER / "kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
            "--bind-address=127.0.0.1", f"--secure-port={self.port}",
            "--advertise-address=127.0.0.1", f"--cert-dir={self.folder / 'certificates'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}", "--authorization-mode=RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--audit-policy-file={self.folder / 'audit.json'}",
            f"--audit-log-path={self.folder / 'audit.log'}",
            f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.0.0.0/24", "--endpoint-reconciler-type=none",
        )  # fmt: skip
        until(self.authority.exists, "it has a certificate", START_SECS)
        self._write_kubeconfig(self.kubeconfig, TOKEN)
        self._write_kubeconfig(self.counted_kubeconfig, COUNTED_TOKEN)
        client = self.client()
        until(lambda: answers(client, "/readyz/ping"), "the API server is ready", START_SECS)
        until(lambda: answers(client, "/api/v1/namespaces/kube-system"), "it has data", START_SECS)

    def stop(self, name: str) -> None:
        """End one server."""
        process = self._processes.pop(name)
        process.terminate()
        try:
            process.wait(STOP_SECS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End all, the data last."""
        for name in reversed(list(self._processes)):
            self._processes[name].kill()
            self._processes[name].wait()
        self._processes.clear()
        leftovers().discard(word=str(self.folder))

    def client(self) -> ApiClient:
        """The administrator's."""
        return ApiClient(access_of({"KUBECONFIG": self.kubeconfig}))

    def log(self, name: str) -> str:
        """Output of a server."""
        return (self.folder / f"{name}.log").read_text("utf-8", "replace")

    def _controller_words(self, key: Path) -> list[str]:
        return [
            f"--controllers={','.join(CONTROLLERS)}",
            f"--service-account-private-key-file={key}",
            "--node-monitor-period=1s",
            f"--node-monitor-grace-period={self._node_grace_secs}s",
            "--concurrent-gc-syncs=2",
        ]

    def start_kwok(self, label: str) -> None:
        """Nodes with this label, and their pods, look alive from now on."""
        stages = self.folder / "stages.yaml"
        stages.write_text("\n---\n".join(map(json.dumps, STAGES)))
        self._spawn(
            "kwok", str(KWOK), f"--kubeconfig={self.kubeconfig}", f"--config={stages}",
            f"--manage-nodes-with-label-selector={label}",
        )  # fmt: skip

    def _spawn(self, name: str, *words: str) -> None:
        with open(self.folder / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "GOMEMLIMIT": "600MiB", **WITHOUT_STREAMED_LISTS},
            )

    def _write_kubeconfig(self, file: str, token: str) -> None:
        authority = base64.b64encode(self.authority.read_bytes()).decode()
        cluster = {
            "server": f"https://127.0.0.1:{self.port}",
            "certificate-authority-data": authority,
        }
        document: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "admin"}}],
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": token}}],
        }
        Path(file).write_text(json.dumps(document))


def answers(client: ApiClient, path: str) -> bool:
    try:
        client.get(path)
    except (ApiError, HeronError):
        return False
    return True
