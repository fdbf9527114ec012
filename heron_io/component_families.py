"""What alerts on a component go by, in OpenMetrics: silence, event time, late tuples, letters.

Times are times, not durations: `time() - heron_component_watermark_timestamp_seconds` is how far a
component is behind in event time at any moment between two scrapes. Late tuples are a gauge, as a
restore takes back those that come again.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from heron_core.algorithms.user_metrics import LATE_DROPPED
from heron_core.dead_letters import ERRORS
from heron_core.stats import ComponentStats

LABELS = ("topology", "component")
Rows = Iterable[tuple[tuple[str, str], ComponentStats]]
"""(topology, component) -> its numbers"""
Read = Callable[[ComponentStats], float | None]
"""None where a component has no such number."""


def _watermark(stats: ComponentStats) -> float | None:
    found = stats.clock.watermark_ms if stats.clock is not None else None
    return None if found is None else found / 1000


def _waited_secs(stats: ComponentStats) -> float | None:
    clock = stats.clock
    if clock is None or clock.complete:
        return None
    return clock.silent_secs if clock.waits_for is not None else 0.0


def _late(stats: ComponentStats) -> float | None:
    found: Any = stats.user_totals.get(LATE_DROPPED)
    return float(found) if isinstance(found, int | float) else None


def _letters(stats: ComponentStats) -> float | None:
    return stats.emitted_by_stream.get(ERRORS)


FAMILIES: tuple[tuple[type[Any], str, str, Read], ...] = (
    (
        CounterMetricFamily, "heron_component_processes",
        "Processes of its instances that have reported: each restart is one more.",
        lambda stats: stats.processes,
    ),
    (
        GaugeMetricFamily, "heron_component_silent_seconds",
        "Of a spout that has not finished: since it emitted last.",
        lambda stats: stats.silent_secs,
    ),
    (
        GaugeMetricFamily, "heron_component_queue_seconds",
        "Age of its backlog: how long its slowest instance needs for what waits for it.",
        lambda stats: stats.queue_secs,
    ),
    (
        GaugeMetricFamily, "heron_component_watermark_timestamp_seconds",
        "The watermark of its slowest instance, since 1970: no event before it is expected.",
        _watermark,
    ),
    (
        GaugeMetricFamily, "heron_component_watermark_wait_seconds",
        "For how long the source that holds the watermark back has sent nothing.",
        _waited_secs,
    ),
    (
        GaugeMetricFamily, "heron_component_late_dropped_tuples",
        "Tuples that came too late for a window and that no stream got.",
        _late,
    ),
    (
        CounterMetricFamily, "heron_component_dead_letters",
        "Tuples that were abandoned and are dead letters now.",
        _letters,
    ),
)  # fmt: skip


def component_families(rows: Rows) -> Iterator[Metric]:
    """A family for each of them."""
    known = list(rows)
    for kind, name, text, read in FAMILIES:
        family = kind(name, text, labels=LABELS)
        for labels, stats in known:
            value = read(stats)
            if value is not None:
                family.add_metric(labels, value)
        yield family
