"""`heronpy tail` of pods: lines by process, each once, from answers that begin at whole seconds."""

from typing import Any

import pytest

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.kubernetes import pod_logs
from heron_engine.scheduler.backends.kubernetes.pod_logs import PodLogs
from heron_io.kubernetes.client import ApiError, ApiUnanswered

PODS = "/api/v1/namespaces/streams/pods"


class Cluster:
    """What an API server says of pods and their logs, by name."""

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.asked: list[dict[str, str]] = []
        self.error: HeronError | None = None

    def get(self, path: str, **parameters: str) -> dict[str, Any]:
        assert path == PODS
        assert "heronpy.io/topology=heron-words" in parameters["labelSelector"]
        if self.error is not None:
            raise self.error
        return {"items": [{"metadata": {"uid": name, "name": name}} for name in self.lines]}

    def text(self, path: str, **parameters: str) -> str:
        self.asked.append(parameters)
        name = path.removeprefix(f"{PODS}/").removesuffix("/log")
        since = parameters.get("sinceTime", "")
        return "".join(f"{line}\n" for line in self.lines[name] if line >= since[:19])


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """One whose logs may be asked for at any time."""
    monkeypatch.setattr(pod_logs, "POLL_SECS", 0.0)
    return Cluster()


def logs_of(cluster: Cluster) -> PodLogs:
    client: Any = cluster
    return PodLogs(client, "streams", "words", {"count-4": "count[1] task 4"})


def test_lines_are_divided_by_process(cluster: Cluster) -> None:
    cluster.lines = {
        "words-1": ["2026-11-28T02:00:00.1Z count-3 | one", "2026-11-28T02:00:00.2Z no such image"],
        "words-2": ["2026-11-28T02:00:00.1Z count-4 | two | 2"],
    }
    logs = {log.file: log for log in logs_of(cluster).listed()}
    assert sorted(logs) == ["count-3.log", "count-4.log", "pod.log"]
    assert logs["count-3.log"].last(10) == ["count-3 | one"]
    assert logs["count-4.log"].last(10) == ["count[1] task 4 | two | 2"]
    assert logs["pod.log"].last(1) == ["pod | no such image"]


def test_each_line_is_shown_once_and_none_is_missed(cluster: Cluster) -> None:
    """Two lines have the same time, and a third one of it comes later."""
    cluster.lines = {"words-1": ["2026-11-28T02:00:01.5+01:00 a-1 | 1"] * 2}
    (log,) = logs_of(cluster).listed()
    assert log.last(1) == ["a-1 | 1"]
    cluster.lines["words-1"] += [
        "2026-11-28T02:00:01.5+01:00 a-1 | 2", "2026-11-28T02:00:01.6+01:00 a-1 | 3",
    ]  # fmt: skip
    assert list(log.fresh()) == ["a-1 | 2", "a-1 | 3"]
    assert list(log.fresh()) == []
    assert [asked.get("sinceTime") for asked in cluster.asked] == [
        None, "2026-11-28T02:00:01+01:00", "2026-11-28T02:00:01+01:00",
    ]  # fmt: skip


def test_another_pod_of_the_same_container_goes_on_in_the_same_log(cluster: Cluster) -> None:
    cluster.lines = {"words-1-old": ["2026-11-28T02:00:01.5Z a-1 | 1"]}
    logs = logs_of(cluster)
    (log,) = logs.listed()
    log.last(0)
    cluster.lines = {"words-1-new": ["2026-11-28T02:00:01.4Z a-1 | 2"]}
    assert list(log.fresh()) == ["a-1 | 2"]
    assert logs.listed() == [log]


def test_an_api_server_that_is_away_interrupts_a_tail_and_does_not_begin_one(
    cluster: Cluster,
) -> None:
    cluster.error = ApiUnanswered("no API server of Kubernetes answers")
    with pytest.raises(HeronError, match="no API server"):
        logs_of(cluster).listed()
    cluster.error, cluster.lines = None, {"words-1": ["2026-11-28T02:00:01.5Z a-1 | 1"]}
    (log,) = logs_of(cluster).listed()
    cluster.error = ApiUnanswered("no API server of Kubernetes answers")
    assert list(log.fresh()) == ["a-1 | 1"]
    cluster.error = ApiError(403, "Forbidden", "pods is forbidden")
    with pytest.raises(HeronError, match="refuses the logs of words: pods is forbidden"):
        list(log.fresh())


def test_lines_that_nobody_reads_are_bounded_and_counted(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pod_logs, "RETAINED_LINES_MAX", 3)
    cluster.lines = {"words-1": []}
    logs = logs_of(cluster)
    assert logs.listed() == []
    cluster.lines = {"words-1": [f"2026-11-28T02:00:01.{at}Z a-1 | {at}" for at in range(5)]}
    (log,) = logs.listed()
    shown = ["a-1 | ... 2 lines are left out", "a-1 | 2", "a-1 | 3", "a-1 | 4"]
    assert list(log.fresh()) == shown
