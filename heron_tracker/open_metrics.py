"""All topologies of the service in OpenMetrics, with what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from heron_io.open_metrics import PREFIX, ExposedTopology, topology_families
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.model.tracker_problem import RANKS, ProblemCause

Problems = Mapping[str, Mapping[ProblemCause, int]]
"""topology -> what is wrong -> how many problems that is."""


def service_families(
    snapshots: Sequence[TopologySnapshot], problems: Problems, native: bool
) -> Iterator[Metric]:
    """All families of a scrape."""
    yield from topology_families([_exposed(each) for each in snapshots], native)
    yield _problems(problems)


def _exposed(snapshot: TopologySnapshot) -> ExposedTopology:
    return ExposedTopology(
        name=snapshot.name,
        cluster=snapshot.cluster,
        environ=snapshot.environ,
        role=snapshot.role,
        state=snapshot.state,
        containers=len(snapshot.packing.containers),
        stats=snapshot.stats,
    )


def _problems(problems: Problems) -> Metric:
    """Of each topology 0 for the kinds of which it has none: such a series begins before its first
    problem, so that Prometheus sees the change."""
    family = GaugeMetricFamily(
        f"{PREFIX}topology_problems",
        "What is wrong with the topology: how many problems of a kind, by component and cause.",
        labels=("topology", *ProblemCause._fields),
    )
    for name, causes in problems.items():
        kinds = {cause.kind for cause in causes}
        for kind in RANKS:
            if kind.value not in kinds:
                family.add_metric((name, *ProblemCause(kind.value)), 0)
        for cause, number in sorted(causes.items()):
            family.add_metric((name, *cause), number)
    return family
