"""An unattended load triples: how long until the bolt has enough instances?

python -m benchmarks.tripled_load --rounds 3

One bolt with 4 ms per tuple is 60 % busy, and is offered three times the load from one moment on.
Window and cool-down are short: the benchmark measures the autoscaler's reaction, its number of
decisions, and the final parallelism; the time is mainly the window.
"""

import time

from benchmarks import figures
from benchmarks.engine_run import EngineRun
from benchmarks.figures import Column
from benchmarks.measure import BenchmarkError
from benchmarks.topologies.tripled_load import AFTER_KEY, BASE_PER_SECOND, TIMES
from heron_core.stats import TopologyStats
from heron_core.topology_events import EventKind, TopologyEvent
from heron_io.master_client import MasterClient
from heron_io.state_store.file_store import FileStore

TOPOLOGY = "TripledLoad"
TRIPLES_AFTER = 8.0
SECONDS_MAX = 90.0
SETTLED_SECONDS = 12.0
"""Time without a change that ends the measurement."""
LOOK_SECONDS = 0.2
CONFIG = {
    AFTER_KEY: TRIPLES_AFTER,
    "topology.autoscale.mode": "on",
    "topology.autoscale.interval.secs": 1,
    "topology.autoscale.window.secs": 3,
    "topology.autoscale.cooldown.secs": 3,
}
MET, DECISIONS, INSTANCES = "met", "decisions", "instances"
COLUMNS = [
    Column(MET, "three times the load: met after", "s", ".1f", 20.0),
    Column(DECISIONS, "decisions of the autoscaler", "", ".0f", 3.0),
    Column(INSTANCES, "instances of the bolt at the end", "", ".0f"),
]


def one_round() -> figures.Round:
    """A single run."""
    with EngineRun("tripled_load", CONFIG, until_done=False) as engine:
        began = time.monotonic()
        met_at: float | None = None
        while met_at is None or time.monotonic() - met_at < SETTLED_SECONDS:
            if time.monotonic() - began > SECONDS_MAX:
                raise BenchmarkError(f"the load was never met\n{engine.final_output()}")
            time.sleep(LOOK_SECONDS)
            stats = stats_of(engine)
            if met_at is None and stats is not None and is_met(stats):
                met_at = time.monotonic()
        if stats is None:
            raise BenchmarkError(f"the topology master does not answer\n{engine.final_output()}")
        return {
            MET: met_at - began - TRIPLES_AFTER,
            DECISIONS: float(sum(is_decision(each) for each in stats.events)),
            INSTANCES: float(stats.components["ask"].instances),
        }


def stats_of(engine: EngineRun) -> TopologyStats | None:
    """The topology's statistics; None without an answer."""
    with FileStore(str(engine.home / "state")) as store, MasterClient(store, TOPOLOGY) as client:
        return client.try_stats()


def is_met(stats: TopologyStats) -> bool:
    """Whether the bolt processes the whole load after the change."""
    return stats.components["ask"].executed_per_sec > 0.95 * TIMES * BASE_PER_SECOND


def is_decision(event: TopologyEvent) -> bool:
    """Whether the autoscaler has changed something."""
    return event.kind == EventKind.AUTOSCALE and event.what.startswith("ask ")


if __name__ == "__main__":
    figures.run("tripled_load", __doc__, COLUMNS, one_round)
