"""How long data stops when a process is killed (kill -9) in EFFECTIVELY_ONCE, with a million keys.

python -m benchmarks.exact_recovery --rounds 3

One spout, four bolts with 250,000 keys each on two containers, 4,000 tuples a second, a checkpoint
each second. A time is from the kill until every bolt has processed a tuple that the spout emitted
after all went back. In the end all counts have to be exact.
"""

import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.key_words import KEYS_KEY, STEP
from benchmarks.measure import BenchmarkError
from benchmarks.recovery import LOOK_SECONDS, kill
from benchmarks.topologies.exact_recovery import BOLTS, ENOUGH_KEY, TASKS, Note
from benchmarks.topologies.recovery import NOTES_KEY, notes

KEYS = 1_000_000
KILLS = 3
"""Of instances in a round."""
PATIENCE_SECONDS = 60.0
BACKENDS = ("memory", "rocksdb")
MANAGER, CONTAINER = "stream manager", "container"

COLUMNS = [
    column
    for backend in BACKENDS
    for column in (
        Column(backend, f"{backend}: bolt killed: data flows again", "s", ".3f", 1.5),
        Column(f"{backend}, slowest", f"the same, slowest of {KILLS}", "s", ".3f", 1.5),
        Column(f"{backend}, {MANAGER}", f"{backend}: stream manager killed", "s", ".3f"),
        Column(f"{backend}, {CONTAINER}", f"{backend}: container killed", "s", ".3f"),
    )
]


class Watched:
    """The running topology and its tasks' notes."""

    def __init__(self, path: str, keys: int = KEYS) -> None:
        self._notes = notes(path)
        self._keys = keys

    def wait_for_keys(self) -> None:
        """Until each key has come."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while sum(self._notes[len(Note) + Note.KEYS :: len(Note)]) < self._keys:
            _look_again(deadline, "the keys did not come in time")

    def wait_for_flow(self, since: float) -> float:
        """Seconds from `since` until all bolts have processed what was emitted after going back."""
        deadline = since + PATIENCE_SECONDS
        late, newest = set(range(1, TASKS)), since
        while late:
            for task in sorted(late):
                first = task * len(Note)
                if self._notes[first + Note.MADE] > since:
                    newest = max(newest, self._notes[first + Note.AT])
                    late.discard(task)
            _look_again(deadline, f"{len(late)} bolts did not come back in time")
        return newest - since


def _look_again(deadline: float, problem: str) -> None:
    if time.monotonic() > deadline:
        raise BenchmarkError(problem)
    time.sleep(LOOK_SECONDS)


def one_round() -> figures.Round:
    """One run for each backend."""
    found: dict[str, float] = {}
    for backend in BACKENDS:
        found.update(_killed(backend))
    return found


def _killed(backend: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="heronpy-notes-") as folder:
        path, enough = Path(folder, "notes"), Path(folder, "enough")
        path.write_bytes(bytes(TASKS * len(Note) * 8))
        config = {
            NOTES_KEY: path,
            ENOUGH_KEY: enough,
            KEYS_KEY: KEYS,
            "topology.state.backend": backend,
        }
        watched = Watched(str(path))
        with EngineRun("exact_recovery", config) as run:
            watched.wait_for_keys()
            bolts = [
                watched.wait_for_flow(kill(f"heron: keep[{number % BOLTS}]"))
                for number in range(KILLS)
            ]
            manager = watched.wait_for_flow(kill("heron: stream manager 1 "))
            container = watched.wait_for_flow(kill("heron: container 2 "))
            enough.touch()
            check(run, KEYS)
    return {
        backend: median(bolts),
        f"{backend}, slowest": max(bolts),
        f"{backend}, {MANAGER}": manager,
        f"{backend}, {CONTAINER}": container,
    }


def check(run: EngineRun, keys: int) -> None:
    """BenchmarkError unless each of so many keys was counted exactly as often as it was emitted."""
    emitted, sums = 0, []
    for report in run.reports():
        if report["kind"] == "emitted":
            emitted = report["count"]
        elif report["kind"] == "counted":
            sums.append(report["sums"])
    found = tuple(sum(each) for each in zip(*sums, strict=True))
    rest = range(emitted % keys)
    product = emitted // keys * sum(range(keys)) + sum(at * STEP % keys for at in rest)
    if found != (keys, emitted, product):
        raise BenchmarkError(f"{found} was counted, not {(keys, emitted, product)}")


if __name__ == "__main__":
    figures.run("exact_recovery", __doc__, COLUMNS, one_round)
