"""The topology as seen by a component (heronpy.api.topology_context)."""

from typing import TYPE_CHECKING, Any

from heron_api.incarnation import Incarnation
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.metrics import IMetric
    from heron_api.run_store import RunStore


class TopologyContext:
    """Argument of `initialize`; the runtime's class implements every method.

    Example:

        def initialize(self, config, context):
            self.task = context.get_task_id()
            self.siblings = context.get_component_tasks(context.get_component_id())
            self.late = CountMetric()
            context.register_metric("late", self.late, 60)
    """

    def get_task_id(self) -> int:
        """The task id of this instance: a whole number from 1, unique in the topology."""
        raise NotImplementedError

    def get_component_id(self) -> str:
        """The name of the instance's component."""
        raise NotImplementedError

    def get_cluster_config(self) -> dict[str, Any]:
        """The config passed to `initialize`."""
        raise NotImplementedError

    def get_topology_name(self) -> str:
        """The name of the topology."""
        raise NotImplementedError

    def register_metric(self, name: str, metric: "IMetric", time_bucket_in_sec: int) -> None:
        """Collect `metric` under `name` every `time_bucket_in_sec` seconds."""
        raise NotImplementedError

    def get_sources(self, component_id: str) -> dict[Any, Any] | None:
        """`{StreamId(id, component_name): grouping type}` of a component's inputs, or None."""
        raise NotImplementedError

    def get_this_sources(self) -> dict[Any, Any] | None:
        """`get_sources` of the instance's component."""
        raise NotImplementedError

    def get_component_tasks(self, component_id: str) -> list[int]:
        """The task ids of a component, sorted."""
        raise NotImplementedError

    def get_this_worker_tasks(self) -> list[int]:
        """The tasks of the instance's container, including the instance (Storm:
        getThisWorkerTasks)."""
        raise NotImplementedError

    def add_task_hook(self, task_hook: Any) -> None:
        """Call `task_hook`, an ITaskHook, from now on; for use in `initialize`."""
        raise NotImplementedError

    def get_topology_pex_path(self) -> str:
        """Where the topology's code is, on the machine of this instance."""
        raise NotImplementedError

    def get_metrics_collector(self) -> Any:
        """Argument for `global_metrics.init`."""
        raise NotImplementedError

    # From here on: methods of Storm's TopologyContext, absent from heronpy.

    def get_this_task_index(self) -> int:
        """Index of the instance within its component: 0 for the lowest task id."""
        return self.get_component_tasks(self.get_component_id()).index(self.get_task_id())

    def get_component_streams(self, component_id: str) -> list[str]:
        """The names of a component's declared streams; empty for an unknown component."""
        raise NotImplementedError

    def get_this_streams(self) -> list[str]:
        """`get_component_streams` of the instance's component."""
        return self.get_component_streams(self.get_component_id())

    def get_component_output_fields(
        self, component_id: str, stream_id: str = "default"
    ) -> list[str]:
        """The fields of a component's stream; ValueError for an unknown stream."""
        raise NotImplementedError

    def get_this_output_fields(self, stream_id: str = "default") -> list[str]:
        """`get_component_output_fields` of the instance's component."""
        return self.get_component_output_fields(self.get_component_id(), stream_id)

    def get_targets(self, component_id: str) -> dict[str, dict[str, Any]]:
        """`{stream: {reading component: grouping type}}` of a component's outputs; types as in
        `get_sources`."""
        raise NotImplementedError

    def get_this_targets(self) -> dict[str, dict[str, Any]]:
        """`get_targets` of the instance's component."""
        return self.get_targets(self.get_component_id())

    def request_ticks(self, interval_secs: float) -> None:
        """Request a tick every `interval_secs` seconds, overriding the config; for use in a
        bolt's `initialize`. An extension of heronpy's API: a context without support ignores the
        call."""

    def get_incarnation(self) -> Incarnation:
        """Identity of the task's process, for components with external writes. An extension of
        heronpy's API; without support, the task has only one process."""
        return Incarnation()

    def get_declared_types(self, component_id: str, stream_id: str) -> dict[str, str]:
        """The SQL types of a stream's fields; empty if not declared. An extension of heronpy's
        API."""
        return {}

    def get_run_store(self) -> "RunStore":
        """Named records of the topology's run, for data that must survive a process immediately;
        ComponentError on an engine without a store. An extension of heronpy's API."""
        raise ComponentError(
            f"{self.get_component_id()} keeps records of its run, which this engine does not store"
        )
