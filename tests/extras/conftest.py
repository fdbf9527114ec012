"""The wheel, built once, and a clean environment for each set of extras."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extras.clean_environment import ROOT, CleanEnvironment, Installed


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As README.md builds it, from the files of this checkout alone."""
    folder = tmp_path_factory.mktemp("wheel")
    command = ["pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, "-m", *command], check=True)
    (built,) = folder.glob("heronpy_topologies-*.whl")
    return built


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all programs of the system but Java's, for PATH."""
    folder = tmp_path_factory.mktemp("programs")
    for each in (*Path("/usr/bin").iterdir(), *Path("/bin").iterdir()):
        link = folder / each.name
        if each.name != "java" and not link.is_symlink():
            link.symlink_to(each)
    return folder


@pytest.fixture
def installed(wheel: Path, programs: Path, tmp_path: Path) -> Installed:
    """Makes an environment with these extras, whose files go with the test."""

    def make(*extras: str) -> CleanEnvironment:
        made = CleanEnvironment(tmp_path, programs)
        made.install(f"{wheel}[{','.join(extras)}]" if extras else str(wheel))
        return made

    return make


@pytest.fixture(autouse=True)
def installations_go_with_the_test(tmp_path: Path) -> object:
    """Spark alone takes half a gigabyte, and pytest keeps the folders of three runs."""
    yield
    shutil.rmtree(tmp_path, ignore_errors=True)
