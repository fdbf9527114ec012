"""`heronpy ui` as a Deployment, by the manifest of examples/kubernetes."""

import json
import ssl
import subprocess
import urllib.request
from typing import Any

from heron_core.errors import HeronError
from tests.kubernetes.kubernetes_support import CLUSTER, PODS_SECS, KubernetesPlace, kubectl
from tests.kubernetes.pod_status import ABSENT_REGISTRY
from tests.process.process_support import EXAMPLES, until

MANIFEST = EXAMPLES / "kubernetes" / "ui.yaml"
TOKEN = "operators-of-the-tests"
PORT = 8889


def address(place: KubernetesPlace) -> str | None:
    """Of the service's pod, once it runs."""
    for pod in place.pods():
        is_running = pod["status"].get("phase") == "Running"
        if is_running and pod["metadata"]["labels"].get("app") == "heronpy-ui":
            return str(pod["status"].get("podIP") or "") or None
    return None


def answer(place: KubernetesPlace, path: str) -> Any:
    """What the service says; None while it does not answer."""
    context = ssl.create_default_context(cafile=str(place.path / "ui.crt"))
    context.check_hostname = False
    request = urllib.request.Request(
        f"https://{address(place)}:{PORT}{path}", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=5.0, context=context) as response:
            return json.load(response)
    except (OSError, HeronError):
        return None


def test_the_service_is_a_deployment(place: KubernetesPlace) -> None:
    """The pages have a topology of the namespace, for requests with the token; a new image that
    cannot be pulled leaves the old pod in place."""
    certificate, key = place.path / "ui.crt", place.path / "ui.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=heronpy-ui",
         "-days", "2", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    kubectl(place, "create", "secret", "tls", "heronpy-ui-tls", f"--cert={certificate}",
            f"--key={key}")  # fmt: skip
    kubectl(
        place, "create", "secret", "generic", "heronpy-ui-token", f"--from-literal=token={TOKEN}"
    )
    manifest = place.path / "ui.yaml"
    state = f"kubernetes://{place.namespace}"
    manifest.write_text(MANIFEST.read_text("utf-8").replace("kubernetes://streams", state))
    kubectl(place, "apply", "-f", manifest)
    place.heronpy(
        "submit", EXAMPLES / "endless_words.py", "-N", place.name, "--cluster", CLUSTER, "-w", 1,
        secs=120.0,
    ).succeeded()  # fmt: skip
    until(lambda: address(place), "its pod runs", PODS_SECS)
    until(lambda: place.name in json.dumps(answer(place, "/topologies")), "it shows it", PODS_SECS)
    before = address(place)
    kubectl(place, "set", "image", "deployment/heronpy-ui", f"ui={ABSENT_REGISTRY}heronpy:next")
    until(lambda: "not found" in json.dumps(place.pods()), "the new pod has no image", PODS_SECS)
    assert address(place) == before
    assert place.name in json.dumps(answer(place, "/topologies"))
    place.heronpy("kill", place.name, "--cluster", CLUSTER, secs=PODS_SECS).succeeded()
