"""Topologies on Kubernetes, as a user runs them: real API server, controllers and scheduler.

The nodes are the suite's (kubelet.py): a pod's container is a process in namespaces of its own.
"""

import json
import os
import shutil
import subprocess
import threading
import time

from heron_core.plans import packing_from_json
from heron_core.state_tree import execution_path, master_path, packing_path, topology_path
from tests.kubernetes.kubernetes_support import CLUSTER, PODS_SECS, KubernetesPlace
from tests.process.process_support import EXAMPLES, until
from tests.process.survival import TOPOLOGY, acked, gaps, settings, survey

LINES, RATE = 6000, 40.0
"""More than the spouts emit at their pace until a test lets them hurry."""
MANY_LINES = 100_000
AWAY_SECS = 60.0
PACKAGE_BYTES = 50_000_000
FLOWING_LINES = 40
SUBMIT_SECS = 120.0


def submit_surviving(place: KubernetesPlace, lines: int, rate: float, *words: object) -> None:
    """Start the topology whose lines are acked whatever dies."""
    options, _ = settings(place.path, lines, rate)
    place.heronpy(
        "submit", TOPOLOGY, "-N", place.name, "--cluster", CLUSTER, "-w", 2, *words, *options,
        secs=SUBMIT_SECS,
    ).succeeded()  # fmt: skip
    until(lambda: acked(place.path) > FLOWING_LINES, "lines are acked", PODS_SECS)


def all_arrive(place: KubernetesPlace) -> None:
    """The rest, at full speed."""
    assert acked(place.path) < LINES, "it was disturbed in the middle"
    (place.path / "hurry").touch()
    until(lambda: acked(place.path) == LINES, "all lines are acked", PODS_SECS)


def test_word_count_and_its_whole_life(place: KubernetesPlace) -> None:
    """Submit, look, kill; then nothing is left in the namespace. With packages of 50 MB, which no
    state store takes, it is refused at first with the cure."""
    name, project, code = place.name, place.path / "project", place.path / "code"
    project.mkdir()
    shutil.copy(EXAMPLES / "word_count.py", project)
    (project / "package.so").write_bytes(os.urandom(PACKAGE_BYTES))
    words = ("submit", project / "word_count.py", "-N", name, "--cluster", CLUSTER, "-w", "2",
             "-o", "word_count.lines.max=2000")  # fmt: skip
    refused = place.heronpy(*words, secs=SUBMIT_SECS)
    assert "or name a folder for larger code with `code_folder`" in refused.errors[0]
    place.cluster(code_folder=str(code))
    submitted = place.heronpy(*words, secs=SUBMIT_SECS).succeeded()
    assert len(list(code.rglob("*.packed"))) == 1
    assert submitted.out.startswith(
        f"{name} runs with 6 instances, 2 containers; logs: `kubectl logs"
    )
    (listed,) = json.loads(place.heronpy("list", "--cluster", CLUSTER, "--json").succeeded().out)
    assert (listed["name"], listed["containers"], listed["instances"]) == (name, 2, 6)
    until(
        lambda: place.value(execution_path(name))["state"] == "ENDED", "its work is done", PODS_SECS
    )
    # The container may print after the master's report of the end.
    until(
        lambda: "word                      count" in place.pod_logs(),
        "what a component prints is in a pod's log",
        PODS_SECS,
    )
    shown = place.heronpy("tail", name, "--cluster", CLUSTER, "-l", "200").succeeded().out
    assert "word                      count" in shown
    logs_shown = {line.split(" | ")[0] for line in shown.splitlines()}
    assert logs_shown >= {"container-1", "container-2", "topology-master"}, "of all pods"
    printed = place.heronpy("tail", name, "--cluster", CLUSTER, "-c", "top").succeeded().out
    assert {line.split(" task ")[0] for line in printed.splitlines()} == {"top[0]"}
    again = place.heronpy(*words, secs=SUBMIT_SECS)
    assert again.code == 1
    assert f"{name!r} is already running (on cluster {CLUSTER}" in again.errors[0]
    place.heronpy("kill", name, "--cluster", CLUSTER, secs=PODS_SECS).succeeded()
    assert place.value(topology_path(name)) is None
    assert place.pods() == []
    assert not list(code.rglob("*.packed"))
    until(lambda: not place.left(), "nothing is left in the namespace")
    until(lambda: place.objects("/api/v1/secrets") == [], "no key is left")


def test_constrained_components_run_on_nodes_with_their_labels(place: KubernetesPlace) -> None:
    """Also in a container added by an update; labels without a node are one line."""
    edge = place.add_node(zone="edge")
    words = ("submit", EXAMPLES / "endless_words.py", "-N", place.name, "--cluster", CLUSTER)
    key = "topology.component.constraints"
    place.cluster(ready_secs=5)
    refused = place.heronpy(*words, "-o", f"{key}={{count: {{zone: moon}}}}", secs=SUBMIT_SECS)
    assert refused.code == 1
    assert "didn't match Pod's node affinity/selector" in refused.errors[-1]
    place.cluster()
    constrained = (*words, "-o", f"{key}={{count: {{zone: edge}}}}")
    place.heronpy(*constrained, secs=SUBMIT_SECS).succeeded()
    place.heronpy(
        "update", place.name, "--component-parallelism", "count:4", "--container-number", 3,
        "--cluster", CLUSTER, secs=PODS_SECS,
    ).succeeded()  # fmt: skip
    plan = packing_from_json(place.value(packing_path(place.name)))
    components = {
        container.id: {instance.component for instance in container.instances}
        for container in plan.containers
    }
    assert components == {1: {"words"}, 2: {"count"}, 3: {"count"}}
    assert place.node_of(place.pod(2)) is place.node_of(place.pod(3)) is edge
    place.heronpy("kill", place.name, "--cluster", CLUSTER, secs=PODS_SECS).succeeded()


def test_pods_that_are_killed_come_back_and_lose_nothing(place: KubernetesPlace) -> None:
    """kill -9 of all of a pod's processes: a container's, then the topology master's."""
    submit_surviving(place, LINES, RATE)
    place.pod(2).kill()
    place.pod(2)
    before = place.value(master_path(place.name))
    place.pod(0).kill()
    until(
        lambda: place.value(master_path(place.name)) not in (None, before),
        "there is another master",
        PODS_SECS,
    )
    all_arrive(place)
    assert survey(place.path, LINES).complete
    place.heronpy("kill", place.name, "--cluster", CLUSTER, secs=PODS_SECS).succeeded()


def test_a_drained_node_s_pods_go_to_others(place: KubernetesPlace) -> None:
    """`kubectl drain`, as before an upgrade of a node: its pods are evicted, and end in order."""
    submit_surviving(place, LINES, RATE)
    node = place.node_of(place.pod(1))
    moved = {number: pod.uid for number in (0, 1, 2) if (pod := node.pod_of(number)) is not None}
    subprocess.run(
        ["kubectl", f"--kubeconfig={place.plane.kubeconfig}", "drain", node.name, "--force",
         "--delete-emptydir-data", "--ignore-daemonsets", f"--timeout={PODS_SECS:g}s"],
        check=True, capture_output=True,
    )  # fmt: skip
    for number, uid in moved.items():
        assert place.node_of(place.pod(number, other_than=uid)) is not node
    all_arrive(place)
    assert survey(place.path, LINES).complete


def test_an_api_server_that_is_away_for_a_minute_stops_no_data(place: KubernetesPlace) -> None:
    """Every process goes on, also a process that dies meanwhile; commands name the missing server,
    and work afterwards."""
    submit_surviving(place, MANY_LINES, RATE)
    restarts = {number: place.pod(number).restarts for number in (0, 1, 2)}
    place.plane.stop("kube-apiserver")
    try:
        pauses = longest_pause(place, AWAY_SECS)
        refused = place.heronpy("list", "--cluster", CLUSTER)
    finally:
        place.plane.start_api_server()
        place.plane.restart_controllers()
    assert pauses < AWAY_SECS / 10
    assert refused.code == 1
    assert "no API server of Kubernetes answers" in refused.errors[0]
    assert {number: place.pod(number).restarts for number in restarts} == restarts
    (place.path / "enough").touch()
    until(lambda: survey_of_begun(place), "all that was begun is complete", PODS_SECS)
    until(
        lambda: place.heronpy("kill", place.name, "--cluster", CLUSTER, secs=PODS_SECS).code == 0,
        "it is killed",
        PODS_SECS,
    )


def longest_pause(place: KubernetesPlace, secs: float) -> float:
    """For how long no line was acked, at most, within so many seconds."""
    end, longest = time.monotonic() + secs, 0.0
    count, since = acked(place.path), time.monotonic()
    while time.monotonic() < end:
        threading.Event().wait(0.5)
        now = acked(place.path)
        longest = max(longest, time.monotonic() - since)
        if now > count:
            count, since = now, time.monotonic()
    return longest


def survey_of_begun(place: KubernetesPlace) -> bool:
    """Whether every emitted line is acked, and each of its words seen."""
    return not gaps(place.path, 2, MANY_LINES)


def test_a_quota_that_refuses_pods_is_told_in_one_line(place: KubernetesPlace) -> None:
    """The submit leaves the cluster empty."""
    path = f"/api/v1/namespaces/{place.namespace}/resourcequotas"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
             "spec": {"hard": {"limits.memory": "300Mi"}}}  # fmt: skip
    place.client.request("POST", path, quota)
    until(lambda: "used" in place.client.get(f"{path}/small").get("status", {}), "the quota counts")
    refused = place.heronpy(
        "submit", EXAMPLES / "word_count.py", "-N", place.name, "--cluster", CLUSTER,
        secs=SUBMIT_SECS,
    )  # fmt: skip
    assert refused.code == 1
    assert "exceeded quota: small" in refused.errors[-1]
    assert place.value(topology_path(place.name)) is None
    until(lambda: not place.left(), "nothing is left in the namespace")
