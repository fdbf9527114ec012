"""Runs the tests over a copy of the repository that has one mutation, cheapest tests first."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutants.mutations import Mutation

REPOSITORY = Path(__file__).parents[2]
UNIT = {
    "heron_instance": ("heron_instance", "heron_tester"),
    "stream_manager": ("stream_manager",),
    "topology_master": ("topology_master",),
    "heron_core": ("heron_core",),
}
"""Package -> the folders of unit tests that are about it."""
SIMULATED = ("test_cluster.py", "test_effectively_once.py", "test_coroutines.py")
SLOWER = 5
"""A mutated loop may have no end: it has so many times as long as the tests take without."""
STARTED_SECS = 60.0
"""And so long besides, where others are busy."""
FIRST_FAILED = re.compile(r"^(?:FAILED|ERROR) \S*?([^/\s]+?\.py(?:::\S+)?)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Stage:
    """Tests that run together."""

    name: str
    paths: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


def stages(package: str, seeds: int) -> tuple[Stage, ...]:
    """Those that have to notice a mutation of a package."""
    return (
        Stage("unit", tuple(f"tests/unit/{each}" for each in UNIT[package])),
        Stage("property", ("tests/property",)),
        Stage(
            "simulation",
            tuple(f"tests/sim/{each}" for each in SIMULATED),
            {"HERON_SIM_SEEDS": f"0:{seeds}"},
        ),
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutation."""

    mutation: Mutation
    stage: str
    """The first tests that noticed it; empty if none did."""
    what: str = ""
    secs: float = 0.0

    def __str__(self) -> str:
        if not self.stage:
            return f"LIVED   {self.mutation} ({self.secs:.0f} s)"
        return f"killed  {self.mutation}\n        by {self.stage}, {self.what} ({self.secs:.0f} s)"


class Tree:
    """A copy of the repository."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = int(time.time())
        for name in _tracked():
            copy = folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, copy, follow_symlinks=False)

    def verdict(
        self, mutation: Mutation, seeds: int, usual_secs: Mapping[tuple[str, ...], float]
    ) -> Verdict:
        """Whether the tests notice it. `usual_secs`: the paths of a stage -> what they take."""
        source = (REPOSITORY / mutation.path).read_bytes()
        package = mutation.path.partition("/")[0]
        began = time.monotonic()
        self._write(mutation.path, mutation.applied(source))
        try:
            for stage in stages(package, seeds):
                secs = usual_secs[stage.paths] * SLOWER + STARTED_SECS
                if what := self.failure(stage, secs):
                    return Verdict(mutation, stage.name, what, time.monotonic() - began)
            return Verdict(mutation, "", "", time.monotonic() - began)
        finally:
            self._write(mutation.path, source)

    def _write(self, path: str, source: bytes) -> None:
        """Bytecode is known by size and second of its source: each one has a second of its own."""
        file = self._folder / path
        file.write_bytes(source)
        self._written += 1
        os.utime(file, (self._written, self._written))

    def failure(self, stage: Stage, secs: float | None = None) -> str:
        """The first test that fails, or that they do not come to their end; empty if all pass."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "--tb=no", "--no-header"]
        command += ["-p", "no:randomly", "-p", "no:cacheprovider", *stage.paths]
        settings = {"CI": "1", "HERONPY_NATIVE": "0", "PYTHONPATH": str(self._folder)}
        try:
            ended = subprocess.run(
                command,
                cwd=self._folder,
                env={**os.environ, **settings, **stage.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=secs,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"which did not end within {secs:.0f} s"
        if ended.returncode == 0:
            return ""
        output = ended.stdout.decode(errors="replace")
        found = FIRST_FAILED.search(output)
        return found[1] if found else f"exit code {ended.returncode}: {output[-200:].strip()}"


def _tracked() -> Iterator[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if os.path.lexists(REPOSITORY / name):
            yield name
