"""A process names its hot path, and why the compiled one is not used."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heron_core.native import (
    COMPILED,
    MODULES,
    NOT_BUILT,
    NOT_IMPORTED,
    OF_ANOTHER_VERSION,
    TURNED_OFF,
)
from tests.native.checkout_support import ASK, copy_of_checkout, python
from tests.sources import ROOT

NAMES = [each.__name__.rpartition(".")[2] for each in MODULES]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout without an extension."""
    return copy_of_checkout(tmp_path)


def stand_ins(folder: Path, *last_lines: str) -> None:
    """Modules of Python in place of the extensions, under the extensions' names; each ends with
    separate lines, or all with equal ones."""
    for name, lines in zip(NAMES, last_lines * (len(NAMES) // len(last_lines)), strict=True):
        path = shutil.copy(
            folder / f"heron_core/{name}.py", folder / f"heron_core/{name}_compiled.py"
        )
        with Path(path).open("a") as source:
            source.write(lines)


def nothing(folder: Path) -> None:
    """There is no extension."""


def current(folder: Path) -> None:
    ask = "from heron_core.native import source_numbers; print(*source_numbers())"
    numbers = python(folder, "-c", ask).stdout.split()
    stand_ins(folder, *(f"\nSOURCE_NUMBER = {number}\n" for number in numbers))


def older(name: str) -> Callable[[Path], None]:
    """Extensions of older sources: one file is changed."""

    def prepare(folder: Path) -> None:
        current(folder)
        with (folder / "heron_core" / name).open("a") as source:
            source.write("\n")

    return prepare


def broken(folder: Path) -> None:
    """Extensions with a missing library."""
    stand_ins(folder, "\nraise ImportError('libm.so.6:\\n no such file')\n")


def without_one(folder: Path) -> None:
    current(folder)
    (folder / "heron_core/hot_path_compiled.py").unlink()


def without_a_library(folder: Path) -> None:
    """A missing import of the extensions."""
    stand_ins(folder, "\nimport module_of_the_compiler\n")


@pytest.mark.parametrize(
    ("prepare", "hot_path"),
    [
        (nothing, NOT_BUILT),
        (without_one, NOT_BUILT),
        (current, COMPILED),
        (older("hot_path.py"), OF_ANOTHER_VERSION),
        (older("hot_msgpack.h"), OF_ANOTHER_VERSION),
        (older("hot_tables.pxd"), OF_ANOTHER_VERSION),
        (broken, f"{NOT_IMPORTED}libm.so.6: no such file"),
        (without_a_library, f"{NOT_IMPORTED}No module named 'module_of_the_compiler'"),
    ],
)
def test_it_says_what_runs_and_why(
    folder: Path, prepare: Callable[[Path], None], hot_path: str
) -> None:
    prepare(folder)
    assert python(folder, "-c", ASK).stdout.strip() == hot_path
    assert python(folder, "-c", ASK, HERONPY_NATIVE="0").stdout.strip() == TURNED_OFF


def test_the_sources_need_no_package_to_be_compiled() -> None:
    """A wheel is built in an environment with the compilers alone."""
    program = "import heron_core.native"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
