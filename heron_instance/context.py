"""The context that `initialize` gets: who am I, who else is there, where do metrics go."""

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from heron_core.plans import PackingPlan
from heron_core.topology import GroupingKind, TopologySpec
from heronpy_compat.api.stream import Grouping
from heronpy_compat.api.topology_context import TopologyContext
from heronpy_compat.storm_context import storm_context

StreamId = namedtuple("StreamId", "id component_name")

_HERON_GROUPING = {
    GroupingKind.SHUFFLE: Grouping.SHUFFLE,
    GroupingKind.ALL: Grouping.ALL,
    GroupingKind.GLOBAL: Grouping.LOWEST,
    GroupingKind.NONE: Grouping.NONE,
    GroupingKind.DIRECT: Grouping.DIRECT,
    GroupingKind.LOCAL_OR_SHUFFLE: Grouping.SHUFFLE,
    GroupingKind.FIELDS: 2,
    GroupingKind.PARTIAL_KEY: 2,
    GroupingKind.CUSTOM: 7,
}
"""heronpy's grouping type numbers (topology.proto: FIELDS is 2, CUSTOM is 7)."""


class InstanceContext(TopologyContext):
    """TopologyContext of a running instance."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, task: int, config: dict[str, Any]
    ) -> None:
        self._topology = topology
        self._packing = packing
        self._task = task
        self._config = config
        self._component = packing.instances[task].component
        self.metrics: dict[str, tuple[Any, float]] = {}
        """name -> (the user's metric, seconds between two looks at it)"""
        self.added_hooks: list[Any] = []

    def get_task_id(self) -> int:
        """The task id of this instance."""
        return self._task

    def get_component_id(self) -> str:
        """The name of this instance's component."""
        return self._component

    def get_cluster_config(self) -> dict[str, Any]:
        """The config as `initialize` got it: the very dict."""
        return self._config

    def get_topology_name(self) -> str:
        """The topology's name."""
        return self._topology.name

    def register_metric(self, name: str, metric: Any, time_bucket_in_sec: float) -> None:
        """Look at `metric` every `time_bucket_in_sec` seconds and report it under `name`."""
        if name in self.metrics:
            raise ValueError(f"{self._component}: a metric named {name!r} is registered already")
        self.metrics[name] = (metric, float(time_bucket_in_sec))

    def get_sources(self, component_id: str) -> dict[Any, Any] | None:
        """{StreamId(id, component_name): grouping type} of a bolt; None for anything else."""
        component = self._topology.by_name.get(component_id)
        if component is None or component.is_spout:
            return None
        return {
            StreamId(each.stream, each.component): _HERON_GROUPING[each.grouping.kind]
            for each in component.inputs
        }

    def get_this_sources(self) -> dict[Any, Any] | None:
        """`get_sources` of this component."""
        return self.get_sources(self._component)

    def get_component_tasks(self, component_id: str) -> list[int]:
        """The task ids of a component, sorted; empty for an unknown one."""
        return list(self._packing.tasks_of.get(component_id, ()))

    def add_task_hook(self, task_hook: Any) -> None:
        """Call `task_hook` from now on."""
        self.added_hooks.append(task_hook)

    def get_topology_pex_path(self) -> str:
        """Where the topology's code is: the file it was loaded from."""
        return self._topology.main_file

    def to_storm(self) -> dict[str, Any]:
        """The context as Storm tells it to components of other languages."""
        return storm_context(self._topology, self._packing, self._task)

    def get_metrics_collector(self) -> "InstanceContext":
        """What `global_metrics.init` takes."""
        return self


class UserMetrics:
    """The user's registered metrics, read at their intervals; the newest values are reported."""

    def __init__(self, registered: Mapping[str, tuple[Any, float]]) -> None:
        self._registered = registered
        self._next: dict[str, float] = {}
        self.values: dict[str, Any] = {}

    def read(self, now: float) -> dict[str, Any]:
        """The newest values: numbers, or dicts of numbers for the Multi… kinds."""
        for name, (metric, interval_secs) in list(self._registered.items()):
            if now >= self._next.get(name, 0.0):
                self._next[name] = now + interval_secs
                self.values[name] = _plain(metric.get_value_and_reset())
        return dict(self.values)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if value is None or isinstance(value, (int, float, str)) else str(value)
