"""The numbers of a run, as `heronpy stats` shows those of any topology. Pure."""

from collections.abc import Mapping

from heron_core.algorithms.clocks import slowest
from heron_core.algorithms.rollup import QueueNumbers, RollUp
from heron_core.instance_report import report_of_json
from heron_core.plans import PackingPlan, TopologyState
from heron_core.stats import QueryStats, StreamManagerStats
from heron_core.topology import TopologySpec
from heron_spark.driver.progress import Progress

NO_QUEUES: Mapping[int, QueueNumbers] = {}
"""What a batch has not processed no queue holds."""
NO_STREAM_MANAGERS: Mapping[int, StreamManagerStats] = {}
CONTAINER = 1
"""The whole query counts as one container."""


class QueryMetrics:
    """Of the batches that are done since the driver runs (heron_core.stats.StatsSource)."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan) -> None:
        self._topology = topology
        self._rollup = RollUp(topology, packing)
        self._batch: int | None = None
        self._batch_secs = 0.0

    def record_batch(self, progress: Progress, now: float) -> None:
        """A batch is done at `now`, in seconds of any monotonic clock."""
        self._batch, self._batch_secs = progress.batch, progress.secs
        for each in progress.results:
            self._rollup.update(each["task"], report_of_json(each["statistics"]), now)

    def stats(self, component: str | None, now: float) -> QueryStats:
        """All that batches tell; the command server knows state, drained and ready."""
        is_up = self._batch is not None
        components = self._rollup.components(NO_QUEUES)
        return QueryStats(
            topology=self._topology.name,
            state=TopologyState.RUNNING,
            epoch=self._batch or 0,
            batch=self._batch,
            batch_secs=self._batch_secs,
            ready=is_up,
            phase="running",
            drained=False,
            lost=0,
            containers=(CONTAINER,) if is_up else (),
            containers_expected=(CONTAINER,),
            registered={},
            components=components,
            clock=slowest(component.clock for component in components.values()),
            paused={},
            stream_managers=NO_STREAM_MANAGERS,
            master={},
            errors={},
            instances=self._rollup.wanted_instances(component, NO_QUEUES),
        )
