"""The numbers of a run, as `heronpy stats` shows those of any topology. Pure."""

from collections.abc import Mapping
from typing import Any

from heron_core.algorithms.rollup import KINDS, RollUp
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_spark.progress import Progress

NOTHING_WAITS: Mapping[int, int] = {}
"""What a batch has not processed no queue holds."""


class Numbers:
    """Of the batches that are done since the driver runs."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan) -> None:
        self._topology = topology
        self._rollup = RollUp(topology, packing)
        self._batch: int | None = None
        self._secs = 0.0

    def add(self, progress: Progress, now: float) -> None:
        """A batch is done at `now`, in seconds of any monotonic clock."""
        self._batch, self._secs = progress.batch, progress.secs
        for each in progress.facts:
            self._rollup.update(each["task"], _with_whole_buckets(each["statistics"]), now)

    def told(self, component: Any) -> dict[str, Any]:
        """What a topology master tells, as far as there is such a thing here: its keys and shapes
        (TopologyMaster._stats), and the newest batch. `component`: whose instances are wanted."""
        container = {} if self._batch is None else {1: {"batch": self._batch, "secs": self._secs}}
        found: dict[str, Any] = {
            "topology": self._topology.name,
            "epoch": 0 if self._batch is None else self._batch,
            "batch": self._batch,
            "batch_secs": self._secs,
            "phase": "running",
            "lost": 0,
            "containers": list(container),
            "containers_expected": [1],
            "registered": {},
            "components": self._rollup.components(NOTHING_WAITS),
            "paused": {},
            "stream_managers": {},
            "master": {},
            "errors": {},
        }
        if isinstance(component, str) and component in self._topology.by_name:
            found["instances"] = self._rollup.instances(component, NOTHING_WAITS)
        return found


def _with_whole_buckets(statistics: Mapping[str, Any]) -> dict[str, Any]:
    """A snapshot that was JSON, whose keys are text, as an instance makes it."""
    latencies = {
        kind: {
            **statistics[kind],
            "histogram": {int(key): n for key, n in statistics[kind]["histogram"].items()},
        }
        for kind in KINDS
    }
    return {**statistics, **latencies}
