"""All topologies' numbers in OpenMetrics, for Prometheus and whoever reads its format.

Made anew for each scrape out of the newest stats; nobody is asked for it. Labels have few values:
topology, component, instance (component[index], the same over restarts), and of what user code
registered, name and key up to a limit. Counters of instances begin at zero with each process, as
those of any process that Prometheus scrapes do.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from heron_tracker.problems import RANKS
from heron_tracker.series import SERIES
from heron_tracker.snapshot import TopologySnapshot, component_of

PREFIX = "heron_"
INSTANCES_MAX = 5_000
"""In one scrape: with more of them only components are told, as Prometheus would keep 15 series
for each."""
USER_METRICS_MAX = 200
"""Of one topology: user code may register a key for every word it meets."""
INSTANCE_LABELS = ("topology", "component", "instance")
COMPONENT_LABELS = ("topology", "component")
QUANTILES = (("0.5", "p50_ms"), ("0.99", "p99_ms"))
Problems = dict[str, dict[str, int]]
"""topology -> kind of problem -> how many there are."""


class TopologyMetrics(Collector):
    """What prometheus-client asks for at each scrape."""

    def __init__(self, snapshots: Sequence[TopologySnapshot], problems: Problems) -> None:
        self._snapshots = snapshots
        self._problems = problems

    def collect(self) -> Iterator[Metric]:
        """All families."""
        yield from _topologies(self._snapshots)
        yield from _components(self._snapshots)
        yield from _checkpoints(self._snapshots)
        if sum(len(each.instances) for each in self._snapshots) <= INSTANCES_MAX:
            yield from _instances(self._snapshots)
        yield _user_metrics(self._snapshots)
        yield _problems(self._problems)

    def registry(self) -> CollectorRegistry:
        """As the encoders of prometheus-client take it."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return registry


def _topologies(snapshots: Sequence[TopologySnapshot]) -> Iterator[Metric]:
    labels = ("topology",)
    info = GaugeMetricFamily(
        f"{PREFIX}topology_state", "1 for the state that the topology is in.",
        labels=("topology", "cluster", "environ", "role", "state"),
    )  # fmt: skip
    up = GaugeMetricFamily(
        f"{PREFIX}topology_master_up", "1 if the topology master answers.", labels=labels
    )
    flight = GaugeMetricFamily(
        f"{PREFIX}topology_in_flight_tuples", "Deliveries sent and not processed.", labels=labels
    )
    lost = GaugeMetricFamily(
        f"{PREFIX}topology_lost_tuples", "Deliveries that nobody will replay.", labels=labels
    )
    containers = GaugeMetricFamily(
        f"{PREFIX}topology_containers", "Containers by plan and registered.",
        labels=("topology", "which"),
    )  # fmt: skip
    for each in snapshots:
        info.add_metric((each.name, each.cluster, each.environ, each.role, each.state), 1)
        up.add_metric((each.name,), float(each.stats is not None))
        containers.add_metric((each.name, "planned"), len(each.packing.containers))
        if each.stats is not None:
            containers.add_metric((each.name, "up"), len(each.stats.containers))
            lost.add_metric((each.name,), each.stats.lost)
            if each.stats.in_flight is not None:
                flight.add_metric((each.name,), each.stats.in_flight)
    yield from (info, up, flight, lost, containers)


def _components(snapshots: Sequence[TopologySnapshot]) -> Iterator[Metric]:
    counters = {
        name: CounterMetricFamily(
            f"{PREFIX}component_{metric}", f"{text}, ended processes included.",
            labels=COMPONENT_LABELS,
        )
        for name, metric, text in (
            ("emitted", "emitted_tuples", "Tuples emitted"),
            ("executed", "executed_tuples", "Tuples executed, or calls of next_tuple"),
            ("acked", "acked_tuples", "Tuples acked"),
            ("failed", "failed_tuples", "Tuples failed"),
            ("expired", "expired_tuples", "Tuples of a spout not acked in time"),
            ("errors", "errors", "Exceptions of user code"),
        )
    }  # fmt: skip
    latency = GaugeMetricFamily(
        f"{PREFIX}component_latency_seconds",
        "Of tuples: one call (execute), until acked by a bolt (process), or completely (complete).",
        labels=(*COMPONENT_LABELS, "kind", "quantile"),
    )
    for each in snapshots:
        for component, stats in each.components.items():
            for name, family in counters.items():
                family.add_metric((each.name, component), getattr(stats, name))
            for kind in ("execute", "process", "complete"):
                found = getattr(stats.latency, kind)
                for quantile, key in QUANTILES:
                    value = getattr(found, key)
                    if value is not None:
                        labels = (each.name, component, kind, quantile)
                        latency.add_metric(labels, value / 1000)
    yield from counters.values()
    yield latency


def _checkpoints(snapshots: Sequence[TopologySnapshot]) -> Iterator[Metric]:
    age = GaugeMetricFamily(
        f"{PREFIX}checkpoint_age_seconds", "Since the newest complete one began.",
        labels=("topology",),
    )  # fmt: skip
    size = GaugeMetricFamily(
        f"{PREFIX}checkpoint_size_bytes", "Of the newest complete one.", labels=("topology",)
    )
    failed = GaugeMetricFamily(
        f"{PREFIX}checkpoint_failures", "Since this topology master serves.", labels=("topology",)
    )
    for each in snapshots:
        found = each.stats.checkpoints if each.stats is not None else None
        if found is not None:
            failed.add_metric((each.name,), found.failed)
            for family, value in ((age, found.age_secs), (size, found.size_bytes)):
                if value is not None:
                    family.add_metric((each.name,), value)
    yield from (age, size, failed)


def _instances(snapshots: Sequence[TopologySnapshot]) -> Iterator[Metric]:
    labelled = [
        ((each.name, component_of(instance), instance.instance), instance)
        for each in snapshots
        for instance in each.instances
    ]
    for series in SERIES.values():
        kind = CounterMetricFamily if series.counts else GaugeMetricFamily
        family = kind(f"{PREFIX}instance_{series.metric}", series.help, labels=INSTANCE_LABELS)
        for labels, instance in labelled:
            family.add_metric(labels, float(series.read(instance)))
        yield family
    paused = CounterMetricFamily(
        f"{PREFIX}instance_paused_seconds", "Held back by back-pressure.", labels=INSTANCE_LABELS
    )
    for each in snapshots:
        for pauses in each.stats.paused.values() if each.stats is not None else ():
            component = pauses.instance.rpartition("[")[0]
            paused.add_metric((each.name, component, pauses.instance), pauses.paused_secs)
    yield paused


def _user_metrics(snapshots: Sequence[TopologySnapshot]) -> Metric:
    family = GaugeMetricFamily(
        f"{PREFIX}user_metric", "What user code registered, in its last time bucket.",
        labels=(*COMPONENT_LABELS, "name", "key"),
    )  # fmt: skip
    for each in snapshots:
        numbers = [
            ((each.name, component, name, key), value)
            for component, stats in each.components.items()
            for name, found in sorted(stats.user.items())
            for key, value in _numbers(found)
        ]
        for labels, value in numbers[:USER_METRICS_MAX]:
            family.add_metric(labels, value)
    return family


def _numbers(found: object) -> Iterable[tuple[str, float]]:
    """The numbers of a metric, by key; the key of a single one is empty."""
    several = found.items() if isinstance(found, dict) else (("", found),)
    for key, value in several:
        if isinstance(value, int | float) and abs(value) < 1e300 and math.isfinite(value):
            yield str(key), float(value)


def _problems(problems: Problems) -> Metric:
    family = GaugeMetricFamily(
        f"{PREFIX}topology_problems", "What is wrong with the topology, by kind.",
        labels=("topology", "kind"),
    )  # fmt: skip
    for name, kinds in problems.items():
        for kind in RANKS:
            family.add_metric((name, kind.value), kinds.get(kind.value, 0))
    return family
