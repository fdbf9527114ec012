"""The life of a topology that every back end supports (tests/conformance), on Kubernetes."""

from collections.abc import Callable

import pytest

from tests.conformance.checks import Deployment, whole_life
from tests.kubernetes.kubernetes_support import CLUSTER, PODS_SECS, KubernetesPlace


@pytest.mark.timeout(600)
def test_a_topology_s_whole_life(
    place: KubernetesPlace,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setenv("KUBECONFIG", place.plane.kubeconfig)
    on = ("--cluster", CLUSTER)
    store_url = f"kubernetes://{place.namespace}"
    deployment = Deployment(
        "kubernetes", place, on, on, store_url, PODS_SECS, place.left, gets_new_code=True
    )
    whole_life(deployment, record_property)
