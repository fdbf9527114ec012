"""`heronpy quickstart`: its words about the test, and the tests of its templates."""

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from heron_cli.commands.quickstart import CHOICES, quickstart_command


def test_one_who_has_no_pytest_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pytest = CliRunner().invoke(quickstart_command, [str(tmp_path / "first")]).output
    assert with_pytest.endswith("\nand test it with:\n\n\tpython -m pytest\n")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    without = CliRunner().invoke(quickstart_command, [str(tmp_path / "second")]).output
    assert without.endswith("\tpython -m pip install pytest\n\tpython -m pytest\n")


def test_a_folder_with_a_blank_is_quoted_for_the_shell(tmp_path: Path) -> None:
    made = CliRunner().invoke(quickstart_command, [str(tmp_path / "my words")]).output
    assert f"\n\tcd '{tmp_path}/my words'\n\theronpy run\n" in made


@pytest.mark.parametrize("template", ["log-sessions", "kafka-to-delta"])
def test_the_test_of_a_template_passes(
    template: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the project as it is made, by a call of each test of its file."""
    monkeypatch.chdir(tmp_path)
    modules = set(sys.modules)
    made = CliRunner().invoke(quickstart_command, ["demo", "--template", template])
    assert made.exit_code == 0, made.output
    project = tmp_path / "demo"
    assert (project / "README.md").read_text().startswith("# demo\n")
    assert (project / "config.json").exists()
    (file,) = (project / "tests").glob("test_*.py")
    try:
        called = runpy.run_path(str(file))
        tests = [called[name] for name in called if name.startswith("test_")]
        assert tests
        for number, test in enumerate(tests):
            folder = tmp_path / str(number)
            folder.mkdir()
            test(folder)
    finally:
        for name in set(sys.modules) - modules:
            if name.partition(".")[0] in {"bolts", "spouts", file.stem.removeprefix("test_")}:
                del sys.modules[name]


def test_help_names_each_template() -> None:
    output = "".join(CliRunner().invoke(quickstart_command, ["--help"]).output.split())
    for choice, what in CHOICES.items():
        assert f"{choice}: {what}".replace(" ", "") in output
