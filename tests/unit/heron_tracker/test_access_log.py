"""One line for each request of the service, and the client of each action."""

import re
from pathlib import Path

import pytest

from heron_core.operations import OperationKind, Way
from heron_core.state_tree import topology_path
from heron_engine.scheduler.operations import TopologyRequests
from heron_io.state_store.file_store import FileStore
from heron_tracker.options import AccessLogOptions, TrackerOptions
from tests.unit.heron_tracker.client_support import Asked

TOKEN = "operators-token-of-1"
LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00 (\S+) (\S+) (\S+) (\S+) (\d+) (\d+\.\d)"
)


def asked_with_log(path: Path, **more: int) -> Asked:
    log = AccessLogOptions(path=str(path), **more)
    return Asked(options=TrackerOptions(token=TOKEN, access_log=log, first_poll_secs=60.0))


def lines_of(path: Path) -> list[tuple[str, ...]]:
    """(address, user, method, path, status, ms) of each; AssertionError for another line."""
    found = [LINE.fullmatch(line) for line in path.read_text("utf-8").splitlines()]
    assert None not in found, path.read_text("utf-8")
    return [each.groups() for each in found if each is not None]


def test_every_request_is_one_line_with_its_user(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "access.log"
    asked = asked_with_log(path)
    operator = {"authorization": f"Bearer {TOKEN}"}
    asked.get("/topologies?secret=1", **operator)
    asked.get("/topologies")
    asked.get("/topologies/info?topology=none", **operator)
    asked.get("/a%0ab%20c", **operator)
    asked.close()
    assert [line[1:5] for line in lines_of(path)] == [
        ("operator-token", "GET", "/topologies", "200"),
        ("-", "GET", "/topologies", "401"),
        ("operator-token", "GET", "/topologies/info", "404"),
        ("operator-token", "GET", "/a%0ab%20c", "404"),
    ]
    assert path.stat().st_mode & 0o077 == 0


def test_the_log_rotates_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    asked = asked_with_log(path, bytes_max=200, files=2)
    for _ in range(12):
        asked.get("/health")
    asked.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "access.log", "access.log.1", "access.log.2",
    ]  # fmt: skip


def test_a_line_that_cannot_be_written_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "access.log"
    asked = asked_with_log(path, bytes_max=120, files=1)
    asked.get("/health")
    (tmp_path / "access.log.1").mkdir()
    (tmp_path / "access.log.1" / "full").touch()
    assert asked.get("/health").status == 200  # the rotation fails, the answer does not
    asked.close()
    assert "a line of the access log" in caplog.text


def test_an_action_has_the_client_that_asked(tmp_path: Path) -> None:
    with FileStore(str(tmp_path)) as store:
        store.put(topology_path("words"), {})
        asked = Asked(store=store, options=TrackerOptions(token=TOKEN, first_poll_secs=60.0))
        answer = asked.post("/api/v1/topology/words/kill/3", authorization=f"Bearer {TOKEN}")
        assert answer.status == 200, answer.text
        request = TopologyRequests(store, "words").get(answer.json["operation"])
        asked.close()
    assert request is not None
    assert request.kind is OperationKind.KILL
    requester = request.requester
    assert (requester.user, requester.address, requester.way) == (
        "operator-token", "127.0.0.1", Way.REST,
    )  # fmt: skip
