"""`make run` builds the compiled hot path, or names the reason in a line."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from heron_core.native import COMPILED, MODULES
from native_attempt import reason
from native_build import what_is_missing
from tests.native.checkout_support import ASK, copy_of_checkout, python
from tests.process.process_support import until

COUNTING = """#!/bin/sh
echo once >> {folder}/calls
{command}
"""
UNOPTIMISED = """
for word; do shift; case "$word" in -O[23]) ;; *) set -- "$@" "$word" ;; esac; done
exec cc -O0 -w "$@"
"""
BROKEN = """
echo "hot.c:1:2: error: out of luck" >&2
echo "hot.c:3:4: warning: unused variable" >&2
exit 1
"""
KILLED = "kill -9 $$"
KILLED_WITH_THE_BUILD = "kill -9 $PPID $$"
INTERRUPTED = "hot path: Python (the build was interrupted, the next one begins again)"


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
    """Number of calls of the compiler."""
    path = folder / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


ALL_BUT_ONE = """
import native_build
from native_build import PACKAGE, file_name
keys = native_build._keys(native_build.FLAGS)
del keys["hot_trees"]
for name in keys:
    (PACKAGE / file_name(name)).touch()
native_build._write_keys(PACKAGE, {file_name(name): key for name, key in keys.items()})
"""


def leave_one_to_build(folder: Path, command: str) -> None:
    """Mark the other modules as built: Cython needs six seconds of a core for all modules."""
    done = python(folder, "-c", ALL_BUT_ONE, CC=command)
    assert done.returncode == 0, done.stderr


def attempt(folder: Path, *words: str, **variables: str) -> tuple[int, str]:
    """Exit code and output of `python native_attempt.py WORDS`."""
    done = python(folder, "native_attempt.py", *words, **variables)
    assert "Traceback" not in done.stderr
    return done.returncode, (done.stdout + done.stderr).strip()


def extensions(folder: Path) -> list[Path]:
    """The built files."""
    return list((folder / "heron_core").glob("hot_*_compiled.*.so"))


def test_it_is_built_once_and_again_what_has_changed(folder: Path) -> None:
    """A single test for each need of a real build: a build takes ten seconds of a core."""
    command = compiler(folder, UNOPTIMISED)
    code, told = attempt(folder, CC=command)
    assert code == 0
    assert told.startswith("hot path: compiled (built in ")
    assert len(extensions(folder)) == len(MODULES)
    built = calls(folder)
    assert built == 2 * len(MODULES), "a compiler and a linker for each"
    assert attempt(folder, CC=command) == (0, "")
    assert calls(folder) == built

    with (folder / "heron_core/hot_rows.py").open("a") as source:
        source.write("\n# another version\n")
    code, told = attempt(folder, CC=command)
    assert (code, told.partition(" (")[0]) == (0, "hot path: compiled")
    assert calls(folder) == built + 2, "the other modules have not changed"
    built = calls(folder)

    assert attempt(folder, "off") == (0, "")
    assert extensions(folder) == []
    code, told = attempt(folder, CC=command)
    assert (code, told.partition("`")[0]) == (0, "hot path: Python (")
    assert "make native-off" in told
    assert calls(folder) == built

    with (folder / "heron_core/hot_emit.h").open("a") as source:
        source.write("\n/* another version */\n")
    assert python(folder, "-c", ASK).stdout.strip() != COMPILED
    broken = compiler(folder, BROKEN)
    assert attempt(folder, "again", CC=broken)[0] == 1
    assert calls(folder) > built


def test_a_failed_build_is_told_in_a_line_and_not_repeated(folder: Path) -> None:
    command = compiler(folder, BROKEN)
    leave_one_to_build(folder, command)
    first = attempt(folder, CC=command)
    assert first[0] == 0
    log = folder / "heron_core/hot_build_compiled.log"
    reason = f"the build failed: hot.c:1:2: error: out of luck, see {log}"
    assert first[1] == f"hot path: Python ({reason})"
    assert "out of luck" in log.read_text()
    built = calls(folder)
    assert built > 0
    assert attempt(folder, CC=command) == first
    assert calls(folder) == built
    with (folder / "heron_core/hot_path.py").open("a") as source:
        source.write("\n# another version\n")
    leave_one_to_build(folder, command)
    assert attempt(folder, CC=command)[0] == 0
    assert calls(folder) > built


@pytest.mark.parametrize("killed", [KILLED, KILLED_WITH_THE_BUILD])
def test_an_interrupted_build_begins_again(folder: Path, killed: str) -> None:
    command = compiler(folder, killed)
    leave_one_to_build(folder, command)
    for _ in range(2):
        (folder / "calls").unlink(missing_ok=True)
        assert attempt(folder, CC=command) == (0, INTERRUPTED)
        assert calls(folder) > 0


def test_an_interrupted_build_by_make_native_fails(folder: Path) -> None:
    assert attempt(folder, "again", CC=compiler(folder, KILLED)) == (1, INTERRUPTED)


def test_ctrl_c_says_nothing_of_the_sources(folder: Path) -> None:
    """Ctrl-C reaches all processes of the terminal."""
    command = compiler(folder, "sleep 60")
    leave_one_to_build(folder, command)
    running = subprocess.Popen(
        [sys.executable, "native_attempt.py"], cwd=folder,
        env={**os.environ, "CC": command, "HERONPY_NATIVE": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    until(lambda: calls(folder) > 0, "the compiler is called")
    os.killpg(running.pid, signal.SIGINT)
    told, _ = running.communicate()
    assert (running.returncode, told) == (128 + signal.SIGINT, "")
    assert not (folder / "heron_core/hot_outcome_compiled.txt").exists()


UNDECLARED = "a.c:1:2: error: 'x' undeclared"
NO_HEADER = "a.h:7:2: fatal error: b.h: No such file"
OF_CYTHON = "heron_core/a.py:3:4: undeclared name: b"
OF_PIP = "ERROR: No matching distribution found for Cython"
OF_SETUPTOOLS = "error: command '/usr/bin/cc' failed with exit code 1"
LOGS = [
    ([UNDECLARED, "a.c:3:4: warning: unused"], UNDECLARED),
    ([NO_HEADER, "compilation terminated.", OF_SETUPTOOLS], NO_HEADER),
    (["warning: a.py:1:2: Unreachable code", "Error compiling Cython file:", OF_CYTHON], OF_CYTHON),
    ([OF_PIP, "WARNING: pip is old"], OF_PIP),
    ([OF_SETUPTOOLS, "warning: x"], OF_SETUPTOOLS),
    ([], "without a word"),
]


@pytest.mark.parametrize(("log", "line"), LOGS)
def test_the_reason_is_the_error_and_not_what_stands_last(log: list[str], line: str) -> None:
    assert reason("\n".join(log)) == line


def test_without_a_compiler_or_turned_off_one_line_says_so(folder: Path) -> None:
    assert shutil.which("no-such-compiler") is None
    line = "hot path: Python (there is no C compiler)"
    assert attempt(folder, CC="no-such-compiler") == (0, line)
    assert attempt(folder, "again", CC="no-such-compiler") == (1, line)
    turned_off = "hot path: Python (HERONPY_NATIVE=0 disables the compiled hot path)"
    assert attempt(folder, HERONPY_NATIVE="0") == (0, turned_off)
    assert extensions(folder) == []
