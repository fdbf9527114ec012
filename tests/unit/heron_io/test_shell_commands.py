"""Shell commands beside a container: their environment, output, end and deadline."""

import os
import time
from pathlib import Path

import psutil
import pytest

from heron_core.topology import TopologySpec
from heron_core.wire.messages import RunShell, ShellRan
from heron_io.shell_commands import AT_ONCE_MAX, ShellCommands, shell_variables
from tests.process.process_support import until

SECS = 60


def ran(command: str, secs: int = SECS, bytes_max: int = 1000) -> ShellRan:
    """The result of a command beside container 2."""
    topology = TopologySpec("words", (), {"topology.environment": {"COLOUR": "blue"}})
    commands = ShellCommands(2, shell_variables(topology, "/logs"))
    commands.start(RunShell(7, command, secs, bytes_max))
    (result,) = until(commands.ended, "the command has ended")
    assert (result.container, result.run) == (2, 7)
    return result


def test_a_command_has_the_environment_of_its_container() -> None:
    result = ran("echo $COLOUR $HERONPY_TOPOLOGY $HERONPY_CONTAINER $HERONPY_LOGS; pwd; id -u")
    assert result.output.splitlines() == ["blue words 2 /logs", os.getcwd(), str(os.getuid())]
    assert (result.code, result.error, result.is_late) == (0, "", False)


@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("no-such-program", 127)]
)
def test_the_exit_code_is_the_shells(command: str, code: int) -> None:
    assert ran(command).code == code


def test_the_beginning_of_a_long_output_is_kept_and_the_rest_counted() -> None:
    result = ran("head -c 300000 /dev/zero | tr '\\0' x", bytes_max=1000)
    assert result.output == "x" * 1000
    assert result.dropped_bytes == 299_000
    assert result.code == 0


def test_stderr_is_output_too_and_stdin_is_empty() -> None:
    assert ran("cat; echo hidden >&2").output == "hidden\n"


def test_a_command_that_is_late_is_killed_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    result = ran(f"echo begun; sleep 1000 & echo $! >{pids}; wait", secs=1)
    assert (result.is_late, result.output) == (True, "begun\n")
    until(lambda: not psutil.pid_exists(int(pids.read_text())), "its child has ended")


def test_a_process_in_the_background_does_not_delay_the_result(tmp_path: Path) -> None:
    """It keeps the pipe open, and ends with the shell."""
    began = time.monotonic()
    pids = tmp_path / "pids"
    result = ran(f"sleep 1000 & echo $! >{pids}; echo done")
    assert result.output == "done\n"
    assert not result.is_late
    assert time.monotonic() - began < SECS
    until(lambda: not psutil.pid_exists(int(pids.read_text())), "it has ended")


def test_a_command_that_cannot_be_started_says_why() -> None:
    assert "/bin/sh was not started" in ran("echo \0").error


def test_more_commands_than_a_container_takes_are_refused(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    commands = ShellCommands(1, {})
    wait = f"while ! [ -e {go_on} ]; do sleep 0.1; done"
    for number in range(AT_ONCE_MAX + 1):
        commands.start(RunShell(number, wait, SECS, 10))
    (refused,) = until(commands.ended, "the last is refused")
    assert refused.run == AT_ONCE_MAX
    assert f"{AT_ONCE_MAX} commands run here already" in refused.error
    go_on.touch()
    results: list[ShellRan] = []

    def all_ended() -> bool:
        results.extend(commands.ended())
        return len(results) == AT_ONCE_MAX

    until(all_ended, "the others have ended")
