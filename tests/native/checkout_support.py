"""A copy of the sources of the hot path, in which a process chooses or builds it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ASK = "from heron_core.native import HOT_PATH; print(HOT_PATH)"
FILES = ("native_attempt.py", "native_build.py", "requirements-native.txt")


def copy_of_checkout(folder: Path) -> Path:
    """What native_attempt.py needs, without an extension."""
    leave = shutil.ignore_patterns("__pycache__", "hot_*_compiled.*")
    shutil.copytree(ROOT / "heron_core", folder / "heron_core", ignore=leave)
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    return folder


def python(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process of Python's in the copy, to its end."""
    environment = {each: text for each, text in os.environ.items() if each != "HERONPY_NATIVE"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env={**environment, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
