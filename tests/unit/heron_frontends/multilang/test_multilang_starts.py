"""Finding and starting the program: search path, and errors of a failed start."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from heron_core.errors import ComponentError, TopologyError
from heron_frontends.adapters.multilang.settings import ShellSettings
from tests.unit.heron_frontends.multilang.multilang_support import PUPPET, PYTHON, Context, Shell

Make = Callable[..., Shell]
ANSWER = r"""#!/bin/sh
read -r handshake; read -r end
pid_dir=${handshake##*'"pidDir":"'}; : > "${pid_dir%%'"'*}/$$"
printf '{"pid": %d}\nend\n' $$
printf '{"command": "log", "msg": "puppet: \\"%s\\""}\nend\n' "$(pwd) $GREETING"
cat > /dev/null
"""
"""Answers the handshake, and logs where it runs and a variable, as a JSON string."""


def script(path: Path, text: str = ANSWER, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def runs(shell: Shell, *command: str) -> str:
    """Working folder of a logging program, and its GREETING."""
    shell.config["heronpy.shell.command"] = list(command)
    shell.start()
    (found,) = shell.engine.until(lambda: shell.engine.logged)
    return str(found)


def refusal(shell: Shell, *command: str) -> str:
    shell.config["heronpy.shell.command"] = list(command)
    with pytest.raises(ComponentError) as caught:
        shell.start()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_program_beside_the_topology_runs_there(bolt: Make, tmp_path: Path) -> None:
    script(tmp_path / "answer.sh")
    assert runs(bolt(), "answer.sh") == f"{tmp_path} "


def test_the_folder_resources_comes_first(bolt: Make, tmp_path: Path) -> None:
    """As in a Storm jar; and a path with folders is relative to the folder."""
    script(tmp_path / "resources" / "tools" / "answer.sh")
    assert runs(bolt(), "tools/answer.sh") == f"{tmp_path}/resources "


def test_a_streamparse_project_runs_in_its_src(bolt: Make, tmp_path: Path) -> None:
    script(tmp_path / "src" / "answer.sh")
    shell = bolt()
    shell.context.folder = tmp_path / "topologies"
    shell.context.folder.mkdir()
    assert runs(shell, "answer.sh") == f"{tmp_path}/src "


def test_else_it_is_looked_for_on_path(bolt: Make, tmp_path: Path) -> None:
    found = script(tmp_path / "elsewhere" / "answer-me")
    environment = {"PATH": str(found.parent), "GREETING": "hello"}
    shell = bolt(heronpy__shell__environment=environment)
    assert runs(shell, "answer-me") == f"{tmp_path} hello"


def test_the_environments_own_commands_are_found_though_it_is_not_activated(tmp_path: Path) -> None:
    """`streamparse_run` lies beside python."""
    from heron_frontends.adapters.multilang.programs import find_program

    name = os.path.basename(sys.executable)
    settings = ShellSettings.of(
        {"heronpy.shell.command": [name, "x"], "heronpy.shell.environment": {}}, Context(tmp_path)
    )
    settings.environment["PATH"] = str(tmp_path)  # type: ignore[index]
    assert find_program(settings) == [sys.executable, "x"]


def test_a_program_that_is_nowhere(bolt: Make, tmp_path: Path) -> None:
    text = refusal(bolt(), "no-such-program", "x")
    assert text.startswith(f"words: program 'no-such-program' not found (not in {tmp_path}, nor on")
    assert os.environ["PATH"] in text
    assert refusal(bolt(), "tools/answer.sh") == (
        f"words: program 'tools/answer.sh' not found (not in {tmp_path})"
    )


def test_a_script_that_is_not_executable(bolt: Make, tmp_path: Path) -> None:
    path = script(tmp_path / "split.js", mode=0o644)
    assert refusal(bolt(), "split.js") == (
        f"words: {path} is not executable: run chmod +x {path}, or name its interpreter: "
        "heronpy.shell.command: ['node', 'split.js']"
    )
    # The named file, not the program on PATH.
    path = script(tmp_path / "split", mode=0o644)
    assert refusal(bolt(), "split") == f"words: {path} is not executable: run chmod +x {path}"


def test_a_script_that_the_system_refuses(bolt: Make, tmp_path: Path) -> None:
    path = script(tmp_path / "plain", "print('x')\n")
    assert refusal(bolt(), "plain") == (
        f"words: {path} cannot be run: the file is neither a program nor a script with a #! line"
    )
    path = script(tmp_path / "lost", "#!/no/such/interpreter\n")
    assert refusal(bolt(), "lost") == (
        f"words: {path} cannot be run: its #! line names a program that does not exist"
    )


def test_a_child_that_dies_at_its_start_says_why(bolt: Make, tmp_path: Path) -> None:
    text = refusal(bolt(), *PYTHON, "missing.py")
    assert "exited with status 2 at its start: " in text
    assert "No such file or directory" in text


def test_a_child_that_never_says_its_pid_is_ended(bolt: Make, quick: None) -> None:
    shell = bolt(topology__subprocess__timeout__secs=0.2).puppet(first=[["hang"]])
    text = refusal(shell, *PYTHON, str(PUPPET))
    assert text.endswith("was killed: it sent nothing for 0.2 s at its start")


def test_nobody_is_woken_any_more_when_a_child_was_ended(bolt: Make, quick: None) -> None:
    """The waker of the main thread is closed then, and its number may be another file's."""
    shell = bolt(topology__subprocess__timeout__secs=0.2).puppet(first=[["hang"]])
    channel, notify = shell.component, shell.component._notify

    def slow() -> None:
        threading.Event().wait(0.05)
        notify()

    channel._notify = slow
    refusal(shell, *PYTHON, str(PUPPET))
    assert not channel.reader.is_alive()


def test_what_is_said_before_the_pid_is_heard(bolt: Make) -> None:
    hello = {"command": "log", "msg": 'puppet: "hello"'}
    shell = bolt().puppet(first=[["raw", "a banner\n"], ["say", hello]]).start()
    shell.engine.until(lambda: shell.engine.logged == ["hello"])
    assert any(line.endswith("stdout: a banner") for line in shell.engine.lines)


@pytest.mark.parametrize("command", [None, [], "python x.py", ["node", 5], [""]])
def test_a_command_must_be_a_list_of_strings(tmp_path: Path, command: object) -> None:
    with pytest.raises(ComponentError, match=r"words: heronpy.shell.command must be a list"):
        ShellSettings.of({"heronpy.shell.command": command}, Context(tmp_path))


@pytest.mark.parametrize(
    ("name", "serializer"),
    [
        (None, "json"),
        ("json", "json"),
        ("msgpack", "msgpack"),
        ("org.apache.storm.multilang.JsonSerializer", "json"),
        ("com.parsely.streamparse.MessagePackSerializer", "msgpack"),
        ("org.example.MsgpackSerializer", "msgpack"),
    ],
)
def test_serializers_by_name_and_by_storms_class(
    tmp_path: Path, name: str | None, serializer: str
) -> None:
    config = {"heronpy.shell.command": ["x"], "topology.multilang.serializer": name}
    assert ShellSettings.of(config, Context(tmp_path)).serializer == serializer


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("topology.multilang.serializer", "org.json.Xml"),
        ("topology.subprocess.timeout.secs", 0),
        ("topology.shellbolt.max.pending", 0),
        ("heronpy.shell.environment", ["PATH"]),
    ],
)
def test_settings_that_are_wrong_are_named(tmp_path: Path, key: str, value: object) -> None:
    with pytest.raises((ComponentError, TopologyError), match=key.replace(".", r"\.")):
        ShellSettings.of({"heronpy.shell.command": ["x"], key: value}, Context(tmp_path))


def test_storms_timeouts(tmp_path: Path) -> None:
    config: dict[str, Any] = {"heronpy.shell.command": ["x"]}
    assert ShellSettings.of(config, Context(tmp_path)).timeout_secs == 30
    config |= {"supervisor.worker.timeout.secs": 20}
    assert ShellSettings.of(config, Context(tmp_path)).timeout_secs == 20
    config |= {"topology.subprocess.timeout.secs": 5}
    assert ShellSettings.of(config, Context(tmp_path)).timeout_secs == 5
