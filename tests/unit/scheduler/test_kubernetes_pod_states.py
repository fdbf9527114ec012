"""What pods say about why they do not run."""

from typing import Any

import pytest

from heron_engine.scheduler.backends.kubernetes import pod_states, render


def pod(**status: Any) -> dict[str, Any]:
    """A pod with this status."""
    return {"metadata": {"labels": {render.CONTAINER_LABEL: "2"}}, "status": status}


def waiting(reason: str, message: str | None = None) -> dict[str, Any]:
    """A pod whose container waits."""
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    return pod(containerStatuses=[{"name": "heron", "state": state}])


def test_why_a_pod_does_not_run() -> None:
    """In Kubernetes' words; what takes a while is no problem."""
    assert pod_states.pod_problem(waiting("ContainerCreating")) == ""
    assert pod_states.pod_problem(waiting("ErrImagePull", "no such image")) == (
        "ErrImagePull: no such image"
    )
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                     "message": "0/3 nodes are available"}  # fmt: skip
    assert pod_states.pod_problem(pod(conditions=[unschedulable])) == (
        "Unschedulable: 0/3 nodes are available"
    )
    assert pod_states.problems([pod(conditions=[unschedulable])] * 2 + [waiting("Backoff")]) == (
        "container 2: Unschedulable: 0/3 nodes are available; container 2: Backoff"
    )
    running = pod(containerStatuses=[{"name": "heron", "state": {"running": {}}}])
    assert pod_states.is_running(running)
    assert pod_states.pod_problem(running) == ""
    running["metadata"]["deletionTimestamp"] = "now"
    assert not pod_states.is_running(running)


def test_a_refused_replica_is_told() -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota: small"}
    assert pod_states.refusal({"status": {"conditions": [condition]}}) == "exceeded quota: small"
    assert pod_states.refusal({}) == ""


def crashing(code: int, reason: str, message: str | None = None) -> dict[str, Any]:
    """A pod whose process has ended twice and waits for its next start."""
    ended = {"exitCode": code, "reason": reason, **({"message": message} if message else {})}
    back_off = {"reason": "CrashLoopBackOff", "message": "back-off 10s ... pod=heron-words-2-x"}
    status = {"name": "heron", "restartCount": 2, "started": False,
              "state": {"waiting": back_off}, "lastState": {"terminated": ended}}  # fmt: skip
    return pod(containerStatuses=[status])


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (waiting("ErrImagePull", "not found"), "ErrImagePull: not found"),
        (waiting("ErrImageNeverPull", "not present"), "ErrImageNeverPull: not present"),
        (waiting("CreateContainerConfigError", "secret"), "CreateContainerConfigError: secret"),
        (crashing(255, "Error"), "CrashLoopBackOff, exit code 255"),
        (crashing(137, "OOMKilled"), "CrashLoopBackOff, exit code 137 (OOMKilled)"),
        (
            crashing(128, "StartError", "exec: python3 not found"),
            "CrashLoopBackOff, exit code 128 (StartError: exec: python3 not found)",
        ),
        (waiting("ContainerCreating"), ""),
        (waiting("SomethingOfTomorrow", "words"), ""),
        (pod(), ""),
    ],
)
def test_what_more_room_does_not_cure(found: dict[str, Any], reason: str) -> None:
    assert pod_states.start_failure(found) == reason


def test_events_are_asked_for_while_a_container_is_not_created() -> None:
    assert pod_states.is_starting(pod())
    assert pod_states.is_starting(waiting("ContainerCreating"))
    assert not pod_states.is_starting(waiting("ErrImagePull"))
    assert not pod_states.is_starting(
        pod(containerStatuses=[{"name": "heron", "state": {"running": {}}}])
    )


def test_a_process_that_ends_at_once_has_not_started() -> None:
    """It runs for a moment between two ends: the startup probe tells."""
    status = {"name": "heron", "restartCount": 1, "started": False, "state": {"running": {}},
              "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}}}  # fmt: skip
    found = pod(containerStatuses=[status])
    assert pod_states.is_running(found)
    assert not pod_states.has_started(found)
    assert pod_states.start_failure(found) == "it ended 1 times, exit code 3"
    status["started"] = True
    assert pod_states.has_started(found)
    assert pod_states.start_failure(found) == ""
