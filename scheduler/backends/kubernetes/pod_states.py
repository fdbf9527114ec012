"""What Kubernetes says about the pods of a topology, and about Deployments without a pod. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from heron_core.naming import first_of
from heron_engine.scheduler.backends.kubernetes.render import CONTAINER_LABEL, CONTAINER_NAME

UNSTARTABLE = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "CrashLoopBackOff",
    }
)
"""Reasons of a kubelet that more room does not cure: image, Secret or ConfigMap of the variables,
or the process."""
CRASHING = "CrashLoopBackOff"
"""The message has only the name of the pod and the current pause."""
STARTING = (None, "ContainerCreating", "PodInitializing")
MEANINGLESS = (None, "Error", "Completed")
"""Reasons of an ended process that add nothing to the exit code."""


def is_running(pod: Mapping[str, Any]) -> bool:
    """Whether our container runs, and is not about to end."""
    return any("running" in _state(each) for each in _statuses(pod)) and not _is_ending(pod)


def has_started(pod: Mapping[str, Any]) -> bool:
    """Whether our container runs and has passed its startup probe: a process that ends at once
    never passes."""
    return is_running(pod) and all(each.get("started") is not False for each in _statuses(pod))


def is_starting(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is on its way to the container: only events have the reason of a delay
    (volumes, network)."""
    statuses = _statuses(pod)
    return not is_running(pod) and all(
        _waiting(each).get("reason") in STARTING for each in statuses
    )


def start_failure(pod: Mapping[str, Any]) -> str:
    """Why our container cannot start, whatever the room, in Kubernetes' words; else empty."""
    for status in _statuses(pod):
        reason = _waiting(status).get("reason")
        if reason in UNSTARTABLE:
            return pod_problem(pod)
        if status.get("restartCount") and not has_started(pod) and not _is_ending(pod):
            return f"it ended {status['restartCount']} times{_ended(status)}"
    return ""


def pod_problem(pod: Mapping[str, Any]) -> str:
    """Why a pod does not run, in Kubernetes' words; empty for a running pod or no reason."""
    for status in _statuses(pod):
        waiting = _waiting(status)
        if waiting.get("reason") == CRASHING:
            return f"{CRASHING}{_ended(status)}"
        if waiting.get("reason") not in STARTING:
            return _words(waiting.get("reason"), waiting.get("message"))
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return _words(condition.get("reason"), condition.get("message"))
    return ""


def problems(pods: Sequence[Mapping[str, Any]]) -> str:
    """Why pods do not run, with their containers; empty if nothing is said."""
    return named_by_container((pod, pod_problem(pod)) for pod in pods)


def named_by_container(reasons: Iterable[tuple[Mapping[str, Any], str]]) -> str:
    """`containers 1, 2: REASON; container 3: REASON` of pods with their reasons, of many containers
    the first and how many more; pods with an empty reason are left out."""
    numbers: dict[str, set[int]] = {}
    for pod, reason in reasons:
        if reason:
            numbers.setdefault(reason, set()).update(numbers_of([pod]))
    return "; ".join(
        f"container{'s' * (len(of) > 1)} {first_of(map(str, sorted(of)))}: {reason}"
        for reason, of in numbers.items()
    )


def refusal(found: Mapping[str, Any]) -> str:
    """Why a Deployment gets no pod, such as a quota; empty without a reason."""
    for condition in (found.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
            return str(condition.get("message") or condition.get("reason"))
    return ""


def numbers_of(objects: Sequence[Mapping[str, Any]]) -> set[int]:
    """The containers of objects."""
    return {int(each["metadata"]["labels"][CONTAINER_LABEL]) for each in objects}


def _is_ending(pod: Mapping[str, Any]) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _statuses(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        each
        for each in (pod.get("status") or {}).get("containerStatuses") or ()
        if each.get("name") == CONTAINER_NAME
    ]


def _state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    return status.get("state") or {}


def _waiting(status: Mapping[str, Any]) -> Mapping[str, Any]:
    return _state(status).get("waiting") or {}


def _ended(status: Mapping[str, Any]) -> str:
    """`, exit code 127 (REASON: MESSAGE)` of the last end of the process; else empty."""
    last = status.get("lastState") or {}
    ended = last.get("terminated") or _state(status).get("terminated") or {}
    if "exitCode" not in ended:
        return ""
    reason = ended.get("reason")
    more = "" if reason in MEANINGLESS else f" ({_words(reason, ended.get('message'))})"
    return f", exit code {ended['exitCode']}{more}"


def _words(reason: object, message: object) -> str:
    return f"{reason}: {message}" if message else str(reason)
