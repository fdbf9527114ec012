"""The series of each instance in Heron's tracker and in the history: numbers that have a name of
Heron's, and the sums of durations."""

from collections.abc import Callable, Mapping
from operator import attrgetter

from msgspec import Struct

from heron_core.instance_report import DISTRIBUTIONS, MeasureKind, measures_of
from heron_core.stats import InstanceStats


class Series(Struct, frozen=True):
    """One number of an instance."""

    read: Callable[[InstanceStats], float]
    counts: bool
    """Whether it only grows while its process lives; else it is a level."""


def latency_series(kind: str) -> tuple[str, str]:
    """Names of the sum of a kind of latency in seconds, and of how many it is of."""
    return f"__{kind}-secs", f"__{kind}-samples"


def _durations() -> dict[str, Series]:
    found = {}
    for kind in DISTRIBUTIONS:
        secs, samples = latency_series(kind)
        found[secs] = Series(_read("latency_secs", kind), True)
        found[samples] = Series(_read("latency_samples", kind), True)
    return found


def _read(name: str, kind: str) -> Callable[[InstanceStats], float]:
    return lambda x: getattr(x, name).get(kind, 0)


SERIES: Mapping[str, Series] = {
    **{
        measure.heron: Series(attrgetter(name), measure.kind is MeasureKind.COUNTER)
        for name, measure in measures_of(InstanceStats).items()
        if measure.heron
    },
    **_durations(),
}
"""By name; Heron's where it has one."""


def values_of(instance: InstanceStats) -> dict[str, float]:
    """All series of an instance at once."""
    return {name: float(each.read(instance)) for name, each in SERIES.items()}
