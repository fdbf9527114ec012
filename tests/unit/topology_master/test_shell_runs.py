"""Commands beside all containers: what the topology master asks for, refuses and keeps."""

from typing import Any

import pytest

from heron_core import config as keys
from heron_core.errors import HeronError, ProtocolError
from heron_core.topology import TopologySpec
from heron_core.wire.messages import RunShell, ShellRan
from heron_engine.topology_master.shell_runs import (
    BYTES,
    COMMAND_CHARACTERS_MAX,
    RUNS_KEPT,
    SECS,
    ShellRuns,
)

TOPOLOGY = TopologySpec("words", ())
ASKED = {"command": "hostname"}


def runs(config: dict[str, Any] | None = None) -> ShellRuns:
    return ShellRuns(TopologySpec("words", (), config or {}))


def test_results_come_as_containers_end() -> None:
    commands = runs()
    assert commands.begin(ASKED, (0, 1, 2), {0, 1, 2}) == RunShell(1, "hostname", SECS, BYTES)
    commands.take(ShellRan(2, 1, "b", 0, "b\n"))
    found = commands.found({"run": 1})
    assert [each["container"] for each in found["results"]] == [2]
    assert found["waiting"] == [0, 1]
    commands.take(ShellRan(0, 1, "a", 0, "a\n"))
    assert [each["output"] for each in commands.found({"run": 1, "known": 1})["results"]] == ["a\n"]


def test_a_container_that_is_away_has_failed_at_once() -> None:
    commands = runs()
    commands.begin(ASKED, (0, 1), {0})
    found = commands.found({"run": 1})
    assert found["waiting"] == [0]
    (away,) = found["results"]
    assert away["container"] == 1
    assert "is not connected: the command did not run" in away["error"]


def test_a_topology_may_forbid_commands() -> None:
    with pytest.raises(HeronError, match=r"topology\.run\.on\.all is off: commands .* forbidden"):
        runs({keys.RUN_ON_ALL: False}).begin(ASKED, (0,), {0})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "the command is missing"),
        ({"command": " "}, "the command is missing"),
        ({"command": 1}, "the command is missing"),
        ({"command": "x" * (COMMAND_CHARACTERS_MAX + 1)}, "32,769 characters, of at most 32,768"),
        ({**ASKED, "secs": 0}, "secs must be a whole number from 1 to 3600, not 0"),
        ({**ASKED, "secs": True}, "secs must be a whole number"),
        ({**ASKED, "bytes_max": 1 << 30}, "bytes_max must be a whole number from 1 to 1048576"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(HeronError, match=error):
        runs().begin(arguments, (0,), {0})


@pytest.mark.parametrize("arguments", [{}, {"run": 9}, {"run": "1"}])
def test_an_unknown_command_is_named(arguments: dict[str, Any]) -> None:
    with pytest.raises(HeronError, match="unknown command"):
        runs().found(arguments)


def test_only_the_newest_are_kept() -> None:
    commands = runs()
    for _ in range(RUNS_KEPT + 1):
        commands.begin(ASKED, (0,), {0})
    commands.take(ShellRan(0, 1, "a"))  # late: its run is forgotten
    with pytest.raises(HeronError, match="unknown command 1"):
        commands.found({"run": 1})
    assert commands.found({"run": 2})["waiting"] == [0]


def test_results_that_no_stream_manager_sends_are_malformed() -> None:
    commands = runs()
    commands.begin({**ASKED, "bytes_max": 3}, (0, 1), {0, 1})
    commands.take(ShellRan(1, 1, "a", 0, "abc"))
    for wrong in (ShellRan(1, 1, "a"), ShellRan(7, 1, "a"), ShellRan(0, 1, "a", 0, "abcd")):
        with pytest.raises(ProtocolError):
            commands.take(wrong)
