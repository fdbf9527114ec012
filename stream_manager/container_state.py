"""Who is where: queues and trees of the instances here, queues towards the other containers.

All of it follows from the packing plan, and changes in place when the topology is scaled: what
stays keeps its queue, its trees and its connection.
"""

from dataclasses import dataclass

from heron_core.plans import MASTER_CONTAINER, InstancePlan, PackingPlan
from heron_core.topology import TopologySpec
from heron_core.wire.frames import Frames
from stream_manager.acks import Trees
from stream_manager.options import Options
from stream_manager.peers import Peers
from stream_manager.queues import InstanceQueue


@dataclass(frozen=True, slots=True)
class Change:
    """What a new packing plan means here."""

    removed: frozenset[int]
    """Tasks that were served here and are not any more."""
    lost: list[Frames]
    """Messages that were on their way to them, or to containers that are gone."""
    new_peers: frozenset[int]
    lifted: frozenset[int]
    """Tasks that the queues to containers that are gone had named as causes."""


class Places:
    """The instances of one container, and the way to all others."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, container: int, options: Options
    ) -> None:
        self._topology = topology
        self._container = container
        self._options = options
        self.packing = packing
        self.queues: dict[int, InstanceQueue] = {}
        self.trees: dict[int, Trees] = {}
        """Of the spouts here."""
        self.former: dict[int, InstanceQueue] = {}
        """Tasks that were here before the topology was scaled: they end, and may say last words."""
        self.peers = Peers(self._others(packing), options)
        for each in packing.container(container).instances:
            self._take_in(each)

    def container_of(self, task: int) -> int | None:
        """Where a task is; None if there is no such task."""
        return self.packing.container_of.get(task)

    def _others(self, packing: PackingPlan) -> set[int]:
        return {each.id for each in packing.containers} - {self._container, MASTER_CONTAINER}

    def _take_in(self, instance: InstancePlan) -> None:
        task = instance.task
        self.former.pop(task, None)
        self.queues[task] = InstanceQueue(self._options.window_bytes)
        if self._topology.by_name[instance.component].is_spout:
            self.trees[task] = Trees(self._options.expiry_buckets)

    def repack(self, packing: PackingPlan) -> Change:
        """The plan is `packing` from now on, which has our container."""
        self.packing = packing
        local = {each.task: each for each in packing.container(self._container).instances}
        before = set(self.peers)
        gone = self.peers.become(self._others(packing))
        lost = [frames for queue in gone.values() for _, frames in queue.waiting]
        removed = frozenset(self.queues.keys() - local.keys())
        for task in removed:
            queue = self.former[task] = self.queues.pop(task)
            self.trees.pop(task, None)
            lost += [*queue.handed, *queue.waiting]
        for task, instance in local.items():
            if task not in self.queues:
                self._take_in(instance)
        lifted = frozenset(task for queue in gone.values() for task in queue.causes)
        return Change(removed, lost, frozenset(self.peers.keys() - before), lifted)
