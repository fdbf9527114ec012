"""Hooks around what a task does (heronpy.api.task_hook).

Class paths in the config `topology.auto.task.hooks`, or `context.add_task_hook` in `initialize`.
Latencies are in milliseconds.
"""

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from heron_api.java_names import CalledByEngine

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

EmitInfo = namedtuple("EmitInfo", "values stream_id task_id out_tasks")
SpoutAckInfo = namedtuple("SpoutAckInfo", "message_id spout_task_id complete_latency_ms")
SpoutFailInfo = namedtuple("SpoutFailInfo", "message_id spout_task_id fail_latency_ms")
BoltExecuteInfo = namedtuple("BoltExecuteInfo", "heron_tuple executing_task_id execute_latency_ms")
BoltAckInfo = namedtuple("BoltAckInfo", "heron_tuple acking_task_id process_latency_ms")
BoltFailInfo = namedtuple("BoltFailInfo", "heron_tuple failing_task_id fail_latency_ms")


class ITaskHook(CalledByEngine):
    """Override what you want to see; every method does nothing by default.

    Example:

        class SlowCalls(ITaskHook):
            def bolt_execute(self, bolt_execute_info):
                if bolt_execute_info.execute_latency_ms > 100:
                    print("slow:", bolt_execute_info.heron_tuple.values)

        class Orders(Topology):
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
