"""Latency of one hop at 10,000 messages a second, without acks and with them.

python -m benchmarks.latency --rounds 3

"hop" is from the emit to the call of the bolt's process, "complete" from the emit to the call of
the spout's ack. "from due" counts from the instant at which the message should have been emitted,
so it includes what the engine makes the spout wait between two calls of next_tuple.
"""

import math
from collections.abc import Mapping, Sequence

from benchmarks import figures, workload
from benchmarks.engine_marks import ATLEAST_ONCE
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.reports import COUNT_KEY
from benchmarks.topologies.latency import TUPLES_PER_SECOND

SECONDS = 8
WARM_UP_TUPLES = TUPLES_PER_SECOND
"""The first second is no part of the figures."""
P50_BUDGET_MS = 0.5
P99_BUDGET_MS = 3.0


def columns(variant: str, kind: str, budgeted: bool) -> list[Column]:
    """p50 and p99 of one kind of latency."""
    budgets = (P50_BUDGET_MS, P99_BUDGET_MS) if budgeted else (None, None)
    return [
        Column(f"{variant} {kind} p{percent}", f"{variant}, {kind}, p{percent}", "ms", ".3f", most)
        for percent, most in zip((50, 99), budgets, strict=True)
    ]


COLUMNS = [
    *columns("at-most-once", "hop", True),
    *columns("at-most-once", "from due", False),
    *columns("acked", "hop", True),
    *columns("acked", "from due", False),
    *columns("acked", "complete", True),
]


def percentile_ms(seconds: Sequence[float], percent: int) -> float:
    """The nearest rank, in milliseconds."""
    ordered = sorted(seconds)
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] * 1000


def one_variant(variant: str, config: Mapping[str, str]) -> dict[str, float]:
    """The figures of one run; raises WrongResultError when a message did not arrive."""
    count = TUPLES_PER_SECOND * SECONDS
    found: dict[str, Sequence[float]] = {}
    with EngineRun("latency", {COUNT_KEY: count, **config}) as run:
        for report in run.reports():
            if report["kind"] == "hop":
                found["hop"], found["from due"] = report["since_emit"], report["since_due"]
            else:
                found["complete"] = report["seconds"]
    for seconds in found.values():
        workload.check_total(len(seconds), count)
    return {
        f"{variant} {kind} p{percent}": percentile_ms(seconds[WARM_UP_TUPLES:], percent)
        for kind, seconds in found.items()
        for percent in (50, 99)
    }


def one_round() -> figures.Round:
    """Both variants in turn."""
    return {**one_variant("at-most-once", {}), **one_variant("acked", ATLEAST_ONCE)}


if __name__ == "__main__":
    figures.run("latency", __doc__, COLUMNS, one_round)
