"""`make run` builds the compiled hot path where it can, and says why where it cannot."""

import shutil
from pathlib import Path

import pytest

from heron_core.native import MODULES
from native_build import what_is_missing
from tests.native.checkout_support import copy_of_checkout, python

COUNTING = """#!/bin/sh
echo once >> {folder}/calls
{command}
"""
UNOPTIMISED = """
for word; do shift; [ "$word" = -O3 ] || set -- "$@" "$word"; done
exec cc -O0 -w "$@"
"""
BROKEN = """
echo "internal compiler error: out of luck" >&2
exit 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout without an extension."""
    missing = what_is_missing()
    if missing is not None:
        pytest.skip(f"the hot path cannot be compiled: {missing}")
    return copy_of_checkout(tmp_path)


def compiler(folder: Path, command: str) -> str:
    """A compiler that counts its calls."""
    path = folder / "compiler"
    path.write_text(COUNTING.format(folder=folder, command=command))
    path.chmod(0o755)
    return str(path)


def calls(folder: Path) -> int:
    """How often it was called."""
    path = folder / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def attempt(folder: Path, *words: str, **variables: str) -> tuple[int, str]:
    """The exit code and what was printed of `python native_attempt.py WORDS`."""
    done = python(folder, "native_attempt.py", *words, **variables)
    assert "Traceback" not in done.stderr
    return done.returncode, (done.stdout + done.stderr).strip()


def extensions(folder: Path) -> list[Path]:
    """What was built."""
    return list((folder / "heron_core").glob("hot_*_compiled.*.so"))


def test_it_is_built_once_and_again_when_a_source_has_changed(folder: Path) -> None:
    command = compiler(folder, UNOPTIMISED)
    code, told = attempt(folder, CC=command)
    assert code == 0
    assert told.startswith("hot path: compiled (built in ")
    assert len(extensions(folder)) == len(MODULES)
    built = calls(folder)
    assert attempt(folder, CC=command) == (0, "")
    assert calls(folder) == built

    assert attempt(folder, "off") == (0, "")
    assert extensions(folder) == []
    code, told = attempt(folder, CC=command)
    assert (code, told.partition("`")[0]) == (0, "hot path: Python (")
    assert "make native-off" in told
    assert calls(folder) == built

    with (folder / "heron_core/hot_emit.h").open("a") as source:
        source.write("\n/* another version */\n")
    broken = compiler(folder, BROKEN)
    assert attempt(folder, "again", CC=broken)[0] == 1
    assert calls(folder) > built


def test_a_failed_build_is_told_in_a_line_and_not_repeated(folder: Path) -> None:
    command = compiler(folder, BROKEN)
    first = attempt(folder, CC=command)
    assert first[0] == 0
    assert first[1].startswith("hot path: Python (the build failed: ")
    assert len(first[1].splitlines()) == 1
    assert "out of luck" in (folder / "heron_core/hot_build_compiled.log").read_text()
    built = calls(folder)
    assert built > 0
    assert attempt(folder, CC=command) == first
    assert calls(folder) == built
    with (folder / "heron_core/hot_path.py").open("a") as source:
        source.write("\n# another version\n")
    assert attempt(folder, CC=command)[0] == 0
    assert calls(folder) > built


def test_without_a_compiler_or_turned_off_one_line_says_so(folder: Path) -> None:
    assert shutil.which("no-such-compiler") is None
    line = "hot path: Python (there is no C compiler)"
    assert attempt(folder, CC="no-such-compiler") == (0, line)
    assert attempt(folder, "again", CC="no-such-compiler") == (1, line)
    turned_off = "hot path: Python (HERONPY_NATIVE=0 turns the compiled one off)"
    assert attempt(folder, HERONPY_NATIVE="0") == (0, turned_off)
    assert extensions(folder) == []
