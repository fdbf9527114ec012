"""Topologies' numbers in OpenMetrics, for Prometheus and other readers of its format.

Made again for each scrape from the newest stats: by the service for all topologies, by a topology
master for its own (`topology.metrics.port`), under the same names. Labels have few values:
topology, component, stream, instance (component[index], the same over restarts), and for metrics of
user code, name and key up to a limit. Values beyond a limit are counted in `heron_left_out_values`.
Counters of instances begin at zero with each process, as the counters of any process that
Prometheus scrapes do. Net counts, which decrease on a restore, are gauges: readers take a counter
that falls for a reset, and would add the whole count once more.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.metrics_core import Metric

from heron_core.algorithms.user_series import LeftOut, UserSeries, user_series
from heron_core.instance_report import DISTRIBUTIONS, TOTALS, MeasureKind, measures_of
from heron_core.stats import ComponentStats, InstanceStats, TopologyStats
from heron_io.component_families import component_families
from heron_io.duration_histograms import durations
from heron_io.metrics_text import encoder

PREFIX = "heron_"
INSTANCES_MAX = 5_000
"""Most instances in one scrape: with more, only components are shown, as Prometheus would keep 15
series for each instance."""
PEERS_MAX = 5_000
"""Most pairs of a topology's containers: with more, no pair is shown."""
INSTANCE_LABELS = ("topology", "component", "instance")
COMPONENT_LABELS = ("topology", "component")
QUANTILE_LABELS = (*COMPONENT_LABELS, "kind", "quantile")
QUANTILES = (("0.5", "p50_ms"), ("0.99", "p99_ms"))
NATIVE_SINCE = 2
"""First version of OpenMetrics that has native histograms."""


class ExposedTopology(Struct, frozen=True, kw_only=True):
    """A topology in a scrape."""

    name: str
    cluster: str
    environ: str
    role: str
    state: str
    containers: int
    """By plan."""
    stats: TopologyStats | None
    """Stats with the instances of all components; None if the topology's master does not answer."""

    @property
    def instances(self) -> tuple[InstanceStats, ...]:
        """All instances; none without stats."""
        return (self.stats.instances or ()) if self.stats is not None else ()

    def user_series(self) -> UserSeries:
        """Metrics of user code; empty without stats."""
        return user_series(self.stats.components) if self.stats is not None else UserSeries()


Topologies = Sequence[ExposedTopology]
Registered = Sequence[tuple[ExposedTopology, UserSeries]]
"""Each topology with the metrics of its user code."""
Families = Callable[[bool], Iterable[Metric]]
"""Whether histograms are native -> all families."""


def topology_families(topologies: Topologies, native: bool) -> Iterator[Metric]:
    """All families of these topologies."""
    yield from _topologies(topologies)
    yield from _components(topologies)
    yield from _streams(topologies)
    yield from component_families(_by_component(topologies))
    yield durations(
        f"{PREFIX}component_duration_seconds",
        (
            ((*labels, kind), getattr(stats.latency, kind))
            for labels, stats in _by_component(topologies)
            for kind in DISTRIBUTIONS
        ),
        native,
    )
    yield from _minimum_clocks(topologies)
    yield from _checkpoints(topologies)
    yield _live_queries(topologies)
    yield from _network(topologies)
    if _instances_fit(topologies):
        yield from _instances(topologies)
    registered = [(topology, topology.user_series()) for topology in topologies]
    yield from _user_metrics(registered)
    yield _left_out(topologies, registered)


def exposition(families: Families, accept: str) -> tuple[bytes, str]:
    """The text of a scrape and its content type, in the format that the Accept header prefers."""
    encode, content_type = encoder(accept)
    return encode(families(f"; version={NATIVE_SINCE}." in content_type)), content_type


def _topologies(topologies: Topologies) -> Iterator[Metric]:
    labels = ("topology",)
    info = GaugeMetricFamily(
        f"{PREFIX}topology_state", "1 for the current state of the topology.",
        labels=("topology", "cluster", "environ", "role", "state"),
    )  # fmt: skip
    up = GaugeMetricFamily(
        f"{PREFIX}topology_master_up", "1 if the topology master answers.", labels=labels
    )
    flight = GaugeMetricFamily(
        f"{PREFIX}topology_in_flight_tuples", "Deliveries sent and not processed.", labels=labels
    )
    lost = GaugeMetricFamily(
        f"{PREFIX}topology_lost_tuples", "Deliveries that will not be replayed.", labels=labels
    )
    containers = GaugeMetricFamily(
        f"{PREFIX}topology_containers", "Containers by plan and registered.",
        labels=("topology", "which"),
    )  # fmt: skip
    for topology in topologies:
        info.add_metric(
            (topology.name, topology.cluster, topology.environ, topology.role, topology.state), 1
        )
        up.add_metric((topology.name,), float(topology.stats is not None))
        containers.add_metric((topology.name, "planned"), topology.containers)
        if topology.stats is not None:
            containers.add_metric((topology.name, "up"), len(topology.stats.containers))
            lost.add_metric((topology.name,), topology.stats.lost)
            if topology.stats.in_flight is not None:
                flight.add_metric((topology.name,), topology.stats.in_flight)
    yield from (info, up, flight, lost, containers)


def _components(topologies: Topologies) -> Iterator[Metric]:
    counts = {
        name: _family_of(measure.kind)(
            f"{PREFIX}component_{measure.metric}", f"{measure.what}, ended processes included.",
            labels=COMPONENT_LABELS,
        )
        for name, measure in measures_of(ComponentStats).items()
        if measure.summed in TOTALS and measure.metric
    }  # fmt: skip
    latency = SummaryMetricFamily(
        f"{PREFIX}component_latency_seconds",
        "Of tuples: one call (execute), until acked by a bolt (process), or completely (complete).",
        labels=(*COMPONENT_LABELS, "kind"),
    )
    for labels, stats in _by_component(topologies):
        for name, family in counts.items():
            family.add_metric(labels, getattr(stats, name))
        for kind, quantile, value in _quantiles(stats):
            named = dict(zip(QUANTILE_LABELS, (*labels, kind, quantile), strict=True))
            latency.add_sample(latency.name, named, value)
    yield from counts.values()
    yield latency


def _quantiles(stats: ComponentStats) -> Iterator[tuple[str, str, float]]:
    """(kind of duration, quantile, seconds) of the known quantiles."""
    for kind in DISTRIBUTIONS:
        distribution = getattr(stats.latency, kind)
        for quantile, key in QUANTILES:
            value = getattr(distribution, key)
            if value is not None:
                yield kind, quantile, value / 1000


def _family_of(kind: MeasureKind) -> type[CounterMetricFamily] | type[GaugeMetricFamily]:
    return CounterMetricFamily if kind is MeasureKind.COUNTER else GaugeMetricFamily


def _streams(topologies: Topologies) -> Iterator[Metric]:
    """Destinations and origins of tuples."""
    emitted = CounterMetricFamily(
        f"{PREFIX}stream_emitted_tuples", "Tuples emitted, by stream.",
        labels=(*COMPONENT_LABELS, "stream"),
    )  # fmt: skip
    executed = CounterMetricFamily(
        f"{PREFIX}stream_executed_tuples", "Tuples executed by a bolt, by input stream.",
        labels=(*COMPONENT_LABELS, "source", "stream"),
    )  # fmt: skip
    for topology in topologies:
        for component, stats in _components_of(topology):
            for stream, number in stats.emitted_by_stream.items():
                emitted.add_metric((topology.name, component, stream), number)
            for name, number in stats.executed_by_input.items():
                source, _, stream = name.partition("/")
                executed.add_metric((topology.name, component, source, stream), number)
    yield from (emitted, executed)


def _minimum_clocks(topologies: Topologies) -> Iterator[Metric]:
    """Times as of the newest report, so that `time()` less one is an age at any moment."""
    whole = GaugeMetricFamily(
        f"{PREFIX}topology_minimum_clock_timestamp_seconds",
        "All that began before is finished, since 1970.", labels=("topology",),
    )  # fmt: skip
    parts = GaugeMetricFamily(
        f"{PREFIX}component_minimum_clock_timestamp_seconds",
        "All that came to the component before is finished, since 1970.", labels=COMPONENT_LABELS,
    )  # fmt: skip
    for topology in topologies:
        clock = topology.stats.minimum_clock if topology.stats is not None else None
        if clock is None:
            continue
        now = clock.clock_ms / 1000 + clock.behind_secs
        whole.add_metric((topology.name,), clock.clock_ms / 1000)
        for name, secs in clock.components.items():
            parts.add_metric((topology.name, name), now - secs)
    yield from (whole, parts)


def _by_component(topologies: Topologies) -> Iterator[tuple[tuple[str, str], ComponentStats]]:
    for topology in topologies:
        for component, stats in _components_of(topology):
            yield (topology.name, component), stats


def _components_of(topology: ExposedTopology) -> Iterable[tuple[str, ComponentStats]]:
    return topology.stats.components.items() if topology.stats is not None else ()


def _checkpoints(topologies: Topologies) -> Iterator[Metric]:
    age = GaugeMetricFamily(
        f"{PREFIX}checkpoint_age_seconds", (
            "Seconds since the start of the newest complete checkpoint."
        ),
        labels=("topology",),
    )  # fmt: skip
    size = GaugeMetricFamily(
        f"{PREFIX}checkpoint_size_bytes",
        "Size of the newest complete checkpoint.",
        labels=("topology",),
    )
    failed = CounterMetricFamily(
        f"{PREFIX}checkpoint_failures", "Since this topology master serves.", labels=("topology",)
    )
    spilled = CounterMetricFamily(
        f"{PREFIX}checkpoint_spilled_states",
        "States that no container could hold in memory.",
        labels=("topology",),
    )
    rolled_back = CounterMetricFamily(
        f"{PREFIX}checkpoint_roll_backs",
        "Restores of a checkpoint in the store, because newer ones in memory were lost.",
        labels=("topology",),
    )
    for topology in topologies:
        checkpoints = topology.stats.checkpoints if topology.stats is not None else None
        if checkpoints is not None:
            failed.add_metric((topology.name,), checkpoints.failed)
            if checkpoints.backup is not None:
                spilled.add_metric((topology.name,), checkpoints.backup.spilled)
                rolled_back.add_metric((topology.name,), checkpoints.backup.rolled_back)
            for family, value in ((age, checkpoints.age_secs), (size, checkpoints.size_bytes)):
                if value is not None:
                    family.add_metric((topology.name,), value)
    yield from (age, size, failed, spilled, rolled_back)


def _live_queries(topologies: Topologies) -> Metric:
    family = CounterMetricFamily(
        f"{PREFIX}topology_live_queries",
        "Live queries of state by outcome, since the start of the topology master.",
        labels=("topology", "outcome"),
    )
    for topology in topologies:
        counts = topology.stats.live_queries if topology.stats is not None else {}
        for outcome, number in counts.items():
            if outcome != "asked":
                family.add_metric((topology.name, outcome), number)
    return family


def _network(topologies: Topologies) -> Iterator[Metric]:
    """Traffic between stream managers, each seen from its own container."""
    families = {
        field: CounterMetricFamily(
            f"{PREFIX}stream_manager_{metric}", text, labels=("topology", "container", "peer")
        )
        for field, metric, text in (
            ("peer_bytes_in", "received_bytes", "From another container's stream manager."),
            ("peer_bytes_out", "sent_bytes", "To another container's stream manager."),
        )
    }
    for topology in topologies:
        managers = topology.stats.stream_managers if topology.stats is not None else {}
        for container, manager in managers.items() if _peers(topology) <= PEERS_MAX else ():
            for field, family in families.items():
                for peer, number in getattr(manager, field).items():
                    family.add_metric((topology.name, str(container), str(peer)), number)
    yield from families.values()


def _instances(topologies: Topologies) -> Iterator[Metric]:
    labelled = [
        ((topology.name, instance.component, instance.instance), instance)
        for topology in topologies
        for instance in topology.instances
    ]
    for name, measure in measures_of(InstanceStats).items():
        if not measure.metric:
            continue
        family = _family_of(measure.kind)(
            f"{PREFIX}instance_{measure.metric}", f"{measure.what}.", labels=INSTANCE_LABELS
        )
        for labels, instance in labelled:
            family.add_metric(labels, float(getattr(instance, name)))
        yield family
    paused = CounterMetricFamily(
        f"{PREFIX}instance_paused_seconds", "Held back by back-pressure.", labels=INSTANCE_LABELS
    )
    for topology in topologies:
        for pauses in topology.stats.paused.values() if topology.stats is not None else ():
            component = pauses.component
            paused.add_metric((topology.name, component, pauses.instance), pauses.paused_secs)
    yield paused


def _instances_fit(topologies: Topologies) -> bool:
    return sum(len(topology.instances) for topology in topologies) <= INSTANCES_MAX


def _peers(topology: ExposedTopology) -> int:
    managers = topology.stats.stream_managers if topology.stats is not None else {}
    return sum(len(manager.peer_bytes_out) for manager in managers.values())


def _user_metrics(registered: Registered) -> Iterator[Metric]:
    """Counts are counters, of all processes since the start; all else is a gauge."""
    labels = (*COMPONENT_LABELS, "name", "key")
    count = CounterMetricFamily(
        f"{PREFIX}user_count", "What user code counts, since the start, ended processes included.",
        labels=labels,
    )  # fmt: skip
    level = GaugeMetricFamily(
        f"{PREFIX}user_metric",
        "What user code registered and is not a count that never falls: its newest value.",
        labels=labels,
    )
    for topology, series in registered:
        for value in series.values:
            family = count if value.is_count else level
            family.add_metric((topology.name, value.component, value.name, value.key), value.value)
    yield from (count, level)


def _left_out(topologies: Topologies, registered: Registered) -> Metric:
    """Number of the values beyond the limits of this module."""
    family = GaugeMetricFamily(
        f"{PREFIX}left_out_values",
        "What is not told here: instances and peers above the limit of a scrape, user metrics above"
        " that of a topology, or without a finite number.",
        labels=(*COMPONENT_LABELS, "what", "reason"),
    )
    are_served = _instances_fit(topologies)
    for topology in topologies:
        peers = _peers(topology)
        whole = {
            "instances": 0 if are_served else len(topology.instances),
            "peers": 0 if peers <= PEERS_MAX else peers,
        }
        for what, number in whole.items():
            family.add_metric((topology.name, "", what, LeftOut.LIMIT.value), number)
    for topology, series in registered:
        for (component, reason), number in series.left_out.items():
            labels = (topology.name, component, "user_metrics", reason.value)
            family.add_metric(labels, number)
    return family
