"""The life of a topology on every back end (tests/conformance), here on Kubernetes."""

from collections.abc import Callable

import pytest

from heron_core.version import VERSION
from tests.conformance.checks import Deployment, whole_life
from tests.conformance.exact_life import exact_life
from tests.conformance.scaling import scales_with_its_load
from tests.kubernetes.kubernetes_support import CLUSTER, PODS_SECS, KubernetesPlace
from tests.process.process_support import until

NEXT_IMAGE = "heronpy:next"


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
    """With a kill, a rescale, a savepoint, another image, and a lost node."""
    exact_life(deployment, upgrade_and_lose_a_node)


@pytest.mark.timeout(600)
def test_the_autoscaler_creates_deployments(deployment: Deployment) -> None:
    """A command with a submitter's rights decides."""
    place = deployment.place
    assert isinstance(place, KubernetesPlace)
    plan = scales_with_its_load(deployment)
    assert len(plan.containers) > 1
    until(lambda: not place.left(), "nothing is left in the namespace")


def upgrade_and_lose_a_node(deployment: Deployment, _: Callable[[], None]) -> None:
    place = deployment.place
    assert isinstance(place, KubernetesPlace)
    upgrade(deployment, place)
    lose_a_node(place)


def upgrade(deployment: Deployment, place: KubernetesPlace) -> None:
    """The pods get the image of the cluster's file, one after the other, the master's at last; the
    nodes of this suite have one heronpy for all images."""
    place.cluster(image=NEXT_IMAGE)
    finished = deployment.heronpy("update", "--engine")
    assert finished.out == (
        f"{place.name} runs heronpy {VERSION} ({NEXT_IMAGE}) in all containers\n"
    )
    told = [line for line in finished.err.splitlines() if " runs heronpy " in line]
    assert told == [
        f"container 1 runs heronpy {VERSION} (1 of 3)",
        f"container 2 runs heronpy {VERSION} (2 of 3)",
        f"the topology master runs heronpy {VERSION} (3 of 3)",
    ]
    images = [pod["spec"]["containers"][0]["image"] for pod in place.pods()]
    assert set(images) == {NEXT_IMAGE}


def lose_a_node(place: KubernetesPlace) -> None:
    """Its processes are gone, and Kubernetes notices by itself; the pods go to another node."""
    victim = place.pod(1)
    node = place.node_of(victim)
    node.lose()
    replaced = place.pod(1, other_than=victim.uid)
    assert place.node_of(replaced) is not node
