"""Prints the path of the newest Python: `python -m tests.pythons`.

Candidates are the Pythons on PATH and in pyenv's folder. A machine without a Python newer than the
running interpreter gets one line and the exit code EXIT_NOT_HERE.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

EXIT_NOT_HERE = 69
"""EX_UNAVAILABLE of sysexits.h: .ci/run skips the tests."""
LOOK_SECS_MAX = 10.0
VERSION = "import sys; print(*sys.version_info[:3], sys.version_info.releaselevel)"


def main() -> int:
    """Exit code 0 with a path, else EXIT_NOT_HERE."""
    newer = [each for each in map(described, candidates()) if each and each[0] > sys.version_info]
    if newer:
        print(max(newer)[1])
        return 0
    print(f"there is no Python newer than {sys.version.split()[0]} here", file=sys.stderr)
    return EXIT_NOT_HERE


def candidates() -> Iterator[Path]:
    """Programs by name; shims of pyenv are among them."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        yield from Path(folder).glob("python3.[1-9][0-9]")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from pyenv.glob("versions/*/bin/python3")


def described(program: Path) -> tuple[tuple[int, ...], str] | None:
    """Version and path; None for a program that fails, as a shim, or a prerelease."""
    try:
        told = subprocess.run(
            [program, "-c", VERSION], capture_output=True, text=True, timeout=LOOK_SECS_MAX,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    *numbers, level = told.stdout.split()
    return (tuple(map(int, numbers)), str(program)) if level == "final" else None


if __name__ == "__main__":
    sys.exit(main())
