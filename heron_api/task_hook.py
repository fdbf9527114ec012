"""Hooks around what a task does (heronpy.api.task_hook).

Class paths in the config `topology.auto.task.hooks`, or `context.add_task_hook` in `initialize`.
Latencies are in milliseconds.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from heron_api.java_names import CalledByEngine

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext


class EmitInfo(NamedTuple):
    """An emit, as given to `ITaskHook.emit`.

    Example:

        class Emits(ITaskHook):
            def emit(self, emit_info):
                print(emit_info.stream_id, emit_info.values, "to", emit_info.out_tasks)
    """

    values: Any
    stream_id: str
    task_id: int
    out_tasks: list[int] | None


class SpoutAckInfo(NamedTuple):
    """A completely processed tuple of a spout; latency in milliseconds.

    Example:

        class Latencies(ITaskHook):
            def spout_ack(self, spout_ack_info):
                print(spout_ack_info.message_id, spout_ack_info.complete_latency_ms)
    """

    message_id: Any
    spout_task_id: int
    complete_latency_ms: float


class SpoutFailInfo(NamedTuple):
    """A failed tuple of a spout; latency in milliseconds.

    Example:

        class Failures(ITaskHook):
            def spout_fail(self, spout_fail_info):
                print(spout_fail_info.message_id, spout_fail_info.fail_latency_ms)
    """

    message_id: Any
    spout_task_id: int
    fail_latency_ms: float


class BoltExecuteInfo(NamedTuple):
    """A call of a bolt's `process`; duration in milliseconds.

    Example:

        class Slow(ITaskHook):
            def bolt_execute(self, bolt_execute_info):
                if bolt_execute_info.execute_latency_ms > 100:
                    print(bolt_execute_info.heron_tuple.values)
    """

    heron_tuple: Any
    executing_task_id: int
    execute_latency_ms: float


class BoltAckInfo(NamedTuple):
    """A tuple acked by a bolt; milliseconds since the creation of the tuple.

    Example:

        class Acks(ITaskHook):
            def bolt_ack(self, bolt_ack_info):
                print(bolt_ack_info.acking_task_id, bolt_ack_info.process_latency_ms)
    """

    heron_tuple: Any
    acking_task_id: int
    process_latency_ms: float


class BoltFailInfo(NamedTuple):
    """A tuple failed by a bolt; milliseconds since the creation of the tuple.

    Example:

        class Failures(ITaskHook):
            def bolt_fail(self, bolt_fail_info):
                print(bolt_fail_info.failing_task_id, bolt_fail_info.heron_tuple.values)
    """

    heron_tuple: Any
    failing_task_id: int
    fail_latency_ms: float


class ITaskHook(CalledByEngine):
    """Override what you want to see; every method does nothing by default.

    Example:

        class SlowCalls(ITaskHook):
            def bolt_execute(self, bolt_execute_info):
                if bolt_execute_info.execute_latency_ms > 100:
                    print("slow:", bolt_execute_info.heron_tuple.values)

        config = {"topology.auto.task.hooks": ["hooks.SlowCalls"]}
    """

    def prepare(self, conf: dict[str, Any], context: "TopologyContext") -> None:
        """Called after the component's `initialize`."""

    def clean_up(self) -> None:
        """Called when the instance ends."""

    def emit(self, emit_info: EmitInfo) -> None:
        """Called for each emitted tuple."""

    def spout_ack(self, spout_ack_info: SpoutAckInfo) -> None:
        """Called when a spout's tuple is completely processed."""

    def spout_fail(self, spout_fail_info: SpoutFailInfo) -> None:
        """Called when a spout's tuple failed or timed out."""

    def bolt_execute(self, bolt_execute_info: BoltExecuteInfo) -> None:
        """Called after a bolt's `process` returned."""

    def bolt_ack(self, bolt_ack_info: BoltAckInfo) -> None:
        """Called when a bolt acks a tuple."""

    def bolt_fail(self, bolt_fail_info: BoltFailInfo) -> None:
        """Called when a bolt fails a tuple."""
