"""Pods of a running topology: successors of removed ones, and pods that cannot start."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.kubernetes import pod_states
from heron_engine.scheduler.backends.kubernetes.followed import FollowedObjects
from heron_engine.scheduler.backends.kubernetes.objects import ClusterObjects
from heron_engine.scheduler.backends.kubernetes.pod_start import (
    LISTS_SHARE,
    FailingContainers,
    because,
)

LIST_SECS = 2.0
"""Between two lists for an operation, whose steps ask several times a second."""

Pods = Sequence[Mapping[str, Any]]


class PodSuccession:
    """The successors of `old` pods, until all containers run again."""

    def __init__(
        self, objects: ClusterObjects, name: str, containers: Collection[int] | None, old: Pods
    ) -> None:
        self._name = name
        self._old = {pod["metadata"]["uid"] for pod in old}
        self._objects, self._failing = objects, FailingContainers()
        self._followed = FollowedObjects(objects, "Pod", name, containers)

    def wait(self, wanted: Collection[int], secs: float) -> None:
        """Until all `wanted` containers run; HeronError with Kubernetes' reason if they cannot
        start, or not in time."""
        missing = set(wanted)
        for changed in self._followed.changes(secs):
            missing -= pod_states.numbers_of([pod for pod in changed if self._runs(pod)])
            if not missing:
                return
            if not changed:
                self._check_failures()
        raise HeronError(
            f"{self._name}: not all containers are back after {secs:g} s"
            f"{because(pod_states.problems(self._successors()))}"
        )

    def _check_failures(self) -> None:
        if reason := self._failing.reason(self._objects, self._successors()):
            raise HeronError(f"{self._name} cannot start again: {reason}")

    def _runs(self, pod: Mapping[str, Any]) -> bool:
        metadata = pod["metadata"]
        is_present = metadata["name"] in self._followed.present
        return is_present and metadata["uid"] not in self._old and pod_states.is_running(pod)

    def _successors(self) -> list[Mapping[str, Any]]:
        present = self._followed.present.values()
        return [pod for pod in present if pod["metadata"]["uid"] not in self._old]


class PodReports:
    """What Kubernetes says about pods that do not run. An operation asks several times a second,
    and gets the last answer until the next list is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: dict[tuple[Any, ...], tuple[float, str]] = {}
        """question -> when the next list is due, and the last answer"""
        self._failing = FailingContainers()

    def forget(self) -> None:
        """Of pods that are about to be replaced."""
        self._answers.clear()
        self._failing = FailingContainers()

    def waiting(self, objects: ClusterObjects, name: str) -> str:
        """Pods that do not run, with the reasons."""
        return self._answer(("waiting", name), lambda: self._problems(objects, name))

    def unstartable(self, objects: ClusterObjects, name: str, containers: Sequence[int]) -> str:
        """Why some of the containers cannot start, whatever the room; empty while that is not
        sure."""
        question = ("unstartable", name, tuple(containers))
        return self._answer(question, lambda: self._failures(objects, name, containers))

    def _answer(self, question: tuple[Any, ...], ask: Callable[[], str]) -> str:
        due_at, answer = self._answers.get(question, (float("-inf"), ""))
        began = self._clock()
        if began >= due_at:
            answer = ask()
            took_secs = self._clock() - began
            self._answers[question] = (began + max(LIST_SECS, took_secs / LISTS_SHARE), answer)
        return answer

    @staticmethod
    def _problems(objects: ClusterObjects, name: str) -> str:
        return pod_states.problems(objects.listed("Pod", name))

    def _failures(self, objects: ClusterObjects, name: str, containers: Sequence[int]) -> str:
        return self._failing.reason(objects, objects.listed("Pod", name, containers))
