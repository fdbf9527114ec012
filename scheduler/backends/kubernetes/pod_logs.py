"""The logs of a topology's processes, by the API server: what its pods print, divided by process.

A pod prints the lines of all of its logs, each behind its log's name (printed_logs.py). The API
server gives a pod's lines since a second, with their times; a line that was there before is known
by its time, and by how many lines of that time were seen. There is no position to continue from.
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.kubernetes.render import CONTAINER_NAME, selector
from heron_io.kubernetes.client import ApiClient, ApiError, ApiUnanswered

POLL_SECS = 1.0
"""Poll interval with -f: a round is one request for the pods, and one per pod, forwarded by the
API server to a kubelet."""
FIRST_LINES = 10_000
"""Of each pod, at the first round: the last lines of all of its logs are among so many."""
RETAINED_LINES_MAX = 50_000
"""Limit of unread lines per log."""
SEPARATOR = " | "
ENDING = ".log"
OTHER = "pod"
"""Log of unnamed lines: output of a process before its logs exist."""


class PodLog:
    """The lines of one process, from any pod."""

    def __init__(self, name: str, logs: "PodLogs") -> None:
        self.file = name + ENDING
        self._logs = logs
        self._lines: deque[str] = deque()
        self._lost = 0

    def add(self, line: str) -> None:
        """Add an unread line; the oldest is dropped above the limit."""
        if len(self._lines) == RETAINED_LINES_MAX:
            self._lines.popleft()
            self._lost += 1
        self._lines.append(line)

    def last(self, lines: int) -> list[str]:
        """The last lines; later lines are new."""
        known, self._lost = list(self._lines), 0
        self._lines.clear()
        return known[-lines:] if lines else []

    def fresh(self) -> Iterator[str]:
        """New lines; dropped lines are counted in a line."""
        self._logs.poll()
        if self._lost:
            yield f"{self.file.removesuffix(ENDING)}{SEPARATOR}... {self._lost} lines are left out"
            self._lost = 0
        while self._lines:
            yield self._lines.popleft()


class PodLogs:
    """All logs of a topology. `names`: a log's name -> a different prefix of its lines."""

    def __init__(
        self,
        client: ApiClient,
        namespace: str,
        topology: str,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._client, self._topology, self._names = client, topology, names
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._pods: dict[str, _PodLines] = {}
        self._logs: dict[str, PodLog] = {}
        self._due = 0.0
        self._is_first = True

    def listed(self) -> list[PodLog]:
        """The existing logs; HeronError in one line without an answer of the API server."""
        self.poll()
        return [self._logs[name] for name in sorted(self._logs)]

    def poll(self) -> None:
        """Request new lines, unless requested just now. After the first time, an unreachable API
        server and a missing pod add no lines."""
        if time.monotonic() < self._due:
            return
        try:
            self._read()
        except ApiUnanswered:
            if self._is_first:
                raise
        except ApiError as error:
            raise HeronError(f"Kubernetes refuses the logs of {self._topology}: {error}") from None
        self._is_first = False
        self._due = time.monotonic() + POLL_SECS

    def _read(self) -> None:
        answer = self._client.get(self._path, labelSelector=selector(self._topology))
        pods = {pod["metadata"]["uid"]: pod["metadata"]["name"] for pod in answer.get("items", ())}
        self._pods = {uid: self._pods.get(uid) or _PodLines() for uid in pods}
        for uid, name in pods.items():
            try:
                text = self._client.text(
                    f"{self._path}/{name}/log",
                    container=CONTAINER_NAME,
                    timestamps="true",
                    **self._pods[uid].since(),
                )
            except ApiError as error:
                if error.code in (400, 404):
                    continue  # its container has not been started, or the pod has just gone
                raise
            for line in self._pods[uid].fresh(text):
                self._add(line)

    def _add(self, line: str) -> None:
        name, separator, words = line.partition(SEPARATOR)
        if not separator or " " in name:
            name, words = OTHER, line
        log = self._logs.setdefault(name, PodLog(name, self))
        log.add(f"{self._names.get(name, name)}{SEPARATOR}{words}")


class _PodLines:
    """How far one pod's output was read. Pure."""

    def __init__(self) -> None:
        self._time = ""
        self._seen = 0
        """Lines with the latest timestamp."""

    def since(self) -> dict[str, str]:
        """Start time of the next request: the API server accepts whole seconds only."""
        if not self._time:
            return {"tailLines": str(FIRST_LINES)}
        return {"sinceTime": _whole_seconds(self._time)}

    def fresh(self, text: str) -> Iterator[str]:
        """The new lines of an answer, without timestamps."""
        known, at_known = self._time, self._seen
        for timed in text.splitlines():
            stamp, _, line = timed.partition(" ")
            if stamp < known:
                continue
            if stamp == known and at_known:
                at_known -= 1
                continue
            if stamp != self._time:
                self._time, self._seen = stamp, 0
            self._seen += 1
            yield line


def _whole_seconds(stamp: str) -> str:
    """2026-11-28T02:21:46.123456789+01:00 without the fraction."""
    begin, point, rest = stamp.partition(".")
    return begin + rest.lstrip("0123456789") if point else stamp
