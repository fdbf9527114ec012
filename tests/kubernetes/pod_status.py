"""What the suite's kubelet says about a pod: in the reasons and shapes of a real kubelet (1.36)."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from tests.kubernetes.pods import PodProcess

ABSENT_REGISTRY = "absent.example.com/"
"""No image of this registry is there; all other images are this machine."""
NO_IMAGE, PULL_BACKOFF = "ErrImagePull", "ImagePullBackOff"
CONFIG_ERROR = "CreateContainerConfigError"


def absent_image(image: str, lost: Collection[str] = ()) -> str | None:
    """The message of containerd about an image that its registry does not have, or has `lost`; None
    if it has."""
    if not image.startswith(ABSENT_REGISTRY) and image not in lost:
        return None
    return (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
        f"{image}: not found"
    )


def status_of(pod: Mapping[str, Any], process: PodProcess, *, is_failing: bool) -> dict[str, Any]:
    """The status of a pod. `is_failing`: its liveness probe has failed lately."""
    is_ready = process.is_running and process.is_started and not is_failing
    container = pod["spec"]["containers"][0]
    return {
        "phase": "Pending" if process.last_code is None and not process.is_running else "Running",
        "podIP": process.address,
        "podIPs": [{"ip": process.address}],
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "True" if is_ready else "False"},
        ],
        "containerStatuses": [
            {"name": container["name"], "image": container["image"], "imageID": "",
             "ready": is_ready, "started": process.is_started, "restartCount": process.restarts,
             "state": _state(pod, process), "lastState": _last_state(process)},
        ],
    }  # fmt: skip


def _state(pod: Mapping[str, Any], process: PodProcess) -> dict[str, Any]:
    if process.is_running:
        started = datetime.fromtimestamp(process.started_at, UTC)
        return {"running": {"startedAt": started.strftime("%Y-%m-%dT%H:%M:%SZ")}}
    if process.held is not None:
        return {"waiting": {"reason": process.held[0], "message": process.held[1]}}
    if process.last_code is None:
        return {"waiting": {"reason": "ContainerCreating"}}
    metadata, name = pod["metadata"], pod["spec"]["containers"][0]["name"]
    message = (
        f"back-off 10s restarting failed container={name} "
        f"pod={metadata['name']}_{metadata['namespace']}({metadata['uid']})"
    )
    return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}


def _last_state(process: PodProcess) -> dict[str, Any]:
    if process.last_code is None:
        return {}
    reason = "Error" if process.last_code else "Completed"
    return {"terminated": {"exitCode": process.last_code % 256, "reason": reason}}


def warning_event(pod: Mapping[str, Any], reason: str, message: str, now: str) -> dict[str, Any]:
    """An event about a pod, as kubelets write it."""
    metadata = pod["metadata"]
    about = {"kind": "Pod", "apiVersion": "v1", "name": metadata["name"],
             "namespace": metadata["namespace"], "uid": metadata["uid"]}  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"generateName": f"{metadata['name']}.", "namespace": metadata["namespace"]},
        "involvedObject": about, "type": "Warning", "reason": reason, "message": message,
        "source": {"component": "kubelet"}, "firstTimestamp": now, "lastTimestamp": now,
        "count": 1,
    }  # fmt: skip
