"""recipe/recipe.yaml: valid for rattler-build, and of the same release as pyproject.toml.

The package itself is not built: a build takes a conda channel.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from heron_core.version import VERSION
from tests.sources import ROOT

RECIPE = ROOT / "recipe" / "recipe.yaml"
CONDA_NAMES = {"msgpack": "msgpack-python"}
"""Distribution -> conda package, where the names differ in more than case."""


def rendered(platform: str) -> dict[str, Any]:
    """The recipe as rattler-build would build it for a platform; RecipeParseError if invalid."""
    rattler_build = pytest.importorskip("rattler_build")
    names = {"target_platform": platform, "build_platform": platform, "host_platform": platform}
    config = rattler_build.RenderConfig(platform=rattler_build.PlatformConfig(**names))
    variants = rattler_build.VariantConfig({"c_compiler": ["gcc"], "c_stdlib": ["sysroot"]})
    (variant,) = rattler_build.Stage0Recipe.from_file(RECIPE).render(variants, config)
    recipe: dict[str, Any] = variant.recipe.to_dict()
    return recipe


def requirement(text: str) -> str:
    """A requirement of pip as one of conda."""
    match = re.fullmatch(r"([\w-]+)(.*)", text)
    assert match is not None, text
    name = match.group(1).lower()
    return f"{CONDA_NAMES.get(name, name)} {match.group(2)}".strip()


def pinned(path: Path) -> list[str]:
    """Requirements of a file."""
    lines = path.read_text("utf-8").splitlines()
    return [requirement(line) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("platform", ["linux-64", "linux-aarch64", "osx-arm64"])
def test_the_recipe_has_version_and_dependencies_of_the_project(platform: str) -> None:
    """A dependency that pyproject.toml alone has would be absent from the conda package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    recipe = rendered(platform)
    assert recipe["package"]["version"] == VERSION
    assert recipe["package"]["name"] == project["project"]["name"]
    assert recipe["about"]["summary"] == project["project"]["description"]
    assert recipe["about"]["license"] == project["project"]["license"]
    assert recipe["about"]["license_file"] == project["project"]["license-files"]
    python = f"python {project['project']['requires-python']}"
    dependencies = [requirement(text) for text in project["project"]["dependencies"]]
    assert recipe["requirements"]["run"] == [python, *dependencies]
    build = [requirement(text) for text in project["build-system"]["requires"]]
    native = pinned(ROOT / "requirements-native.txt")
    assert recipe["requirements"]["host"] == [python, "pip", *build, *native]
