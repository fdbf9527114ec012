"""Actions reach the topology master, also one that was away when they were asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import HeronError
from heron_core.operations import Requester, Way
from heron_engine.scheduler import operations
from heron_engine.scheduler.action_trail import RETRY_SECS, UNSENT_MAX, ActionTrail
from heron_engine.scheduler.operations import ASKED_BY, requester
from heron_io.master_client import NoAnswer

ADA = Requester("ada", "west", 7)


class MasterOfActions:
    """Notes what it is told, as far as the test lets it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.error: HeronError | None = None

    def ask(self, command: str, arguments: dict[str, Any], wait_secs: float) -> dict[str, Any]:
        assert command == "acted"
        if self.error is not None:
            raise self.error
        self.told.append(str(arguments["what"]))
        return {}


def trail_of(master: MasterOfActions, now: list[float]) -> ActionTrail:
    return ActionTrail(master, lambda: now[0])  # type: ignore[arg-type]


def test_a_master_that_is_away_hears_of_actions_later_in_their_order() -> None:
    master, now = MasterOfActions(), [0.0]
    trail = trail_of(master, now)
    master.error = NoAnswer("away")
    trail.add("deactivate", ADA)
    trail.add("activate", ADA)
    master.error = None
    trail.tell()
    assert master.told == []  # it was away a moment ago
    now[0] = RETRY_SECS
    trail.tell()
    assert master.told == ["deactivate", "activate"]
    trail.tell()
    assert len(master.told) == 2


def test_a_master_without_the_command_does_not_hold_later_actions_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One of an older version, during an upgrade."""
    master, now = MasterOfActions(), [0.0]
    trail = trail_of(master, now)
    master.error = HeronError("no command 'acted'")
    trail.add("restart", ADA)
    master.error = None
    trail.add("kill", ADA)
    assert master.told == ["kill"]
    assert "not among the events: restart, asked by ada on west (pid 7): no command" in caplog.text


def test_actions_that_wait_are_limited_and_the_rest_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    master, now = MasterOfActions(), [0.0]
    trail = trail_of(master, now)
    master.error = NoAnswer("away")
    for number in range(UNSENT_MAX + 1):
        trail.add(f"restart {number}", ADA)
    assert "not among the events: restart 0, asked by ada" in caplog.text
    master.error, now[0] = None, RETRY_SECS
    trail.tell()
    assert master.told[0] == "restart 1"
    assert len(master.told) == UNSENT_MAX


@pytest.fixture
def forgotten() -> Iterator[None]:
    operations._given_requester.cache_clear()
    yield
    operations._given_requester.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_a_command_that_a_service_started_asks_in_the_name_of_the_client(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = '{"user": "eve", "host": "h", "pid": 3, "address": "10.0.0.9", "way": "REST"}'
    monkeypatch.setenv(ASKED_BY, given)
    assert requester() == Requester("eve", "h", 3, "10.0.0.9", Way.REST)
    assert ASKED_BY not in __import__("os").environ
    assert requester(Way.AUTOSCALER).way == Way.AUTOSCALER


@pytest.mark.usefixtures("forgotten")
def test_a_command_of_an_ssh_session_has_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.5 50000 10.0.0.1 22")
    assert requester().address == "10.0.0.5"
    assert requester(Way.AUTOSCALER).address == ""
