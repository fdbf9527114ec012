"""What a wheel must bring besides code."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from heron_core.version import VERSION

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES: list[str] = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_every_package_of_the_checkout_is_in_the_wheel() -> None:
    apart = {"benchmarks", "tests"}
    linked = {path.name for path in (ROOT / "heron_engine").iterdir() if path.is_symlink()}
    assert linked == {"scheduler", "stream_manager", "topology_master"}
    found = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert set(PACKAGES) == found - apart - linked


def test_no_module_is_imported_by_a_name_that_others_may_have() -> None:
    """A checkout has both ways; as two modules of one file they would not know each other."""
    names = "scheduler|stream_manager|topology_master"
    other = re.compile(rf"^\s*(?:from|import) (?:{names})\b", re.MULTILINE)
    folders = (*(ROOT / each for each in PACKAGES), ROOT / "tests" / "unit", ROOT / "benchmarks")
    files = [
        Path(folder, name)
        for each in folders
        for folder, _, names in os.walk(each, followlinks=True)
        for name in names
        if name.endswith(".py")
    ]
    assert len(files) > 1000
    assert [str(each) for each in files if other.search(each.read_text("utf-8"))] == []


def test_the_licence_is_there_and_named() -> None:
    project = PYPROJECT["project"]
    assert project["license"] == "Apache-2.0"
    for name in project["license-files"]:
        assert (ROOT / name).is_file()
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_changelog_names_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in text
    assert f"## [{VERSION}]" in text
