"""A virtual environment with only the installed packages, and an empty home."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN_SECS = 300
"""For a run of seconds, where other things run as well."""
INSTALL_SECS = 1800
"""Pyspark has 450 MB."""


@dataclass(frozen=True, slots=True)
class Finished:
    """Result of a command."""

    code: int
    out: str
    err: str

    def succeeded(self) -> "Finished":
        """The command itself; AssertionError with its output after a failure."""
        assert self.code == 0, self.out + self.err
        return self

    def refused(self) -> str:
        """The line of error; AssertionError after a success or more output."""
        assert self.code != 0, self.out
        lines = [line for line in self.err.splitlines() if line.startswith("heronpy: ")]
        assert "Traceback" not in self.err, self.err
        assert len(lines) == 1, self.err
        return lines[0]


def block_of(page: str, file: str) -> str:
    """The text of a file that a page of the documentation shows."""
    text = (ROOT / page).read_text("utf-8")
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        if block.startswith(f"# {file}\n"):
            return str(block)
    raise AssertionError(f"{page} has no file {file}")


class CleanEnvironment:
    """A virtual environment below `folder`, in which commands run in the folder `work`."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._bin = folder / "venv" / "bin"
        self.python = str(self._bin / "python")
        self.work = folder / "work"
        self.work.mkdir()
        self.path_without_it = str(programs)
        """PATH where the environment is not activated."""
        self.variables = {
            "PATH": f"{self._bin}:{programs}",
            "HOME": str(folder),
            "HERONPY_HOME": str(folder / "heronpy"),
            "LANG": "C.UTF-8",
        }
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)

    def install(self, *packages: str) -> None:
        """With pip, as a user does, with pip's settings of this machine."""
        words = ["-m", "pip", "install", "--quiet", *packages]
        subprocess.run([str(self._bin / "python"), *words], check=True, timeout=INSTALL_SECS)

    def save(self, page: str, *files: str) -> None:
        """Files that a page of the documentation shows, in the folder of work."""
        for file in files:
            (self.work / file).write_text(block_of(page, file))

    def run(self, *words: object, folder: str = ".") -> Finished:
        """A program of the environment, or of the system."""
        done = subprocess.run(
            list(map(str, words)),
            cwd=self.work / folder,
            env=self.variables,
            capture_output=True,
            check=False,
            text=True,
            timeout=RUN_SECS,
            stdin=subprocess.DEVNULL,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    def heronpy(self, *words: object, folder: str = ".") -> Finished:
        """The command."""
        return self.run("heronpy", *words, folder=folder)


Installed = Callable[..., CleanEnvironment]
"""Makes an environment with the given extras."""
