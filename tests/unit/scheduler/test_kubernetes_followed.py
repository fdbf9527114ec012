"""One list, then the changes: also where the API server forgets versions, or is away."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_engine.scheduler.backends.kubernetes import followed
from heron_engine.scheduler.backends.kubernetes.followed import FollowedObjects
from heron_engine.scheduler.backends.kubernetes.objects import ClusterObjects, KubernetesRefusal
from heron_engine.scheduler.backends.kubernetes.render import CONTAINER_LABEL, labels
from heron_io.kubernetes.access import access_of
from heron_io.kubernetes.client import ApiClient
from tests.store.api_stand_in import StandIn

PODS = "/api/v1/namespaces/streams/pods"
SECS = 60.0


class CountingCluster(StandIn):
    """Counts lists and watches of pods."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []

    def handle(
        self, method: str, path: str, query: dict[str, str], body: dict[str, Any] | None
    ) -> dict[str, Any]:
        self.requests.append(f"{method} {path}")
        return super().handle(method, path, query, body)


@pytest.fixture
def cluster() -> Iterator[CountingCluster]:
    cluster = CountingCluster()
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture
def objects(cluster: CountingCluster, tmp_path: Path) -> Iterator[ClusterObjects]:
    config = str(cluster.kubeconfig(tmp_path))
    objects = ClusterObjects(ApiClient(access_of({"KUBECONFIG": config})), "streams")
    yield objects
    objects.close()


def add(cluster: StandIn, number: int) -> None:
    named = {"name": f"pod-{number}", "labels": {**labels("words"), CONTAINER_LABEL: str(number)}}
    cluster.handle("POST", PODS, {}, {"metadata": named})


def remove(cluster: StandIn, number: int) -> None:
    cluster.handle("DELETE", f"{PODS}/pod-{number}", {}, None)


def wait_for(pods: FollowedObjects, condition: Callable[[], bool], then: Callable[[], Any]) -> None:
    """Follow until a condition of the objects holds; `then` begins behind the first list."""
    changes = pods.changes(SECS)
    next(changes)
    threading.Thread(target=then, daemon=True).start()
    for _ in changes:
        if condition():
            return
    raise AssertionError(f"present after {SECS:g} s: {sorted(pods.present)}")


def test_changes_come_by_watches_and_not_by_lists(
    cluster: CountingCluster, objects: ClusterObjects
) -> None:
    for number in (1, 2, 3):
        add(cluster, number)
    pods = FollowedObjects(objects, "Pod", "words", (1, 2))

    def change() -> None:
        remove(cluster, 1)
        add(cluster, 4)
        remove(cluster, 2)

    wait_for(pods, lambda: not pods.present, change)
    assert cluster.requests.count(f"GET {PODS}") == 1


def test_a_version_that_is_too_old_leads_to_another_list(
    cluster: CountingCluster, objects: ClusterObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "RETRY_SECS", 0.0)
    add(cluster, 1)
    pods = FollowedObjects(objects, "Pod", "words")

    def change() -> None:
        remove(cluster, 1)
        cluster.compact()

    changes = pods.changes(SECS)
    assert [[pod["metadata"]["name"] for pod in each] for each in (next(changes), next(changes))]
    change()
    assert next(changes) == []
    assert pods.present == {}
    assert cluster.requests.count(f"GET {PODS}") == 2


def test_an_api_server_that_is_restarted_is_asked_again(
    cluster: CountingCluster, objects: ClusterObjects
) -> None:
    add(cluster, 1)
    pods = FollowedObjects(objects, "Pod", "words")

    def change() -> None:
        cluster.stop()
        remove(cluster, 1)
        cluster.start()

    wait_for(pods, lambda: not pods.present, change)


def test_a_watch_without_the_right_is_told_in_one_line(
    cluster: CountingCluster, objects: ClusterObjects
) -> None:
    changes = FollowedObjects(objects, "Pod", "words").changes(SECS)
    assert (next(changes), next(changes)) == ([], [])
    cluster.fault = lambda _, path: (403, "cannot watch resource pods") if path == PODS else None
    with pytest.raises(KubernetesRefusal, match="refuses Pod in streams: cannot watch resource"):
        next(changes)


def test_time_that_is_over_ends_it(cluster: CountingCluster, objects: ClusterObjects) -> None:
    add(cluster, 1)
    assert len(list(FollowedObjects(objects, "Pod", "words").changes(0.0))) == 2
