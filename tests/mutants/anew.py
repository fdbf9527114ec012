"""A mutation of what a module does while it is imported: a fresh process imports the mutated
module, and runs whole files of tests until one fails."""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.mutants.mutations import VARIABLE, Mutation
from tests.mutants.places import REPOSITORY, loaded_file, module_name
from tests.mutants.running import SPARE_SECS, Outcome

FIRST_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", re.MULTILINE)
COLLECTED_SECS = 60
"""Of CPU, for imports and the collection."""
LOST_SECS = 3600.0
"""A process that waits for ever is ended then: others may use the machine, so it is long."""
OPTIONS = (
    *("-q", "-n", "0", "--tb=no", "--no-header", "-o", "timeout=0"),
    *("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "tests.mutants.imported"),
)
"""Of pytest."""


def outcome(
    paths: Sequence[str], mutation: Mutation | None, source: bytes, usual_secs: float
) -> Outcome:
    """Run the tests of paths until one fails; none if there are no paths."""
    if not paths:
        return Outcome()  # or else pytest would run all tests of the repository
    with tempfile.TemporaryDirectory(prefix="heron-mutant-") as folder:
        settings = {"CI": "1", "HERONPY_NATIVE": "0", "PYTHONPATH": str(REPOSITORY)}
        settings |= {"PYTEST_DEBUG_TEMPROOT": folder, "TMPDIR": folder, "HERONPY_HOME": folder}
        if mutation is not None:
            text = mutation.applied(source).decode()
            file = loaded_file(mutation.path)
            settings[VARIABLE] = json.dumps([module_name(mutation.path), file, text])
        most = int(usual_secs + SPARE_SECS + COLLECTED_SECS)
        command = [sys.executable, "-m", "pytest", "-x", *OPTIONS, *paths]
        try:
            ended = subprocess.run(
                command,
                cwd=REPOSITORY,
                env={**os.environ, **settings},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LOST_SECS,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most)),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome("tests", "wait for ever")
    return _read(ended.returncode, ended.stdout.decode(errors="replace"))


def _read(code: int, said: str) -> Outcome:
    if code == 0:
        return Outcome()
    found = FIRST_FAILED.search(said)
    if found:
        return Outcome(found[1], (found[2] or "fails")[:150])
    return Outcome("tests", f"exit code {code}: {' '.join(said[-200:].split())}")
