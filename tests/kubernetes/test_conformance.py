"""The life of a topology that every back end supports (tests/conformance), on Kubernetes."""

from collections.abc import Callable

import pytest

from tests.conformance.checks import Deployment, whole_life
from tests.conformance.exact_life import exact_life
from tests.kubernetes.kubernetes_support import CLUSTER, PODS_SECS, KubernetesPlace


@pytest.fixture
def deployment(place: KubernetesPlace, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    """In the namespace of the place."""
    monkeypatch.setenv("KUBECONFIG", place.plane.kubeconfig)
    on = ("--cluster", CLUSTER)
    store_url = f"kubernetes://{place.namespace}"
    return Deployment(
        "kubernetes", place, on, on, store_url, PODS_SECS, place.left, gets_new_code=True
    )


@pytest.mark.timeout(600)
def test_a_topology_s_whole_life(
    deployment: Deployment, record_property: Callable[[str, object], None]
) -> None:
    whole_life(deployment, record_property)


@pytest.mark.timeout(600)
def test_a_life_with_state_is_exact(deployment: Deployment) -> None:
    """With a kill, a rescale, a savepoint, and a node whose kubelet says nothing more."""
    exact_life(deployment, lose_a_node)


def lose_a_node(deployment: Deployment, _: Callable[[], None]) -> None:
    """Its processes are gone, and Kubernetes notices by itself; the pods go to another node."""
    place = deployment.place
    assert isinstance(place, KubernetesPlace)
    victim = place.pod(1)
    node = place.node_of(victim)
    node.lose()
    replaced = place.pod(1, other_than=victim.uid)
    assert place.node_of(replaced) is not node
