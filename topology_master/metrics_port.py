"""The topology master's own OpenMetrics endpoint (`topology.metrics.port`), without a service.

Problems never affect the topology: an occupied port or a missing package is one line in the log.
The port is retried, because a previous master may still occupy it.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_core.config import ENVIRONMENT
from heron_core.errors import HeronError
from heron_core.stats import EVERY_COMPONENT, TopologyStats
from heron_core.topology import TopologySpec
from heron_engine.topology_master.core import TopologyMaster
from heron_engine.topology_master.options import MasterOptions
from heron_io.server_loop import ServerLoop

if TYPE_CHECKING:
    from heron_io.metrics_port import MetricsPort, Scrape

log = logging.getLogger("topology_master")

TRY_SECS = 5.0
"""Between two tries of a port that is taken."""

EXTRA = "pip install 'heronpy-topologies[metrics]'"

Labels = dict[str, str]
"""cluster, environ, role"""


class OwnMetrics:
    """Opens the port, if the topology wants one, and answers in the master's loop."""

    def __init__(self, topology: TopologySpec, options: MasterOptions, labels: Labels) -> None:
        self._name = topology.name
        self._options = options
        self._labels = labels
        self._port: MetricsPort | None = None
        self._try_at = float("-inf") if options.metrics_port is not None else float("inf")
        self._logged = ""

    def open(self, loop: ServerLoop, now: float) -> None:
        """Try it, if it is time to."""
        if now < self._try_at or self._options.metrics_port is None:
            return
        self._try_at = now + TRY_SECS
        try:
            # HTTP server and Prometheus client are needed with a port only.
            import prometheus_client  # noqa: F401

            from heron_io.metrics_port import MetricsPort

            self._port = MetricsPort(self._options.metrics_host, self._options.metrics_port)
        except ImportError:
            self._fail(f"metrics are not served: topology.metrics.port needs {EXTRA}")
        except HeronError as error:
            if str(error) != self._logged:
                log.warning("%s", error)
            self._logged = str(error)
        else:
            self._try_at = float("inf")
            loop.register(self._port.asked.readable)
            log.info("metrics at %s", self._port.address)

    def _fail(self, text: str) -> None:
        self._try_at = float("inf")
        log.warning("%s", text)

    def answer(self, ready: Mapping[Any, int], core: TopologyMaster, now: float) -> None:
        """Supply the numbers on a scrape."""
        if self._port is not None and self._port.asked.readable in ready:
            stats, containers = core.stats(EVERY_COMPONENT, now), len(core.packing.containers)
            self._port.answer(partial(_scrape, self._name, self._labels, containers, stats))

    def close(self) -> None:
        """Let the port go."""
        if self._port is not None:
            self._port.close()


def labels_of(topology: TopologySpec, execution: Any, scheduler: Any) -> Labels:
    """Deployment of the topology, from the state store's nodes, as in the service."""
    environ = topology.config.get(ENVIRONMENT)
    return {
        "cluster": str(_of(scheduler).get("cluster") or "local"),
        "environ": environ if isinstance(environ, str) and environ else "default",
        "role": str(_of(execution).get("user") or "unknown"),
    }


def _of(node: Any) -> dict[str, Any]:
    return node if isinstance(node, dict) else {}


def _scrape(
    name: str, labels: Labels, containers: int, stats: TopologyStats, accept: str
) -> "Scrape":
    from heron_io.open_metrics import ExposedTopology, exposition, topology_families

    topology = ExposedTopology(
        name=name, **labels, state=stats.state, containers=containers, stats=stats
    )
    return exposition(partial(topology_families, [topology]), accept)
