"""What a new physical plan changes: the fence, replaced peers, and where instances are."""

from heron_core.errors import ProtocolError
from heron_core.plans import PackingPlan, PhysicalPlan, physical_from_json
from heron_core.wire.frames import Frames
from heron_core.wire.messages import Json, Plan
from heron_engine.stream_manager import events
from heron_engine.stream_manager.ack_results import AckResults
from heron_engine.stream_manager.container_state import ContainerState, PackingChange
from heron_engine.stream_manager.data_plane import DataPlane
from heron_engine.stream_manager.flow_control import FlowControl
from heron_engine.stream_manager.gates import Gates

Out = list[events.Instruction]
NOTHING_REMOVED: frozenset[int] = frozenset()


class PlanUpdate:
    """Holds the physical plan and takes newer ones."""

    def __init__(
        self,
        state: ContainerState,
        data: DataPlane,
        flow: FlowControl,
        results: AckResults,
        gates: Gates | None,
    ) -> None:
        self._state = state
        self._data = data
        self._flow = flow
        self._results = results
        self._gates = gates
        self.plan: PhysicalPlan | None = None
        self.message = Plan({})
        """The plan as it came, for the instances."""

    def take(self, data: Json, out: Out) -> frozenset[int]:
        """A plan of the master's; returns the tasks that are not served here any more.

        ProtocolError if it does not fit the topology; one older than ours changes nothing.
        """
        plan = physical_from_json(data)
        self._check(plan)
        state = self._state
        if plan.epoch < state.epoch:
            return NOTHING_REMOVED
        before = self.plan
        self.plan, self.message, state.epoch = plan, Plan(data), plan.epoch
        state.note("plan", epoch=plan.epoch, state=plan.state)
        removed = NOTHING_REMOVED
        if plan.packing != state.packing:
            removed = self._apply_packing(plan.packing, out)
        peers = {container: plan.stream_managers[container] for container in state.peers}
        out.append(events.ConnectPeers(peers))
        replaced = [each for each in peers if _is_replaced(each, before, plan)]
        if replaced or before is None:
            state.fence = plan.epoch
        if before is None:
            for queue in state.peers.values():
                queue.outgoing.generation = plan.epoch
        self._drop_earlier_epoch(before, plan)
        self.peers_replaced(replaced, out)
        for task in state.queues:
            state.send_control(task, self.message, out)
        return removed

    def _drop_earlier_epoch(self, before: PhysicalPlan | None, plan: PhysicalPlan) -> None:
        """A topology with checkpoints enters a new epoch only after a restore: earlier messages
        are void."""
        if self._gates is not None and (before is None or before.epoch < plan.epoch):
            self._state.fence = plan.epoch
            self._gates.reset()
            self._flow.drop_fenced()

    def _check(self, plan: PhysicalPlan) -> None:
        containers = {each.id for each in plan.packing.containers}
        if not plan.stream_managers.keys() >= containers or self._state.container not in containers:
            raise ProtocolError("a physical plan without some of the stream managers")
        components = self._state.topology_of(plan.packing).by_name
        if plan.packing.tasks_of.keys() != components.keys():
            raise ProtocolError("a physical plan with other components than the topology's")
        if (plan.restore is None) is not (self._gates is None):
            raise ProtocolError("a physical plan of a topology with another reliability mode")

    def peers_replaced(self, containers: list[int], out: Out) -> None:
        """Peers died with unknown tuples and acks: all trees of local spouts may be incomplete,
        so the trees fail now and are replayed, before the message timeout. The links restart, and
        unacknowledged messages are not lost without a trace, unless a restore fences them: a
        successor may have had the plan, and new roots, before this process."""
        kept = {container: self._restarted(container) for container in containers}
        if self._gates is None:
            for container, messages in kept.items():
                self._data.link_restarted(container, messages, out)
        if containers:
            self._results.fail_all()
        for container in containers:
            self._flow.peer_replaced(container, out)

    def _restarted(self, container: int) -> list[Frames]:
        """The unacknowledged messages of a link, which starts again."""
        self._state.note("peer replaced", container=container)
        kept = self._state.peers[container].restart(self._state.epoch)
        return [frames for _, frames in kept]

    def _apply_packing(self, packing: PackingPlan, out: Out) -> frozenset[int]:
        """Apply a rescale: instances and peers are added and removed, the rest is unaffected.

        Usually nothing is in flight now. After a drain timeout, remaining tuples fail and are
        replayed.
        """
        change: PackingChange = self._state.apply_packing(packing)
        self._state.note("packing", removed=len(change.removed), new_peers=len(change.new_peers))
        for task in change.removed:
            self._results.forget(task)
        self._flow.apply_packing(change, out)
        if self._gates is None:
            self._data.lost(change.lost, out)
        else:
            self._gates.apply_packing()  # the topology is restored without loss
        out.append(events.ApplyPacking(packing))
        return change.removed

    def validate(self) -> None:
        """AssertionError unless plan, epoch and packing belong together."""
        if self.plan is None:
            assert self._state.epoch == 0
        else:
            assert self.plan.epoch == self._state.epoch
            assert self.plan.packing == self._state.packing


def _is_replaced(container: int, before: PhysicalPlan | None, plan: PhysicalPlan) -> bool:
    """Whether another stream manager serves a container now."""
    address = plan.stream_managers[container]
    return before is not None and before.stream_managers.get(container, address) != address
