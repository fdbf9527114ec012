"""Two branches, one stuck behind a slow bolt: what speed is left to the second branch?

python -m benchmarks.branches --rounds 3

The right branch is paced at 50,000 tuples a second, some 5 % of the engine's capacity: on two cores
the branches share the CPU, and an unpaced right branch would lose speed to any neighbour,
independently of back-pressure. Its speed is measured alone, beside a left branch that keeps up, and
beside a left branch whose bolt is a hundred times slower than its input, in the modes stage and
spout. A last pair is unpaced: there the slow branch takes little CPU, since it is paused.
"""

import time
from collections.abc import Mapping
from itertools import islice

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.measure import BenchmarkError
from benchmarks.topologies.branches import (
    LEFT_RATE_KEY,
    LEFT_SLEEP_KEY,
    REPORT_SECONDS,
    RIGHT_RATE_KEY,
)

RIGHT_RATE = 50_000
LEFT_RATE = 10_000
SLOW_SECONDS = 0.01
"""100 tuples a second where 10,000 come."""
UNPACED = 1e9
FILL_SECONDS = 3.0
"""10 MB/s fill the window (1 MiB) and the queue (256 KiB) in a fraction of the first second."""
MEASURED_SECONDS = 8.0
"""Three times the slow bolt's time between two reports of 256 KiB processed: long enough for
several pauses of mode spout."""

MODE_KEY = "topology.backpressure.mode"
WATER_MARKS = {
    "topology.backpressure.high.bytes": 256 * 1024,
    "topology.backpressure.low.bytes": 64 * 1024,
}
BUSY = {LEFT_RATE_KEY: LEFT_RATE, LEFT_SLEEP_KEY: 0}
SLOW = {LEFT_RATE_KEY: LEFT_RATE, LEFT_SLEEP_KEY: SLOW_SECONDS}
VARIANTS: dict[str, Mapping[str, object]] = {
    "alone": {LEFT_RATE_KEY: 0, LEFT_SLEEP_KEY: 0},
    "beside a branch that keeps up": BUSY,
    "beside a slow branch, stage": {**SLOW, MODE_KEY: "stage"},
    "beside a slow branch, spout": {**SLOW, MODE_KEY: "spout"},
}
UNPACED_VARIANTS = {
    "unpaced, alone": {**VARIANTS["alone"], RIGHT_RATE_KEY: UNPACED},
    "unpaced, beside a slow branch, stage": {
        **VARIANTS["beside a slow branch, stage"],
        RIGHT_RATE_KEY: UNPACED,
    },
}

COLUMNS = [
    *(Column(name, name, "tuples/s", ",.0f") for name in (*VARIANTS, *UNPACED_VARIANTS)),
    *(
        Column(f"{name}: share", f"{name}: share of its speed alone", "%", ".1f")
        for name in (*VARIANTS, *UNPACED_VARIANTS)
        if not name.endswith("alone")
    ),
]


def speed(config: Mapping[str, object]) -> float:
    """Tuples a second of the right branch, after FILL_SECONDS."""
    with EngineRun("branches", {**WATER_MARKS, **config}, until_done=False) as run:
        begun = time.monotonic()
        first = last = None
        most = int((FILL_SECONDS + MEASURED_SECONDS) / REPORT_SECONDS) * 2
        for each in islice(run.reports(), most):
            if first is None and each["at"] > begun + FILL_SECONDS:
                first = each
            last = each
            if first is not None and each["at"] > first["at"] + MEASURED_SECONDS:
                break
    if first is None or last is None or last["at"] <= first["at"]:
        raise BenchmarkError("the right branch told nothing")
    return float((last["count"] - first["count"]) / (last["at"] - first["at"]))


def one_round() -> figures.Round:
    """All variants in turn, and their shares of the speed alone."""
    paced = {name: speed({RIGHT_RATE_KEY: RIGHT_RATE, **each}) for name, each in VARIANTS.items()}
    unpaced = {name: speed(each) for name, each in UNPACED_VARIANTS.items()}
    shares = {
        f"{name}: share": 100 * value / found[first]
        for found, first in ((paced, "alone"), (unpaced, "unpaced, alone"))
        for name, value in found.items()
        if name != first
    }
    return {**paced, **unpaced, **shares}


if __name__ == "__main__":
    figures.run("branches", __doc__, COLUMNS, one_round)
