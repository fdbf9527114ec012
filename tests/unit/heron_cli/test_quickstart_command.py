"""What `heronpy quickstart` says about the new project's test."""

import importlib.util
from pathlib import Path

import pytest
from click.testing import CliRunner

from heron_cli.commands.quickstart import quickstart_command


def test_one_who_has_no_pytest_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_pytest = CliRunner().invoke(quickstart_command, [str(tmp_path / "first")]).output
    assert with_pytest.endswith("\nand test it with:\n\n\tpython -m pytest\n")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    without = CliRunner().invoke(quickstart_command, [str(tmp_path / "second")]).output
    assert without.endswith("\tpython -m pip install pytest\n\tpython -m pytest\n")
