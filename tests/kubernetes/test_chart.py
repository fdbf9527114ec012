"""The chart of `heronpy ui`: what it makes, and whether a real API server takes that."""

import subprocess

import pytest
import yaml

from heron_engine.scheduler.backends.kubernetes.render import labels
from tests.kubernetes.kubernetes_support import KubernetesPlace
from tests.kubernetes.needs import helm
from tests.process.process_support import EXAMPLES

CHART = EXAMPLES / "kubernetes" / "chart"
MANIFEST = EXAMPLES / "kubernetes" / "ui.yaml"
POLICIES = (
    "--set", "networkPolicy.enabled=true",
    "--set", "networkPolicy.clients[0].podSelector.matchLabels.role=operator",
    "--set", "networkPolicy.operators[0].ipBlock.cidr=10.0.0.0/8",
    "--set", "nodeSelector.disk=ssd", "--set", "tolerations[0].operator=Exists",
)  # fmt: skip


def template(*words: str) -> "subprocess.CompletedProcess[str]":
    """`helm template`; the test is skipped where helm is missing."""
    if (program := helm()) is None:
        pytest.skip("helm is not here (python -m tests.kubernetes.needs --build)")
    command = [program, "template", "heronpy-ui", str(CHART), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_manifest_of_the_page_is_what_the_chart_makes() -> None:
    done = template("-n", "streams")
    assert done.returncode == 0, done.stderr
    made = [each for each in yaml.safe_load_all(done.stdout) if each]
    assert made == [each for each in yaml.safe_load_all(MANIFEST.read_text("utf-8")) if each]


def test_an_api_server_takes_all_of_it(place: KubernetesPlace) -> None:
    """With each value set; validated by the server, and not created."""
    done = template("-n", place.namespace, *POLICIES)
    assert done.returncode == 0, done.stderr
    policies = [each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "NetworkPolicy"]
    selected = [each["spec"]["podSelector"]["matchLabels"] for each in policies]
    assert {"app": "heronpy-ui"} in selected
    assert any(each.items() <= labels("words").items() for each in selected), "topologies' pods"
    applied = subprocess.run(
        ["kubectl", f"--kubeconfig={place.plane.kubeconfig}", "-n", place.namespace, "apply",
         "--dry-run=server", "--validate=strict", "-f", "-"],
        input=done.stdout, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert applied.returncode == 0, applied.stderr
    assert applied.stdout.count("(server dry run)") == len(done.stdout.split("\n---\n"))


def test_a_misspelt_value_is_refused_by_its_name() -> None:
    done = template("--set", "networkPolicies.enabled=true")
    assert done.returncode != 0
    assert "networkPolicies" in done.stderr
