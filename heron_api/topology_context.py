"""What a component can ask about the topology it runs in (heronpy.api.topology_context)."""

from typing import TYPE_CHECKING, Any

from heron_api.incarnation import Incarnation
from heron_core.errors import ComponentError

if TYPE_CHECKING:
    from heron_api.metrics import IMetric
    from heron_api.run_store import RunStore


class TopologyContext:
    """Given to `initialize`; the runtime's class implements every method."""

    def get_task_id(self) -> int:
        """The task id of this instance: a whole number from 1, unique in the topology."""
        raise NotImplementedError

    def get_component_id(self) -> str:
        """The name of the component that this instance belongs to."""
        raise NotImplementedError

    def get_cluster_config(self) -> dict[str, Any]:
        """The config as `initialize` got it."""
        raise NotImplementedError

    def get_topology_name(self) -> str:
        """The name of the topology."""
        raise NotImplementedError

    def register_metric(self, name: str, metric: "IMetric", time_bucket_in_sec: int) -> None:
        """Collect `metric` under `name` every `time_bucket_in_sec` seconds."""
        raise NotImplementedError

    def get_sources(self, component_id: str) -> dict[Any, Any] | None:
        """`{StreamId(id, component_name): grouping type}` of what a component reads, or None."""
        raise NotImplementedError

    def get_this_sources(self) -> dict[Any, Any] | None:
        """`get_sources` of this component."""
        raise NotImplementedError

    def get_component_tasks(self, component_id: str) -> list[int]:
        """The task ids of a component, sorted."""
        raise NotImplementedError

    def get_this_worker_tasks(self) -> list[int]:
        """The tasks in this task's container, its own among them (Storm: getThisWorkerTasks)."""
        raise NotImplementedError

    def add_task_hook(self, task_hook: Any) -> None:
        """Call `task_hook`, an ITaskHook, from now on; for use in `initialize`."""
        raise NotImplementedError

    def get_topology_pex_path(self) -> str:
        """Where the topology's code is, on the machine of this instance."""
        raise NotImplementedError

    def get_metrics_collector(self) -> Any:
        """The object that `global_metrics.init` takes."""
        raise NotImplementedError

    # Below: of Storm's TopologyContext; heronpy does not have them.

    def get_this_task_index(self) -> int:
        """Which of its component's instances this is: 0 for the one of the lowest task id."""
        return self.get_component_tasks(self.get_component_id()).index(self.get_task_id())

    def get_component_streams(self, component_id: str) -> list[str]:
        """The names of the streams that a component declares; empty for an unknown one."""
        raise NotImplementedError

    def get_this_streams(self) -> list[str]:
        """`get_component_streams` of this component."""
        return self.get_component_streams(self.get_component_id())

    def get_component_output_fields(
        self, component_id: str, stream_id: str = "default"
    ) -> list[str]:
        """The fields of a component's stream; ValueError if it has no such stream."""
        raise NotImplementedError

    def get_this_output_fields(self, stream_id: str = "default") -> list[str]:
        """`get_component_output_fields` of this component."""
        return self.get_component_output_fields(self.get_component_id(), stream_id)

    def get_targets(self, component_id: str) -> dict[str, dict[str, Any]]:
        """`{stream: {component that reads it: grouping type}}` of what a component emits; the types
        are those of `get_sources`."""
        raise NotImplementedError

    def get_this_targets(self) -> dict[str, dict[str, Any]]:
        """`get_targets` of this component."""
        return self.get_targets(self.get_component_id())

    def request_ticks(self, interval_secs: float) -> None:
        """Have a tick every `interval_secs` seconds, whatever the config says; for use in a bolt's
        `initialize`. heronpy does not have it: a context that knows nothing of it ignores it."""

    def get_incarnation(self) -> Incarnation:
        """Which process of its task this is, for components that write outside. heronpy does not
        have it; where it is not known there is one process only."""
        return Incarnation()

    def get_declared_types(self, component_id: str, stream_id: str) -> dict[str, str]:
        """The types of a stream's fields, as SQL writes them; empty if it declares none. heronpy
        does not have it."""
        return {}

    def get_run_store(self) -> "RunStore":
        """Named records of this run of the topology, for what has to survive a process at once;
        ComponentError on an engine without one. heronpy does not have it."""
        raise ComponentError(
            f"{self.get_component_id()} keeps records of its run, which this engine does not store"
        )
