"""Watermarks: forwarded to all readers of the sending task, in order with the data.

Watermarks are not aligned here: an instance combines its sources. The newest watermark of each
task is retained for replaced instances. A retained watermark may be old; a watermark makes no
statement about earlier tuples, so a late watermark does no harm.
"""

from collections.abc import Callable

from heron_core.wire.frames import Frames, Header, header_of
from heron_core.wire.packets import encode_watermark, watermark_of
from heron_engine.stream_manager import events
from heron_engine.stream_manager.container_state import ContainerState
from heron_engine.stream_manager.flow_control import FlowControl

Out = list[events.Instruction]
ToInstance = Callable[[int, Frames, Out], bool]


class Watermarks:
    """The ways of watermarks, and the newest one of each task that has sent any."""

    def __init__(
        self,
        state: ContainerState,
        flow: FlowControl,
        to_instance: ToInstance,
    ) -> None:
        """`to_instance`: the way to an instance here, through its gate if there is one."""
        self._state = state
        self._flow = flow
        self._to_instance = to_instance
        self._readers = self._who_reads()
        self._newest: dict[int, Frames] = {}

    def take(self, head: Header, frames: Frames, out: Out) -> None:
        """A local instance's watermark goes to all readers; a remote watermark to local readers."""
        state, source = self._state, head.source
        if source not in state.packing.instances:
            state.counters["unroutable"] += 1  # it was scaled away
            return
        self._newest[source] = frames
        if state.container_of(source) == state.container:
            for container in sorted(self._containers_of_readers(source) - {state.container}):
                passed_on = encode_watermark(head.epoch, source, container, watermark_of(frames))
                self._flow.to_peer(container, 0, passed_on, out)
        for task in sorted(state.queues):
            if self._reads(task, source):
                self._to_instance(task, frames, out)

    def instance_replaced(self, task: int, out: Out) -> None:
        """A new process serves a local task: send the latest watermarks of its sources. The
        predecessor's own watermark is not valid for the new process."""
        self._newest.pop(task, None)
        instances = self._state.packing.instances
        for source, frames in sorted(self._newest.items()):
            is_valid = header_of(frames).epoch >= self._state.fence
            if is_valid and source in instances and self._reads(task, source):
                self._to_instance(task, frames, out)

    def packing_applied(self) -> None:
        """The topology was scaled."""
        self._readers = self._who_reads()
        instances = self._state.packing.instances
        self._newest = {task: each for task, each in self._newest.items() if task in instances}

    def _who_reads(self) -> dict[str, set[str]]:
        topology = self._state.topology
        return {each.name: topology.readers_of(each.name) for each in topology.components}

    def _containers_of_readers(self, source: int) -> set[int]:
        packing = self._state.packing
        readers = self._readers[packing.instances[source].component]
        return {packing.container_of[task] for each in readers for task in packing.tasks_of[each]}

    def _reads(self, task: int, source: int) -> bool:
        instances = self._state.packing.instances
        return instances[task].component in self._readers[instances[source].component]

    def validate(self) -> None:
        """AssertionError unless what is remembered is of instances of the plan."""
        assert self._newest.keys() <= self._state.packing.instances.keys()
