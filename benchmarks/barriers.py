"""How long a barrier takes through stages whose queues are full, and so how long aligning takes.

python -m benchmarks.barriers --rounds 3

A spout without pause, three stages of two bolts, each stage slower than the one before (500 tuples
a second in the end), and a short way from the spout to the last one. A time is from the spout's
barrier to the last instance of a stage. Queues are as long as the interval allows: a second, and a
fifth of one.
"""

from statistics import median

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column

STAGES = 3
CHECKPOINTS = 4
"""Of each run; the first is left out, for the queues are filling."""
INTERVALS = {5: "queues of 1 s", 1: "queues of 0.2 s"}
"""Seconds between checkpoints -> what the queues are then."""

COLUMNS = [
    Column(f"{interval} {stage}", f"{what}: barrier at stage {stage}", "s", ".2f")
    for interval, what in INTERVALS.items()
    for stage in range(1, STAGES + 1)
]


def one_round() -> figures.Round:
    """A run for each interval."""
    found: dict[str, float] = {}
    for interval in INTERVALS:
        found.update(_through_stages(interval))
    return found


def _through_stages(interval: int) -> dict[str, float]:
    at: dict[tuple[int, int], float] = {}
    completed: list[int] = []
    config = {"topology.stateful.checkpoint.interval.seconds": interval}
    with EngineRun("barriers", config, until_done=False) as run:
        for report in run.reports():
            number = report["checkpoint"]
            if report["kind"] == "completed":
                completed.append(number)
                if len(completed) == CHECKPOINTS:
                    break
            else:
                key = number, report["stage"]
                at[key] = max(at.get(key, 0.0), report["at"])
    return {
        f"{interval} {stage}": median(at[each, stage] - at[each, 0] for each in completed[1:])
        for stage in range(1, STAGES + 1)
    }


if __name__ == "__main__":
    figures.run("barriers", __doc__, COLUMNS, one_round)
