"""Topologies whose pods cannot start: `submit` says why in half a minute, and leaves nothing."""

import re
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from heron_core.state_tree import execution_path, topology_path
from tests.kubernetes.kubelet import CPU
from tests.kubernetes.kubernetes_support import (
    CLUSTER,
    IMAGE,
    PODS_SECS,
    KubernetesPlace,
    kubectl,
)
from tests.kubernetes.pod_status import ABSENT_REGISTRY
from tests.process.process_support import EXAMPLES, Running, until

SPARE_ROOM = EXAMPLES / "kubernetes" / "spare_room.yaml"
PODS = 2
"""Of endless_words: a container's and the topology master's."""
ELF_HEADER_BYTES, ELF_MACHINE_AT, S390 = 64, 18, 22
NO_VOLUME: dict[str, Any] = {"name": "keys", "secret": {"secretName": "nowhere"}}
NO_CLAIM: dict[str, Any] = {"name": "states", "persistentVolumeClaim": {"claimName": "nowhere"}}


def submit(place: KubernetesPlace, cluster: str) -> Running:
    """Submit a topology named after the cluster."""
    example = EXAMPLES / "endless_words.py"
    return place.start("submit", example, "-N", f"{place.name}-{cluster}", "--cluster", cluster)


def told(running: Running, line: str) -> bool:
    """Whether a command has printed a line of this pattern."""
    return re.search(line, running.err) is not None


def program_of_another_machine(place: KubernetesPlace) -> Path:
    """This Python with the number of another architecture in its header."""
    program = place.path / "python-of-another-machine"
    header = bytearray(Path(sys.executable).read_bytes()[:ELF_HEADER_BYTES])
    header[ELF_MACHINE_AT : ELF_MACHINE_AT + 2] = S390.to_bytes(2, "little")
    program.write_bytes(header)
    program.chmod(0o755)
    return program


def test_containers_that_cannot_start_are_told_with_the_reason(place: KubernetesPlace) -> None:
    """An image unknown to the registry, a missing Secret, a Python missing in the image, an image
    of another architecture: all at once, because each takes twenty seconds."""
    place.cluster("image", image=f"{ABSENT_REGISTRY}heronpy:0.2.0")
    place.cluster("secret", environment_secret="nowhere")
    place.cluster("python", python="python9")
    place.cluster("machine", python=str(program_of_another_machine(place)))
    expected = {
        "image": r"containers 0, 1(, 2)?: (ErrImagePull|ImagePullBackOff): .*: not found",
        "secret": r'containers 0, 1(, 2)?: CreateContainerConfigError: secrets "nowhere" not found',
        "python": r"CrashLoopBackOff, exit code 127; its last line: exec python9: no such file",
        "machine": r"CrashLoopBackOff, exit code 255; its last line: exec \S+: exec format error",
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


def test_an_image_that_cannot_start_leaves_a_running_topology_as_it_is(
    place: KubernetesPlace,
) -> None:
    """`update --engine` fails with the kubelet's reason and gives the first container its image
    back; then an update whose new container cannot start is cancelled with the reason."""
    submit(place, CLUSTER).wait(PODS_SECS).succeeded()
    name = f"{place.name}-{CLUSTER}"
    assert len(place.pods()) == PODS
    place.cluster(image=f"{ABSENT_REGISTRY}heronpy:next")
    began = time.monotonic()
    update = place.start("update", name, "--engine", "--cluster", CLUSTER).wait(PODS_SECS)
    assert time.monotonic() - began < PODS_SECS
    assert update.code == 1
    assert re.search(
        r"container 1 of .* does not work with .*: it cannot start \(container 1: "
        r"(ErrImagePull|ImagePullBackOff): .*: not found\)\. It was rolled back",
        update.errors[-1],
    ), update.err
    until(lambda: images(place) == {IMAGE}, "all pods have the first image", PODS_SECS)
    for node in place.nodes:
        node.lost_images.add(IMAGE)
    rescale = place.heronpy(
        "update", name, "--component-parallelism", "count:4", "--container-number", 2,
        "--cluster", CLUSTER, secs=PODS_SECS,
    )  # fmt: skip
    assert rescale.code == 1
    assert re.search(
        r"is not updated: what it adds cannot start: container \d: (ErrImagePull|ImagePullBackOff)",
        rescale.errors[-1],
    ), rescale.err
    until(lambda: len(place.pods()) == PODS, "what was added is gone", PODS_SECS)
    assert place.value(execution_path(name))["state"] == "RUNNING"
    place.heronpy("kill", name, "--cluster", CLUSTER, secs=PODS_SECS).succeeded()


def images(place: KubernetesPlace) -> set[str]:
    """The images of all pods."""
    return {pod["spec"]["containers"][0]["image"] for pod in place.pods()}
