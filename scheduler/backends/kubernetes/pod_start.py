"""The start of a topology's pods: `submit` waits until all containers have started.

What can be wrong is told apart by its cure:

| trouble | told by | cure | `submit` |
|---|---|---|---|
| the namespace gets no pod (a quota) | the Deployment | a larger quota | fails after REFUSED_SECS, with `--wait-for-room` never |
| no node has room or the labels; a volume is not there | the pod, its events | a node, a volume | prints the reason each REPORT_SECS, fails after `ready_secs` |
| the container cannot start: its image, a Secret, its process | the container | another image or file | fails after FAILING_SECS, whatever the room |
"""  # noqa: E501 (rows of a table)

import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.kubernetes import pod_states
from heron_engine.scheduler.backends.kubernetes.followed import FollowedObjects
from heron_engine.scheduler.backends.kubernetes.objects import ClusterObjects

LISTS_SHARE = 0.25
"""Largest share of the time for repeated lists: one of 1,000 objects has megabytes, for the server
and for the command."""
EVENTS_MAX = 5
"""Pods whose events a line of progress asks for, one request each."""
REPORT_SECS = 10.0
"""Interval of progress lines of `submit`."""
REFUSED_SECS = 5.0
"""Wait for a quota that may still count terminating pods."""
FAILING_SECS = 20.0
"""How long a container may fail to start: a kubelet asks a registry again after ten seconds, and
starts an ended process again at once."""

Pods = Sequence[Mapping[str, Any]]


class FailingContainers:
    """Containers that cannot start, whatever the room."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        """uid -> when the pod's container was first seen failing, without a success since."""

    def reason(self, objects: ClusterObjects, pods: Pods) -> str:
        """Why some cannot start, once one has failed for FAILING_SECS; empty otherwise."""
        now = time.monotonic()
        failing = {pod["metadata"]["uid"] for pod in pods if pod_states.start_failure(pod)}
        self._since = {uid: self._since.get(uid, now) for uid in failing}
        if any(now - since >= FAILING_SECS for since in self._since.values()):
            return _described(objects, pods)
        return ""


def _described(objects: ClusterObjects, pods: Pods) -> str:
    """Each reason with the last line of one pod: a thousand pods share few reasons."""
    failing = [(pod, reason) for pod in pods if (reason := pod_states.start_failure(pod))]
    first = {reason: pod for pod, reason in reversed(failing)}
    described = {reason: _with_last_line(objects, pod, reason) for reason, pod in first.items()}
    return pod_states.named_by_container((pod, described[reason]) for pod, reason in failing)


def _with_last_line(objects: ClusterObjects, pod: Mapping[str, Any], reason: str) -> str:
    line = objects.last_line(pod["metadata"]["name"])
    return f"{reason}; its last line: {line}" if line else reason


class PodStart:
    """The pods of one topology, until all of its `expected` containers have started."""

    def __init__(
        self, objects: ClusterObjects, name: str, expected: int, *, waits_for_capacity: bool
    ) -> None:
        self._objects, self._name, self._expected = objects, name, expected
        self._waits_for_capacity = waits_for_capacity
        self._failing = FailingContainers()
        self._followed = FollowedObjects(objects, "Pod", name)
        self._started: dict[str, int] = {}
        """pod -> its container."""
        self._refusals_at = 0.0

    def wait(self, ready_secs: float) -> None:
        """HeronError with Kubernetes' reason if the containers cannot start, or not in time."""
        began = reported_at = time.monotonic()
        for changed in self._followed.changes(ready_secs):
            self._note(changed)
            if self._all_started():
                return
            if changed:
                continue
            refused = self._refused(time.monotonic() - began)
            self._check_failures()
            if time.monotonic() - reported_at > REPORT_SECS:
                reported_at = time.monotonic()
                print(
                    f"{self._missing(began)}{because(refused or self._reasons())}", file=sys.stderr
                )
        raise HeronError(f"{self._missing(began)}{because(self._reasons())}")

    def _note(self, changed: Pods) -> None:
        """Without changes, all pods are read again: a new list may have fewer."""
        present = self._followed.present
        if not changed:
            self._started.clear()
        for name in [pod["metadata"]["name"] for pod in changed] or list(present):
            if name in present and pod_states.has_started(present[name]):
                (self._started[name],) = pod_states.numbers_of([present[name]])
            else:
                self._started.pop(name, None)

    def _all_started(self) -> bool:
        return len(self._started) >= self._expected <= len(set(self._started.values()))

    def _missing(self, began: float) -> str:
        started, waited_secs = len(set(self._started.values())), time.monotonic() - began
        return f"{self._name}: {started} of {self._expected} pods run after {waited_secs:.0f} s"

    def _refused(self, waited_secs: float) -> str:
        """Why the namespace gets no pods; HeronError once that does not pass by itself."""
        began = time.monotonic()
        present = pod_states.numbers_of(list(self._followed.present.values()))
        if len(present) >= self._expected or began < self._refusals_at:
            return ""
        deployments = self._objects.listed("Deployment", self._name)
        self._refusals_at = began + (time.monotonic() - began) / LISTS_SHARE
        refused = next(filter(None, map(pod_states.refusal, deployments)), "")
        if refused and waited_secs > REFUSED_SECS and not self._waits_for_capacity:
            raise HeronError(f"Kubernetes gives {self._name} no pods: {refused}")
        return refused

    def _check_failures(self) -> None:
        """HeronError if a container has failed to start for FAILING_SECS."""
        pods = list(self._followed.present.values())
        if reason := self._failing.reason(self._objects, pods):
            raise HeronError(
                f"{self._name} cannot start: {reason}; nothing is left of it on Kubernetes"
            )

    def _reasons(self) -> str:
        """Why pods do not run, in Kubernetes' words; those of the events for pods whose containers
        were not created yet."""
        pods = list(self._followed.present.values())
        reasons = [(pod, pod_states.pod_problem(pod)) for pod in pods]
        starting = [pod for pod, reason in reasons if not reason and pod_states.is_starting(pod)]
        events = [
            (pod, self._objects.warning(pod["metadata"]["uid"])) for pod in starting[:EVENTS_MAX]
        ]
        return pod_states.named_by_container([*reasons, *events])


def because(reason: str) -> str:
    """A reason in parentheses; empty without one."""
    return f" ({reason})" if reason else ""
