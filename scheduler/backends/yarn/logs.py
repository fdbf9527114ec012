"""Logs of running containers, from the web servers of their node managers.

The files are in YARN's log folders, shown by `yarn logs` after the application's end.
"""

import json
import re
import urllib.request
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.yarn.requests import containers_of

ANSWER_SECS = 10.0
SLACK_BYTES = 65536
"""What may be written while we ask for the end of a file."""
LAST_BYTES_MAX = 1024 * 1024
"""Initial read of a log; YARN keeps the whole file."""
ENDING = ".log"
_LENGTH = re.compile(rb"^LogLength:(\d+)$", re.MULTILINE)
_BEGIN = b"LogContents:\n"


class NodeLog(Struct, eq=False):
    """One log file of a container, and the read position."""

    file: str
    url: str
    size: int
    """Size in bytes, when listed."""
    _position: int = -1
    _open_line: bytes = b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeLog) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    def last(self, lines: int) -> list[str]:
        """The last lines; later lines are new."""
        return list(deque(self.fresh(), maxlen=lines))

    def fresh(self) -> Iterator[str]:
        """Lines written since the last look, each with its log's name; none while the node manager
        does not answer, or when the container is gone."""
        begin = max(0, self.size - LAST_BYTES_MAX) if self._position < 0 else self._position
        data = self._from(begin)
        complete, _, self._open_line = (self._open_line + data).rpartition(b"\n")
        for line in complete.splitlines():
            yield f"{self.file.removesuffix(ENDING)} | {line.decode('utf-8', 'replace')}"

    def _from(self, begin: int) -> bytes:
        wanted = max(0, self.size - begin) + SLACK_BYTES
        try:
            body = _answer(f"{self.url}?size=-{wanted}")
            length, data = contents(body, wanted)
        except (OSError, ValueError):
            return b""
        if length < begin:  # rotated
            begin = 0
        self.size = self._position = length
        return data[max(0, len(data) - (length - begin)) :]


def contents(body: bytes, asked: int) -> tuple[int, bytes]:
    """The file's length, and its last bytes, at most `asked`; ValueError if `body` is no answer of
    a node manager."""
    length, begin = _LENGTH.search(body), body.find(_BEGIN)
    if length is None or begin < 0:
        raise ValueError("not a node manager's answer")
    start = begin + len(_BEGIN)
    return int(length[1]), body[start : start + min(asked, int(length[1]))]


def listed(node: Mapping[str, Any] | None) -> list[NodeLog]:
    """The log files of all containers that the scheduler's node names; HeronError if no node
    manager answers."""
    logs: list[NodeLog] = []
    problems: list[str] = []
    locations = containers_of(node)
    for location in locations.values():
        base = f"http://{location['http']}/ws/v1/node/containers/{location['id']}/logs"
        try:
            logs += _files(base)
        except (OSError, ValueError, KeyError, TypeError) as error:
            problems.append(f"{base}: {error}")
    if problems and not logs:
        raise HeronError(
            f"its logs are not available from any node manager ({problems[0]}); {instead(node)}"
        )
    return sorted(logs, key=lambda log: log.file)


def instead(node: Mapping[str, Any] | None) -> str:
    """Further places to look at, for the message."""
    return f"use `yarn logs -applicationId {(node or {}).get('application', 'ID')}`"


def _files(base: str) -> Iterator[NodeLog]:
    answer = json.loads(_answer(base))
    infos = answer["containerLogsInfo"]
    for info in infos if isinstance(infos, list) else [infos]:
        for each in info.get("containerLogInfo", ()):
            if each["fileName"].endswith(ENDING):
                yield NodeLog(each["fileName"], f"{base}/{each['fileName']}", int(each["fileSize"]))


def _answer(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": "application/json, text/plain"})
    with urllib.request.urlopen(request, timeout=ANSWER_SECS) as answer:
        return bytes(answer.read())
