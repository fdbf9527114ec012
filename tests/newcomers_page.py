"""The commands of a page for newcomers, against servers of the tests."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.process.process_support import REPOSITORY

COMMANDS_SECS = 600.0
"""For ten commands of some seconds on an idle machine."""
FOLLOWS = "kubectl logs"
"""The beginning of an endless command, which shows the present lines here."""
KEPT = ("JAVA_HOME", "LANG", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A user with heronpy, an empty home, and one page."""

    home: Path
    environment: Mapping[str, str]
    """Further variables."""

    def follow(self, page: str, marker: str, here: Mapping[str, str]) -> str:
        """Run the commands of the first block of docs/PAGE with `marker`; returns their output.
        `here`: text of the page -> value in the laboratory, such as an address.
        AssertionError with the output at the first failure of a command."""
        script = block(page, marker)
        for text, value in here.items():
            assert text in script, f"docs/{page} has no {text} any more"
            script = script.replace(text, value)
        done = subprocess.run(
            ["bash", "-c", f"set -ex\n{script}"],
            cwd=REPOSITORY, env=self.variables(), timeout=COMMANDS_SECS, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    def variables(self) -> dict[str, str]:
        """The environment of a login, with the command `heronpy` in the path."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**kept, "HOME": str(self.home), "PATH": path, **self.environment}


def block(page: str, marker: str) -> str:
    """The first indented block of docs/PAGE with `marker`, without the indentation."""
    text = (REPOSITORY / "docs" / page).read_text("utf-8")
    for found in re.findall(r"\n\n((?:    .*\n)+)", text):
        if marker in found:
            lines = [line.removeprefix("    ") for line in found.splitlines()]
            return "\n".join(
                line.removesuffix(" -f") if line.startswith(FOLLOWS) else line for line in lines
            )
    raise AssertionError(f"docs/{page} has no block with {marker}")
