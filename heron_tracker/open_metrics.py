"""All topologies of the service in OpenMetrics, with what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from heron_io.open_metrics import PREFIX, ExposedTopology, topology_families
from heron_tracker.model.problems import RANKS
from heron_tracker.model.snapshot import TopologySnapshot

Problems = Mapping[str, Mapping[str, int]]
"""topology -> kind of problem -> how many there are."""


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
    family = GaugeMetricFamily(
        f"{PREFIX}topology_problems", "What is wrong with the topology, by kind.",
        labels=("topology", "kind"),
    )  # fmt: skip
    for name, kinds in problems.items():
        for kind in RANKS:
            family.add_metric((name, kind.value), kinds.get(kind.value, 0))
    return family
