"""The context of a running stage (heronpy.streamlet.impl.contextimpl)."""

from collections.abc import Callable
from typing import Any

from heron_api.state.state import State
from heron_api.topology_context import TopologyContext
from heronpy_compat.streamlet.context import Context
from heronpy_compat.streamlet.impl.streamletboltbase import OUTPUT_STREAM


class ContextImpl(Context):
    """Answers from the topology context; `emit_element` is the stage's own way to emit."""

    def __init__(
        self,
        top_context: TopologyContext,
        state: State | None,
        emit_element: Callable[[Any], None],
    ) -> None:
        self._top_context = top_context
        self._state = state
        self._emit_element = emit_element

    def get_task_id(self) -> int:
        """The task id of this partition."""
        return self._top_context.get_task_id()

    def get_config(self) -> dict[str, Any]:
        """The config of this stage."""
        return self._top_context.get_cluster_config()

    def get_stream_name(self) -> str:
        """The stream that is read, or emitted by a source."""
        sources = self._top_context.get_this_sources() or {}
        return next((str(each.id) for each in sources), OUTPUT_STREAM)

    def get_num_partitions(self) -> int:
        """How many partitions this stage has."""
        return len(self._tasks())

    def get_partition_index(self) -> int:
        """Which of them this is, from 0."""
        return self._tasks().index(self.get_task_id())

    def get_state(self) -> State | None:
        """The state of this partition."""
        return self._state

    def emit(self, values: Any) -> None:
        """Emit one element."""
        self._emit_element(values)

    def _tasks(self) -> list[int]:
        context = self._top_context
        return sorted(context.get_component_tasks(context.get_component_id()))
