"""A process says which hot path it runs, and why it is not the compiled one."""

import shutil
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
from tests.native.checkout_support import copy_of_checkout, python

ASK = "from heron_core.native import HOT_PATH; print(HOT_PATH)"
NAMES = [each.__name__.rpartition(".")[2] for each in MODULES]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout without an extension."""
    return copy_of_checkout(tmp_path)


def stand_ins(folder: Path, last_lines: str) -> None:
    """Modules of Python in place of the extensions, which are imported by the same names."""
    for name in NAMES:
        path = shutil.copy(
            folder / f"heron_core/{name}.py", folder / f"heron_core/{name}_compiled.py"
        )
        with Path(path).open("a") as source:
            source.write(last_lines)


def nothing(folder: Path) -> None:
    """There is no extension."""


def current(folder: Path) -> None:
    """Extensions of these sources."""
    number = python(folder, "-c", "from heron_core.native import *; import heron_core.native as n;"
                                  "print(n.source_number())").stdout  # fmt: skip
    stand_ins(folder, f"\nSOURCE_NUMBER = {number}")


def older(folder: Path) -> None:
    """Extensions of other sources."""
    current(folder)
    with (folder / "heron_core/hot_path.py").open("a") as source:
        source.write("\n# another version\n")


def broken(folder: Path) -> None:
    """Extensions whose library is not there."""
    stand_ins(folder, "\nraise ImportError('libm.so.6:\\n no such file')\n")


def without_one(folder: Path) -> None:
    """One of the extensions."""
    current(folder)
    (folder / "heron_core/hot_path_compiled.py").unlink()


def without_a_library(folder: Path) -> None:
    """A module that the extensions import is not there."""
    stand_ins(folder, "\nimport module_of_the_compiler\n")


@pytest.mark.parametrize(
    ("prepare", "hot_path"),
    [
        (nothing, NOT_BUILT),
        (without_one, NOT_BUILT),
        (current, COMPILED),
        (older, OF_ANOTHER_VERSION),
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
