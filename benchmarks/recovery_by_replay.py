"""How long a bolt with state takes to catch up behind kill -9: from its state, and by a replay.

python -m benchmarks.recovery_by_replay --rounds 3

A log of 4,000 records a second, 0.1 ms of work for each, counted by key in four bolts. After 20
seconds one bolt is killed. With a checkpoint each second the records since the last one are
processed again; without checkpoints the source replays all of its records (SEEP's capability P4).
A time is from the kill until each bolt has processed a record that came after the kill. In the end
each record has to be counted once.
"""

import tempfile
import time
from pathlib import Path

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.measure import BenchmarkError
from benchmarks.recovery import LOOK_SECONDS, kill
from benchmarks.topologies.exact_recovery import ENOUGH_KEY
from benchmarks.topologies.recovery import NOTES_KEY, notes
from benchmarks.topologies.replayed_log import RATE, START_KEY, TASKS, WORK_KEY, Note

STATE, REPLAY = "state", "replay"
INTERVAL_SECS = {STATE: 1, REPLAY: 86_400}
"""Between checkpoints; the second one never comes."""
KILLED_AFTER_SECS = 20.0
WORK_SECS = 0.0001
PATIENCE_SECS = 120.0

COLUMNS = [
    Column(STATE, "checkpoint each second: caught up", "s"),
    Column(f"{STATE} again", "the same: records processed again", "", ",.0f"),
    Column(REPLAY, "replay of the source: caught up", "s"),
    Column(f"{REPLAY} again", "the same: records processed again", "", ",.0f"),
    Column("ratio", "replay / state", "", ".1f"),
]


def one_round() -> figures.Round:
    """One run of each kind."""
    found = {**_killed(STATE), **_killed(REPLAY)}
    return {**found, "ratio": found[REPLAY] / found[STATE]}


def _killed(kind: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="heronpy-notes-") as folder:
        path, enough = Path(folder, "notes"), Path(folder, "enough")
        path.write_bytes(bytes(TASKS * len(Note) * 8))
        start = time.monotonic()
        config = {
            NOTES_KEY: path,
            ENOUGH_KEY: enough,
            START_KEY: start,
            WORK_KEY: WORK_SECS,
            "topology.stateful.checkpoint.interval.seconds": INTERVAL_SECS[kind],
        }
        read = notes(str(path))
        with EngineRun("replayed_log", config) as run:
            _wait_for(read, int(KILLED_AFTER_SECS * RATE))
            killed_at = kill("heron: count[0]")
            runs, newest = _runs_and_newest(read)
            _wait_for(read, int((killed_at - start) * RATE) + 1)
            caught_up = time.monotonic()
            runs_after, newest_after = _runs_and_newest(read)
            enough.touch()
            _check(run)
    again = (runs_after - runs) - (newest_after - newest)
    return {kind: caught_up - killed_at, f"{kind} again": again}


def _runs_and_newest(read: "memoryview[float]") -> tuple[float, float]:
    """Records processed so far, with repetitions, and the newest record."""
    return sum(read[Note.RUNS :: len(Note)]), max(read[Note.NEWEST :: len(Note)])


def _wait_for(read: "memoryview[float]", number: int) -> None:
    """Until each bolt has processed that record, or a newer one."""
    deadline = time.monotonic() + PATIENCE_SECS
    while min(read[len(Note) + Note.NEWEST :: len(Note)]) < number:
        if time.monotonic() > deadline:
            raise BenchmarkError(f"record {number} is not processed in {PATIENCE_SECS:g} s")
        time.sleep(LOOK_SECONDS)


def _check(run: EngineRun) -> None:
    """BenchmarkError unless each record is counted once."""
    counts = {"emitted": 0, "counted": 0}
    for each in run.reports():
        if each["kind"] in counts:
            counts[each["kind"]] += each["count"]
    if not counts["emitted"] or counts["emitted"] != counts["counted"]:
        raise BenchmarkError(f"not each record is counted once: {counts}")


if __name__ == "__main__":
    figures.run("recovery_by_replay", __doc__, COLUMNS, one_round)
