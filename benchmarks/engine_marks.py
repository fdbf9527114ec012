"""What the engine's two racing programs share: variants, their config, marks from reports."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks import engine, workload
from benchmarks.engine_run import EngineRun
from benchmarks.reports import COUNT_KEY

ATLEAST_ONCE = {"topology.reliability.mode": "ATLEAST_ONCE"}


@dataclass(slots=True)
class Race:
    """When the first tuple was asked for, when the last was done, what the bolts counted."""

    first: float = 0.0
    last: float = 0.0
    finished: list[dict[str, Any]] = field(default_factory=list)


def variant_config(variant: str, max_spout_pending: int) -> dict[str, Any]:
    """The config beside the defaults: acks, and enough tuples under way to hide the round trip."""
    if variant == engine.AT_MOST_ONCE:
        return {}
    return {**ATLEAST_ONCE, "topology.max.spout.pending": max_spout_pending}


def parse(description: str | None, count: int) -> argparse.Namespace:
    """--count and --variant."""
    parser = workload.count_parser(description, count)
    variants = (engine.AT_MOST_ONCE, engine.ACKED, engine.STREAMPARSE)
    parser.add_argument("--variant", choices=variants, default=engine.AT_MOST_ONCE)
    return parser.parse_args()


def race(
    topology: str,
    count: int,
    config: dict[str, Any],
    is_tracked: bool,
    words: Sequence[str] = (),
) -> Race:
    """Run it to its end, printing the marks as they come.

    The last tuple is done when the spout hears of the last ack; without acks, when the engine has
    found out that all is processed and calls the bolts' on_finish.
    """
    found = Race()
    with EngineRun(topology, {COUNT_KEY: count, **config}, words=words) as run:
        for report in run.reports():
            if report["kind"] == "first":
                found.first = workload.mark("first", report["at"])
            elif report["kind"] == "finished":
                found.finished.append(report)
            if report["kind"] == ("last" if is_tracked else "finished"):
                found.last = max(found.last, workload.mark("last", report["at"]))
    return found
