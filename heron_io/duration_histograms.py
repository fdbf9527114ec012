"""Histograms of durations in OpenMetrics: native ones, or classic ones with few buckets.

Ours grow by a quarter octave from 0.1 microseconds on, a native histogram of schema 2 by a quarter
octave from 1 second on, up and down. Its bounds are 0.25 % above ours, far less than the width of a
bucket, so every bucket of ours is one of its.
"""

import math
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.samples import BucketSpan, NativeHistogram
from prometheus_client.utils import floatToGoString

from heron_core.algorithms.histogram import BUCKETS_PER_OCTAVE, LEAST_SECS, upper_secs
from heron_core.stats import LatencyStats

LABELS = ("topology", "component", "kind")
SCHEMA = int(math.log2(BUCKETS_PER_OCTAVE))
FIRST_INDEX = math.ceil(math.log2(LEAST_SECS) * BUCKETS_PER_OCTAVE)
"""Of our bucket 0 in a native histogram."""
CLASSIC_BUCKETS = tuple(range(24, 121, 8))
"""Bounds shared with classic histograms: 6.4 microseconds to 107 s by two octaves. Each is a
series of Prometheus for each component and kind."""

Rows = Iterable[tuple[tuple[str, str, str], LatencyStats]]
"""(topology, component, kind) -> measurements"""


def durations(name: str, rows: Rows, native: bool) -> HistogramMetricFamily:
    """The family; what has no samples is left out."""
    family = HistogramMetricFamily(
        name,
        "Of a sample of tuples: one call (execute), until acked by a bolt (process), or completely "
        "(complete).",
        labels=LABELS,
    )
    for labels, latency in rows:
        number = sum(latency.buckets.values())
        if not number:
            continue
        total_secs = (latency.mean_ms or 0.0) / 1000 * number
        if native:
            histogram = native_histogram(latency.buckets, total_secs)
            named = dict(zip(LABELS, labels, strict=True))
            family.add_sample(name, named, 0.0, native_histogram=histogram)
        else:
            family.add_metric(labels, list(_classic(latency.buckets)), total_secs)
    return family


def bound_text(bucket: int) -> str:
    """The upper bound of a bucket, as a label."""
    return str(floatToGoString(upper_secs(bucket)))  # type: ignore[no-untyped-call]


CLASSIC_BOUNDS = tuple((each, bound_text(each)) for each in CLASSIC_BUCKETS)


def _classic(buckets: Mapping[int, int]) -> Iterator[tuple[str, float]]:
    """Upper bound -> number of values up to the bound."""
    ordered, at, below = sorted(buckets.items()), 0, 0
    for bound, text in CLASSIC_BOUNDS:
        while at < len(ordered) and ordered[at][0] <= bound:
            below += ordered[at][1]
            at += 1
        yield text, below
    yield "+Inf", sum(buckets.values())


def native_histogram(buckets: Mapping[int, int], total_secs: float) -> NativeHistogram:
    """One bucket merged from at least one of ours."""
    spans: list[BucketSpan] = []
    deltas: list[int] = []
    before, after_last = 0, 0
    for bucket in sorted(buckets):
        index = FIRST_INDEX + bucket
        if spans and index == after_last:
            spans[-1] = BucketSpan(spans[-1].offset, spans[-1].length + 1)
        else:
            spans.append(BucketSpan(index - after_last, 1))
        deltas.append(buckets[bucket] - before)
        before, after_last = buckets[bucket], index + 1
    return NativeHistogram(
        sum(buckets.values()), total_secs, SCHEMA, 0.0, 0, pos_spans=spans, pos_deltas=deltas
    )
