"""The context of `initialize`: identity, topology, metrics."""

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from heron_api import global_metrics
from heron_api.incarnation import Incarnation
from heron_api.metrics import CountMetric, IMetric, MultiCountMetric, TupleCount
from heron_api.run_store import RunStore
from heron_api.topology_context import TopologyContext
from heron_core import config as keys
from heron_core.algorithms.user_metrics import RAISED, added
from heron_core.dead_letters import REPLAYED
from heron_core.plans import PackingPlan
from heron_core.topology import DEFAULT_STREAM, TopologySpec
from heron_frontends.adapters.storm_context import storm_components, storm_context

StreamId = namedtuple("StreamId", "id component_name")


class InstanceContext(TopologyContext):
    """TopologyContext of a running instance."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        task: int,
        config: dict[str, Any],
        incarnation: Incarnation,
        run_store: RunStore | None = None,
    ) -> None:
        self._topology = topology
        self._packing = packing
        self._task = task
        self._config = config
        self._component = packing.instances[task].component
        self._incarnation = incarnation
        self._run_store = run_store
        self.metrics: dict[str, tuple[Any, float]] = {}
        """name -> (the user's metric, seconds between two looks at it)"""
        self.added_hooks: list[Any] = []
        self._requested_tick_secs: float | None = None
        # heronpy's instances register the metric, so that components only count.
        global_metrics.init(self, _export_interval_secs(config))

    def repack(self, packing: PackingPlan) -> None:
        """The topology is scaled: `get_component_tasks` gives the tasks of `packing`."""
        self._packing = packing

    @property
    def tick_secs(self) -> float | None:
        """Seconds between the ticks of this instance, None for no ticks; read after `initialize`.

        The component's request, or else the present config: in heronpy, components request ticks
        through the config passed to `initialize`.
        """
        if self._requested_tick_secs is not None:
            return self._requested_tick_secs
        return keys.tick_interval_secs(keys.with_defaults(self._config))

    def request_ticks(self, interval_secs: float) -> None:
        """Have a tick every `interval_secs` seconds, whatever the config says."""
        self._requested_tick_secs = float(interval_secs)

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
            raise ValueError(
                f"{self._component}: a metric named {name!r} is registered already:"
                " give each metric its own name"
            )
        self.metrics[name] = (metric, float(time_bucket_in_sec))

    def go_on_counting(self, before: "InstanceContext") -> None:
        """Take over the tuple counts of the previous context in the process."""
        counts = before.tuple_counts
        for name, metric in self.tuple_counts.items():
            if name in counts:
                metric.go_on(counts[name])

    @property
    def tuple_counts(self) -> dict[str, TupleCount]:
        """Metrics that count each tuple once."""
        found = ((name, metric) for name, (metric, _) in self.metrics.items())
        return {name: metric for name, metric in found if isinstance(metric, TupleCount)}

    def counted_tuples(self) -> dict[str, float]:
        """Their totals, for `restore_totals`."""
        return {name: metric.total for name, metric in self.tuple_counts.items()}

    def restore_totals(self, totals: Mapping[str, float]) -> None:
        """All that was counted since then has not happened."""
        for name, metric in self.tuple_counts.items():
            metric.total = totals.get(name, 0)

    def get_sources(self, component_id: str) -> dict[Any, Any] | None:
        """{StreamId(id, component_name): grouping type} of a bolt; None for anything else."""
        component = self._topology.by_name.get(component_id)
        if component is None or component.is_spout:
            return None
        return {
            StreamId(each.stream, each.component): each.grouping.kind.heron_number
            for each in component.inputs
            if each.component != REPLAYED
        }

    def get_this_sources(self) -> dict[Any, Any] | None:
        """`get_sources` of the component."""
        return self.get_sources(self._component)

    def get_component_streams(self, component_id: str) -> list[str]:
        """Names of the streams that a component declares; empty for an unknown component."""
        component = self._topology.by_name.get(component_id)
        return [] if component is None else [each.name for each in component.outputs]

    def get_component_output_fields(
        self, component_id: str, stream_id: str = DEFAULT_STREAM
    ) -> list[str]:
        """Fields of a component's stream; ValueError for an unknown stream."""
        component = self._topology.by_name.get(component_id)
        stream = None if component is None else component.stream(stream_id)
        if stream is None:
            from heron_core.validation import choices  # only when something is wrong already

            streams = () if component is None else [each.name for each in component.outputs]
            hint = (
                choices("components", component_id, self._topology.by_name)
                if component is None
                else choices("streams", stream_id, streams)
            )
            raise ValueError(
                f"there is no stream {stream_id!r} of a component {component_id!r}; {hint}"
            )
        return list(stream.fields)

    def get_targets(self, component_id: str) -> dict[str, dict[str, Any]]:
        """`{stream: {component that reads it: grouping type}}` of what a component emits."""
        consumers = self._topology.consumers
        return {
            name: {
                reader.name: each.grouping.kind.heron_number
                for reader, each in consumers.get((component_id, name), ())
            }
            for name in self.get_component_streams(component_id)
        }

    def get_component_tasks(self, component_id: str) -> list[int]:
        """The task ids of a component, sorted; empty for an unknown one."""
        return list(self._packing.tasks_of.get(component_id, ()))

    def get_this_worker_tasks(self) -> list[int]:
        """The tasks in this task's container, sorted."""
        home = self._packing.container_of
        return sorted(task for task, container in home.items() if container == home[self._task])

    def add_task_hook(self, task_hook: Any) -> None:
        """Call `task_hook` from now on."""
        self.added_hooks.append(task_hook)

    def get_topology_pex_path(self) -> str:
        """Where the topology's code is: the file it was loaded from."""
        return self._topology.main_file

    def get_declared_types(self, component_id: str, stream_id: str) -> dict[str, str]:
        """The types of a stream's fields; empty if not declared."""
        streams = self._topology.by_name[component_id].outputs
        found = next(each for each in streams if each.name == stream_id)
        return dict(zip(found.fields, found.types, strict=True)) if found.types else {}

    def get_incarnation(self) -> Incarnation:
        """Identity of the task's process."""
        return self._incarnation

    def get_run_store(self) -> RunStore:
        """Named records of the run; ComponentError on an engine without a store."""
        return super().get_run_store() if self._run_store is None else self._run_store

    def to_storm(self) -> dict[str, Any]:
        """The context in Storm's form for components in other languages."""
        return storm_context(self._topology, self._packing, self._task)

    def to_storm_components(self) -> list[dict[str, Any]]:
        """All components of the topology as Storm has them (adapters.storm_context)."""
        return storm_components(self._topology)

    def get_metrics_collector(self) -> "InstanceContext":
        """Argument of `global_metrics.init`."""
        return self


def _export_interval_secs(config: Mapping[str, Any]) -> float:
    return (
        float(config.get(keys.METRICS_INTERVAL_MS, keys.DEFAULTS[keys.METRICS_INTERVAL_MS])) / 1e3
    )


COUNTS = (CountMetric, MultiCountMetric)
"""Classes with additive fractions; others may be means."""


class UserMetrics:
    """The user's registered metrics, read at their intervals; the newest values are reported."""

    def __init__(self, registered: Mapping[str, tuple[Any, float]]) -> None:
        self._registered = registered
        self._next: dict[str, float] = {}
        self.values: dict[str, Any] = {}
        self._ended: dict[str, Any] = {}
        """Of counting metrics: sums over completed time buckets."""

    def follow(self, registered: Mapping[str, tuple[Any, float]]) -> None:
        """Replace the metrics after the component was recreated. Metrics that count tuples once
        continue with unreported counts."""
        for name, (metric, _) in list(self._registered.items()):
            if not isinstance(metric, TupleCount):
                self._add(name, metric, _unread(metric))
        self._registered = registered

    def read(self, now: float) -> dict[str, Any]:
        """The newest values: numbers, or dicts of numbers for the Multi… kinds.

        A metric without keys is left out; an exception of a metric is reported as its value,
        because the values are part of a heartbeat, which must not be lost.
        """
        for name, (metric, interval_secs) in list(self._registered.items()):
            if now >= self._next.get(name, 0.0):
                self._next[name] = now + interval_secs
                self.values[name] = newest = _read(metric)
                self._add(name, metric, newest)
        return {name: value for name, value in self.values.items() if value != {}}

    def _add(self, name: str, metric: Any, newest: Any) -> None:
        if getattr(metric, "adds_up", True):
            total = added(self._ended.get(name), newest, fractions=isinstance(metric, COUNTS))
            if total is not None:
                self._ended[name] = total

    def totals(self) -> dict[str, Any]:
        """Of counting metrics: sums over all time buckets, including unread counts of the
        current bucket (IMetric.unread)."""
        totals = dict(self._ended)
        for name, (metric, _) in list(self._registered.items()):
            total = added(totals.get(name), _unread(metric), fractions=isinstance(metric, COUNTS))
            if total is not None:
                totals[name] = total
        return totals

    def tuple_counts(self) -> dict[str, float]:
        """Totals of metrics that count each tuple once."""
        found = list(self._registered.items())
        return {name: each.total for name, (each, _) in found if isinstance(each, TupleCount)}


def _read(metric: Any) -> Any:
    try:
        return _plain(metric.get_value_and_reset())
    except Exception as error:
        return f"{RAISED} {error!r}"


def _unread(metric: Any) -> Any:
    try:
        return _plain(metric.unread()) if isinstance(metric, IMetric) else None
    except Exception:  # the next read reports the exception
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return value if value is None or isinstance(value, (int, float, str)) else str(value)
