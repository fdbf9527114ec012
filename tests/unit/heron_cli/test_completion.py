"""Completions for a shell at a tab."""

import json
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from heron_cli.commands.completion import SHELLS, VARIABLE, script
from heron_cli.main import COMMANDS, heronpy


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder is a project; the home knows a running topology and an ended one."""
    (tmp_path / "config.json").write_text(json.dumps({"envs": {"prod": {}, "beta": {}}}))
    (tmp_path / "topologies").mkdir()
    for name in ("words.py", "clicks.py"):
        (tmp_path / "topologies" / name).write_text("")
    (tmp_path / "home" / "topologies" / "ended").mkdir(parents=True)
    (tmp_path / "home" / "state" / "topologies").mkdir(parents=True)
    (tmp_path / "home" / "state" / "topologies" / "running.json").write_text("{}")
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HERONPY_ZOOKEEPER", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def completed(*words: str) -> list[str]:
    """Completions of the last word."""
    shell = ShellComplete(heronpy, {}, "heronpy", VARIABLE)
    return [each.value for each in shell.get_completions(list(words[:-1]), words[-1])]


def test_commands_are_completed_without_importing_them() -> None:
    """In the order of a topology's life; - and _ are equal."""
    assert completed("") == list(COMMANDS)
    assert completed("worker-") == ["worker_uptime"]
    assert completed("sl") == ["slot_usage"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("run", "-n", ""), ["clicks", "words"]),
        (("visualize", "-n", "w"), ["words"]),
        (("submit", "-e", ""), ["prod", "beta"]),
        (("kill", ""), ["running"]),
        (("stats", "-n", ""), ["running"]),
        (("tail", ""), ["ended", "running"]),
        (("remove-logs", "-n", "e"), ["ended"]),
        (("run", "--dry-run-format", "t"), ["table"]),
        (("completion", ""), list(SHELLS)),
    ],
)
def test_names_are_completed(words: tuple[str, ...], expected: list[str]) -> None:
    """The project's topologies for a start, the running ones for a stop, ended ones for logs."""
    assert completed(*words) == expected


def test_nothing_is_completed_where_nothing_can_be_known(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken config.json or state: a shell has no place for an error."""
    (project / "config.json").write_text('{"envs":')
    assert completed("run", "-n", "") == []
    assert completed("run", "-e", "") == []
    monkeypatch.setenv("HERONPY_HOME", str(project / "config.json"))
    assert completed("tail", "") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_script(shell: str) -> None:
    """It calls us back through the variable."""
    assert VARIABLE in script(shell, heronpy)
