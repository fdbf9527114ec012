"""Topologies whose pods cannot start: `submit` says why in half a minute, and leaves nothing."""

import re
from functools import partial
from typing import Any

import yaml

from heron_core.state_tree import topology_path
from tests.kubernetes.kubelet import CPU
from tests.kubernetes.kubernetes_support import CLUSTER, PODS_SECS, KubernetesPlace, kubectl
from tests.kubernetes.pod_status import ABSENT_REGISTRY
from tests.process.process_support import EXAMPLES, Running, until

SPARE_ROOM = EXAMPLES / "kubernetes" / "spare_room.yaml"
NO_VOLUME: dict[str, Any] = {"name": "keys", "secret": {"secretName": "nowhere"}}
NO_CLAIM: dict[str, Any] = {"name": "states", "persistentVolumeClaim": {"claimName": "nowhere"}}


def submit(place: KubernetesPlace, cluster: str) -> Running:
    """Submit a topology named after the cluster."""
    example = EXAMPLES / "endless_words.py"
    return place.start("submit", example, "-N", f"{place.name}-{cluster}", "--cluster", cluster)


def told(running: Running, line: str) -> bool:
    """Whether a command has printed a line of this pattern."""
    return re.search(line, running.err) is not None


def test_containers_that_cannot_start_are_told_with_the_reason(place: KubernetesPlace) -> None:
    """An image unknown to the registry, a missing Secret, a Python missing in the image: all at
    once, because each takes twenty seconds."""
    place.cluster("image", image=f"{ABSENT_REGISTRY}heronpy:0.2.0")
    place.cluster("secret", environment_secret="nowhere")
    place.cluster("python", python="python9")
    expected = {
        "image": r"containers 0, 1(, 2)?: (ErrImagePull|ImagePullBackOff): .*: not found",
        "secret": r'containers 0, 1(, 2)?: CreateContainerConfigError: secrets "nowhere" not found',
        "python": r"CrashLoopBackOff, exit code 127; its last line: .*python9: not found",
    }
    submitted = {cluster: submit(place, cluster) for cluster in expected}
    for cluster, line in expected.items():
        finished = submitted[cluster].wait(PODS_SECS)
        name = f"{place.name}-{cluster}"
        assert finished.code == 1
        assert finished.errors[-1].startswith(f"heronpy: {name} cannot start: ")
        assert re.search(line, finished.errors[-1]), finished.err
        assert place.value(topology_path(name)) is None
    until(lambda: not place.left(), "nothing is left in the namespace")


def test_volumes_and_nodes_that_are_missing_are_told_while_submit_waits(
    place: KubernetesPlace,
) -> None:
    """Nodes and volumes may still come: `submit` waits, and names the missing one."""
    place.cluster("mount", volumes=[NO_VOLUME])
    place.cluster("claim", volumes=[NO_CLAIM])
    place.cluster("node", node_selector={"place": "nowhere"})
    expected = {
        "mount": r"FailedMount: MountVolume.SetUp failed .*\"nowhere\" not found",
        "claim": r"Unschedulable: .*persistentvolumeclaim \"nowhere\" not found",
        "node": r"Unschedulable: .*didn't match Pod's node affinity/selector",
    }
    submitted = {cluster: submit(place, cluster) for cluster in expected}
    for cluster, line in expected.items():
        running = submitted[cluster]
        running.until(partial(told, running, line), line, PODS_SECS)
        running.signal()
    for cluster in expected:
        assert submitted[cluster].wait(PODS_SECS).code != 0
    until(lambda: not place.left(), "nothing is left in the namespace", PODS_SECS)


def test_placeholders_keep_room_for_a_topology(place: KubernetesPlace) -> None:
    """The pods of examples/kubernetes/spare_room.yaml take all cores of all nodes, and give them to
    the pods of a topology."""
    priority, room = yaml.safe_load_all(SPARE_ROOM.read_text("utf-8"))
    pod = room["spec"]["template"]["spec"]
    pod["nodeSelector"] = {"place": place.namespace}
    pod["containers"][0]["resources"] = {"requests": {"cpu": CPU}}
    file = place.path / "spare_room.yaml"
    file.write_text(yaml.safe_dump_all([priority, room]))
    kubectl(place, "apply", "-f", file)

    def phases() -> list[str]:
        return sorted(
            pod["status"]["phase"]
            for pod in place.pods()
            if pod["metadata"]["labels"].get("app") == "heronpy-spare-room"
        )

    until(lambda: phases() == ["Running", "Running"], "all cores are taken", PODS_SECS)
    submit(place, CLUSTER).wait(PODS_SECS).succeeded()
    until(lambda: "Pending" in phases(), "a placeholder waits for the next node", PODS_SECS)
    name = f"{place.name}-{CLUSTER}"
    place.heronpy("kill", name, "--cluster", CLUSTER, secs=PODS_SECS).succeeded()
