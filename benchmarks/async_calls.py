"""1,000 calls of 100 ms by the coroutines of one instance, 100 at a time: ten rounds are 1 s.

python -m benchmarks.async_calls --rounds 3

The figure is from the beginning of the first call to the end of the last one, in seconds.
"""

from benchmarks import figures, workload
from benchmarks.engine_marks import ATLEAST_ONCE
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.reports import COUNT_KEY

CALLS = 1_000
CAPACITY = 100
BUDGET_SECS = 1.5
VARIANTS = {"at-most-once": {}, "acked": ATLEAST_ONCE}
COLUMNS = [
    Column(variant, f"{CALLS:,} calls, {variant}", "s", ".3f", BUDGET_SECS) for variant in VARIANTS
]


def one_round() -> figures.Round:
    """Both variants in turn; raises WrongResultError when a call was not made."""
    found: dict[str, float] = {}
    for variant, mode in VARIANTS.items():
        config = {COUNT_KEY: CALLS, "topology.async.capacity": CAPACITY, **mode}
        with EngineRun("async_calls", config) as run:
            for report in run.reports():
                workload.check_total(report["number"], CALLS)
                found[variant] = report["seconds"]
    return found


if __name__ == "__main__":
    figures.run("async_calls", __doc__, COLUMNS, one_round)
