"""The numbers of a topology in trouble: one bolt stuck and down, one full, paused and failing."""

from typing import Any

from heron_core.instance_report import NUMBERS
from heron_core.stats import (
    ComponentLatencies,
    ComponentStats,
    LatencyStats,
    PauseStats,
    TopologyStats,
)
from heron_core.topology_events import TopologyEvent

NOTHING = LatencyStats(mean_ms=None, p50_ms=None, p99_ms=None)


def latency(p50_ms: float, p99_ms: float) -> LatencyStats:
    """Two percentiles."""
    return LatencyStats(mean_ms=p50_ms, p50_ms=p50_ms, p99_ms=p99_ms)


def component(kind: str, **numbers: Any) -> ComponentStats:
    """All zero but for `numbers`; one instance, which is up."""
    queue = ("queue_bytes", "queue_tuples", "queue_secs")
    zero = dict.fromkeys((*NUMBERS, "emitted", *queue), 0)
    rates = {"emitted_per_sec": 0.0, "executed_per_sec": 0.0, "capacity": 0.0}
    given = {"instances": 1, "up": 1, "last_error": None, "user": {}, **numbers}
    latencies = ComponentLatencies(
        execute=given.pop("execute", NOTHING),
        process=NOTHING,
        complete=given.pop("complete", NOTHING),
    )
    return ComponentStats(**{**zero, **rates, "type": kind, "latency": latencies, **given})


EVENTS = (
    TopologyEvent(
        at=0.0, kind="crash", what="was killed by signal 9 (SIGKILL)",
        why="up to 1,234 received deliveries are lost",
        container=1, task=3, instance="split_sentences_into_words[1]",
    ),
    TopologyEvent(
        at=61.0, kind="stuck", what="is busy in one call of user code for 5 s",
        container=1, task=4, instance="count[0]",
    ),
)  # fmt: skip

COMPONENTS = {
    "sentences": component(
        "spout", emitted=1_234_567, emitted_per_sec=123_456.7, acked=1_200_000, pending=1000,
        capacity=0.31, complete=latency(12.34, 1234.5),
    ),
    "split_sentences_into_words": component(
        "bolt", instances=2, up=2, emitted=12_345_678, executed=1_234_000, acked=1_233_990,
        failed=10,
        failed_for_good=10, errors=10, emitted_per_sec=1_234_567.0, executed_per_sec=123_400.0,
        capacity=0.97, queue_bytes=1_572_864, queue_tuples=98_304, queue_secs=0.39,
        execute=latency(0.004, 0.75),
        last_error="Traceback …\nValueError: no sentence",
    ),
    "count": component(
        "bolt", instances=3, up=2, executed=12_000_000, acked=12_000_000,
        executed_per_sec=999_600.0, capacity=1.0, queue_bytes=5_242_880,
        queue_tuples=655_360, queue_secs=1.25,
        execute=latency(0.001, 0.02),
    ),
}  # fmt: skip

STATS = TopologyStats(
    topology="words",
    state="RUNNING",
    epoch=2,
    phase="running",
    drained=False,
    lost=1234,
    in_flight=2_400_000,
    waiting_for=("count[0]",),
    stuck={"count[0]": 6.5},
    events=EVENTS,
    containers=(1,),
    containers_expected=(1, 2),
    registered={},
    components=COMPONENTS,
    paused={
        2: PauseStats(
            instance="split_sentences_into_words[0]",
            causes=(4,),
            paused_secs=20.0,
            this_pause_secs=6.0,
            share=0.87,
            because_of=("count[0]",),
        )
    },
    stream_managers={},
    master={},
    errors={},
)
