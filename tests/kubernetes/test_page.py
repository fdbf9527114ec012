"""The first commands of docs/KUBERNETES.md, given as they stand there."""

from pathlib import Path

from tests.kubernetes.kubernetes_support import KubernetesPlace
from tests.newcomers_page import Newcomer


def test_a_newcomer_s_commands_work(place: KubernetesPlace, tmp_path: Path) -> None:
    home = tmp_path / "newcomer"
    home.mkdir()
    variables = {
        "KUBECONFIG": place.plane.kubeconfig,
        "TMPDIR": place.environment["TMPDIR"],
        "LANG": "C.UTF-8",
    }
    shown = Newcomer(home, variables).follow("KUBERNETES.md", "kubectl create namespace", {})
    assert "kind: Deployment" in shown
    assert "words runs with " in shown
    assert "words is killed" in shown
    assert place.client.get("/api/v1/namespaces/streams/pods").get("items") == []
