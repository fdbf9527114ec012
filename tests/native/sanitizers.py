"""python -m tests.native.sanitizers [PYTEST'S ARGUMENTS]

The tests of the compiled hot path and the fuzzers (or given tests), with extensions in which gcc's
sanitizers check each access to memory and each undefined operation. The extensions go into a
separate folder, .cache/sanitizers. The exit code is pytest's, or the sanitizers' after a finding.
Leaks are not checked: Python itself keeps memory until the end of its process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from native_build import SANITIZE, compiler
from tests.native.hot_path_support import BEFORE, ROOT, built

FOLDER = ROOT / ".cache/sanitizers"
FLAGS = ("-O1", "-w")
LIBRARIES = ("libasan.so", "libubsan.so")
PROGRAM = "import pytest\nsys.exit(pytest.main(arguments))"
# The sanitizers' report must be visible, rather than captured with the ended process.
PYTEST = ("-q", "-p", "no:cacheprovider", "--capture=sys")
FUZZERS = ("tests/native", "tests/fuzz")


def checking() -> dict[str, str]:
    """Environment of a Python with sanitized extensions: the sanitizers load first, and each object
    has separate memory."""
    command = (compiler() or "cc").split()[0]
    libraries = [
        subprocess.run([command, f"-print-file-name={name}"], capture_output=True, text=True,
                       check=True).stdout.strip()
        for name in LIBRARIES
    ]  # fmt: skip
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=16",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
    }


def main() -> int:
    """Build, and run pytest."""
    files = built(FOLDER, FLAGS, {SANITIZE: "1"})
    names = json.dumps({name: str(path) for name, path in files.items()})
    command = [sys.executable, "-c", BEFORE + PROGRAM, names, *PYTEST, *(sys.argv[1:] or FUZZERS)]
    return subprocess.run(command, cwd=ROOT, env=os.environ | checking(), check=False).returncode


def preloaded(folder: Path, program: str) -> subprocess.CompletedProcess[str]:
    """A program of Python's, to its end, in a checkout whose extensions have sanitizers."""
    return subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=os.environ | checking(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
