"""The wheel with the compiled hot path, as `make native-wheel` makes it, in a clean environment."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from heron_core.native import MODULES
from tests.extras.clean_environment import ROOT, CleanEnvironment

pytestmark = pytest.mark.timeout(1800)
EXAMPLE = ROOT / "examples" / "word_count.py"
COMPILED = "(hot path: compiled)"


@pytest.fixture(scope="module")
def native_wheel() -> Path:
    """The repaired wheel of this checkout, for this Python."""
    environment = {each: text for each, text in os.environ.items() if each != "MAKEFLAGS"}
    done = subprocess.run(
        ["make", "native-wheel"], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return max((ROOT / "dist").glob("*linux*.whl"), key=lambda path: path.stat().st_mtime)


def test_it_is_for_any_linux_of_an_age_and_has_all_extensions(native_wheel: Path) -> None:
    """A wheel that is named linux_x86_64 alone is refused by every index."""
    assert "-manylinux" in native_wheel.name or "-musllinux" in native_wheel.name
    names = zipfile.ZipFile(native_wheel).namelist()
    extensions = [each for each in names if each.endswith(".so")]
    assert len(extensions) == len(MODULES)
    assert {Path(each).parent.name for each in extensions} == {"heron_core"}


def test_the_compiled_hot_path_runs_in_a_clean_environment(
    native_wheel: Path, tmp_path: Path
) -> None:
    """And Python's does, if the environment says so."""
    environment = CleanEnvironment(tmp_path, Path("/usr/bin"))
    environment.install(str(native_wheel))
    assert COMPILED in environment.heronpy("--version").succeeded().out
    shutil.copy(EXAMPLE, environment.work)
    words = ("run", EXAMPLE.name, "-o", "word_count.lines.max=2000")
    compiled = environment.heronpy(*words).succeeded().out
    environment.variables["HERONPY_NATIVE"] = "0"
    assert "HERONPY_NATIVE=0" in environment.heronpy("--version").succeeded().out
    in_python = environment.heronpy(*words).succeeded().out
    assert counts(compiled) == counts(in_python)
    assert len(counts(compiled)) == 20


def counts(printed: str) -> list[int]:
    """Those of the table of words; words of one count stand in any order."""
    lines = (line.partition("|")[2].split() for line in printed.splitlines())
    return [int(parts[1]) for parts in lines if len(parts) == 2 and parts[1].isdigit()]
