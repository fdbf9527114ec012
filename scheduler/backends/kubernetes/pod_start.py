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
from heron_engine.scheduler.backends.kubernetes.objects import ClusterObjects

POLL_SECS = 0.3
POLLS_SHARE = 0.25
"""Largest share of the time for polls: a list of 1,000 pods has megabytes, for the server and for
the command."""
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


class PodStart:
    """The pods of one topology, until all of its `expected` containers have started."""

    def __init__(
        self, objects: ClusterObjects, name: str, expected: int, *, waits_for_capacity: bool
    ) -> None:
        self._objects, self._name, self._expected = objects, name, expected
        self._waits_for_capacity = waits_for_capacity
        self._failing_since: dict[str, float] = {}
        """uid -> when the pod's container was first seen failing, without a success since."""

    def wait(self, ready_secs: float) -> None:
        """HeronError with Kubernetes' reason if the containers cannot start, or not in time."""
        began = reported_at = time.monotonic()
        while True:
            polled_at = time.monotonic()
            pods = self._objects.listed("Pod", self._name)
            started = pod_states.numbers_of([pod for pod in pods if pod_states.has_started(pod)])
            if len(started) >= self._expected:
                return
            waited_secs = time.monotonic() - began
            refused = self._refused(waited_secs)
            self._check_failures(pods)
            missing = f"{len(started)} of {self._expected} pods run after {waited_secs:.0f} s"
            if waited_secs > ready_secs:
                raise HeronError(f"{self._name}: {missing}{because(self._reasons(pods))}")
            if time.monotonic() - reported_at > REPORT_SECS:
                reported_at = time.monotonic()
                reason = refused or self._reasons(pods)
                print(f"{self._name}: {missing}{because(reason)}", file=sys.stderr)
            time.sleep(max(POLL_SECS, (time.monotonic() - polled_at) / POLLS_SHARE))

    def _refused(self, waited_secs: float) -> str:
        """Why the namespace gets no pods; HeronError once that does not pass by itself."""
        deployments = self._objects.listed("Deployment", self._name)
        refused = next(filter(None, map(pod_states.refusal, deployments)), "")
        if refused and waited_secs > REFUSED_SECS and not self._waits_for_capacity:
            raise HeronError(f"Kubernetes gives {self._name} no pods: {refused}")
        return refused

    def _check_failures(self, pods: Pods) -> None:
        """HeronError if a container has failed to start for FAILING_SECS."""
        now = time.monotonic()
        failing = {pod["metadata"]["uid"] for pod in pods if pod_states.start_failure(pod)}
        self._failing_since = {uid: self._failing_since.get(uid, now) for uid in failing}
        if any(now - since >= FAILING_SECS for since in self._failing_since.values()):
            raise HeronError(
                f"{self._name} cannot start: {self._failures(pods)}; "
                "nothing is left of it on Kubernetes"
            )

    def _failures(self, pods: Pods) -> str:
        """Each reason with the last line of one pod: a thousand pods share few reasons."""
        failing = [(pod, reason) for pod in pods if (reason := pod_states.start_failure(pod))]
        first = {reason: pod for pod, reason in reversed(failing)}
        described = {reason: self._with_last_line(pod, reason) for reason, pod in first.items()}
        return pod_states.named_by_container((pod, described[reason]) for pod, reason in failing)

    def _with_last_line(self, pod: Mapping[str, Any], reason: str) -> str:
        line = self._objects.last_line(pod["metadata"]["name"])
        return f"{reason}; its last line: {line}" if line else reason

    def _reasons(self, pods: Pods) -> str:
        """Why pods do not run, in Kubernetes' words; those of the events for pods whose containers
        were not created yet."""
        reasons = [(pod, pod_states.pod_problem(pod)) for pod in pods]
        starting = [pod for pod, reason in reasons if not reason and pod_states.is_starting(pod)]
        events = [
            (pod, self._objects.warning(pod["metadata"]["uid"])) for pod in starting[:EVENTS_MAX]
        ]
        return pod_states.named_by_container([*reasons, *events])


def because(reason: str) -> str:
    """A reason in parentheses; empty without one."""
    return f" ({reason})" if reason else ""
