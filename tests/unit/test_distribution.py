"""What a wheel must bring besides code."""

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
    found = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert set(PACKAGES) == found - apart


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
