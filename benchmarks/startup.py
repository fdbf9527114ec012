"""How long `heronpy run` takes until the first tuple is processed, until 20 and 200 instances work.

python -m benchmarks.startup --rounds 5

Both from the start of the command (fork and exec included): to the bolt's first call of process;
and to the last instance's first tuple, of 1 spout and 19 or 199 bolts (a spout works when it has
emitted).
"""

import os

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.topologies.startup import BOLTS_VARIABLE

INSTANCES, MANY = 20, 200
FIRST, ALL, ALL_OF_MANY = "first tuple", "20 instances", "200 instances"

COLUMNS = [
    Column(FIRST, "`heronpy run` until the first tuple is processed", "s", ".3f", 0.5),
    Column(ALL, "20 instances up and processing", "s", ".3f", 1.0),
    Column(ALL_OF_MANY, "200 instances up and processing", "s", ".3f", 8.0),
]


def seconds_until_working(bolts: int) -> float:
    """From the start of the command until each of so many bolts has processed a tuple."""
    os.environ[BOLTS_VARIABLE] = str(bolts)
    with EngineRun("startup", {}, until_done=False) as run:
        reports = run.first("processed", bolts)
        return max(float(each["at"]) for each in reports) - run.started_at


def one_round() -> figures.Round:
    """One bolt, then nineteen, then 199."""
    return {
        FIRST: seconds_until_working(1),
        ALL: seconds_until_working(INSTANCES - 1),
        ALL_OF_MANY: seconds_until_working(MANY - 1),
    }


if __name__ == "__main__":
    # The first run may have to compile modules and read them from the disk.
    figures.run("startup", __doc__, COLUMNS, one_round, warm_up=lambda: seconds_until_working(1))
