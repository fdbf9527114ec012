"""A bolt of 10 ms a tuple beside a cheap bolt under one parent: does the cheap bolt stand still?

python -m benchmarks.slow_and_cheap --rounds 3

The parent pauses while the slow bolt's queue is too long, and the cheap bolt then lacks input. The
cheap bolt should keep the slow bolt's rate evenly: a pause of minutes is a standstill, whatever the
mean.
"""

import tempfile
import time
from pathlib import Path

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.measure import BenchmarkError
from benchmarks.topologies.slow_and_cheap import NOTES_KEY, SLEEP_KEY, Note, notes

SLOW_SECONDS = 0.01
FILL_SECONDS = 15.0
"""Until the queues are as long as they get: a million small tuples take some seconds."""
MEASURED_SECONDS = 30.0
START_SECONDS_MAX = 30.0
LOOK_SECONDS = 0.05

STILL, CHEAP, SLOW, SHARE = "standstill", "cheap", "slow", "share"
COLUMNS = [
    Column(STILL, "cheap bolt beside one of 10 ms: longest standstill", "s", ".2f", 2.0),
    Column(SHARE, "cheap bolt's rate for one tuple of the slow one", "", ".2f", at_least=0.95),
    Column(CHEAP, "cheap bolt", "tuples/s", ",.1f"),
    Column(SLOW, "slow bolt", "tuples/s", ",.1f"),
]


def one_round() -> figures.Round:
    """One run."""
    with tempfile.NamedTemporaryFile(prefix="heronpy-notes-") as file:
        file.truncate(len(Note) * 8)
        noted = notes(file.name)
        config = {NOTES_KEY: Path(file.name), SLEEP_KEY: SLOW_SECONDS}
        with EngineRun("slow_and_cheap", config, until_done=False) as engine:
            wait_for_both(noted, engine)
            time.sleep(FILL_SECONDS)
            return measured(noted)


def wait_for_both(noted: "memoryview[float]", engine: EngineRun) -> None:
    """Until each bolt has processed something."""
    deadline = time.monotonic() + START_SECONDS_MAX
    while not (noted[Note.SLOW] and noted[Note.CHEAP]):
        if time.monotonic() > deadline:
            raise BenchmarkError(f"the bolts got nothing\n{engine.final_output()}")
        time.sleep(LOOK_SECONDS)


def measured(noted: "memoryview[float]") -> figures.Round:
    """Figures between two instants; an unfinished standstill counts up to the end."""
    began, before, last_at = time.monotonic(), noted.tolist(), noted[Note.AT]
    noted[Note.GAP] = 0.0
    time.sleep(MEASURED_SECONDS)
    ended, after = time.monotonic(), noted.tolist()
    seconds = ended - began
    cheap, slow = after[Note.CHEAP] - before[Note.CHEAP], after[Note.SLOW] - before[Note.SLOW]
    since = max(after[Note.AT], last_at)
    return {
        STILL: max(after[Note.GAP], ended - since),
        SHARE: cheap / slow if slow else 0.0,
        CHEAP: cheap / seconds,
        SLOW: slow / seconds,
    }


if __name__ == "__main__":
    figures.run("slow_and_cheap", __doc__, COLUMNS, one_round)
