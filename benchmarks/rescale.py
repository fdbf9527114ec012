"""How long data stops when a component is scaled with its state in EFFECTIVELY_ONCE.

python -m benchmarks.rescale --rounds 3

The topology of exact_recovery with 100,000 keys, 4,000 tuples a second: `heronpy update` from four
bolts to six and back. A time is the longest in which no bolt has processed a tuple, from the
beginning of the command to its end. In the end all counts have to be exact.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.exact_recovery import PATIENCE_SECONDS, check
from benchmarks.figures import Column
from benchmarks.key_words import KEYS_KEY
from benchmarks.measure import BenchmarkError
from benchmarks.recovery import LOOK_SECONDS
from benchmarks.rounds import REPOSITORY
from benchmarks.topologies.exact_recovery import BOLTS, ENOUGH_KEY, TASKS, Note
from benchmarks.topologies.recovery import NOTES_KEY, notes

KEYS = 100_000
MORE = BOLTS + 2
BACKENDS = ("memory", "rocksdb")

COLUMNS = [
    column
    for backend in BACKENDS
    for column in (
        Column(f"{backend} out", f"{backend}: {BOLTS} bolts to {MORE}: data stops", "s", ".3f", 1),
        Column(f"{backend} in", f"{backend}: {MORE} bolts to {BOLTS}: data stops", "s", ".3f", 1),
    )
]


class Watched:
    """The running topology and its tasks' notes."""

    def __init__(self, run: EngineRun, path: str) -> None:
        self._run = run
        self._notes = notes(path)

    def wait_for_keys(self) -> None:
        """Until each key has come."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while sum(self._notes[len(Note) + Note.KEYS :: len(Note)]) < KEYS:
            if time.monotonic() > deadline:
                raise BenchmarkError("the keys did not come in time")
            time.sleep(LOOK_SECONDS)

    def pause_of_update(self, bolts: int) -> float:
        """Have so many bolts from now on; the longest time without a tuple."""
        command = (sys.executable, "-m", "heron_cli", "update", "ExactRecovery")
        wanted = ("--component-parallelism", f"keep:{bolts}")
        home = {"HERONPY_HOME": str(self._run.home), "PYTHONPATH": str(REPOSITORY)}
        process = subprocess.Popen([*command, *wanted], env=os.environ | home, cwd=REPOSITORY)
        longest, before = 0.0, self._newest()
        while process.poll() is None:
            now = self._newest()
            longest, before = max(longest, now - before), now
            time.sleep(LOOK_SECONDS)
        if process.returncode:
            raise BenchmarkError(f"heronpy update ended with {process.returncode}")
        return max(longest, time.monotonic() - before)

    def _newest(self) -> float:
        return max(self._notes[len(Note) + Note.AT :: len(Note)])


def one_round() -> figures.Round:
    """One run for each backend."""
    found: dict[str, float] = {}
    for backend in BACKENDS:
        found.update(_scaled(backend))
    return found


def _scaled(backend: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="heronpy-notes-") as folder:
        path, enough = Path(folder, "notes"), Path(folder, "enough")
        path.write_bytes(bytes((TASKS + MORE - BOLTS) * len(Note) * 8))
        config = {
            NOTES_KEY: path,
            ENOUGH_KEY: enough,
            KEYS_KEY: KEYS,
            "topology.state.backend": backend,
        }
        with EngineRun("exact_recovery", config) as run:
            watched = Watched(run, str(path))
            watched.wait_for_keys()
            out, back = watched.pause_of_update(MORE), watched.pause_of_update(BOLTS)
            enough.touch()
            check(run, KEYS)
    return {f"{backend} out": out, f"{backend} in": back}


if __name__ == "__main__":
    figures.run("rescale", __doc__, COLUMNS, one_round)
