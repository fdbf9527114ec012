"""The stream manager's decisions: `handle(event, now)` returns actions, and has no side effects.

The core has the ack trees of each local spout, a queue with a window for each local instance,
and a queue for each peer with a full socket. The module composes the parts and dispatches
events:

    peer_links      the numbers of messages from other stream managers; the numbering is in link
    data_plane      batches and packets of roots, by their header
    gates           aligned barriers, in a topology that takes checkpoints
    watermarks      event times, to all readers of the sending task
    flow_control    queues, causes of back-pressure, pauses; recorded in backpressure
    ack_results     notifications of spouts about their roots; the trees are in acks
    ages            how old the oldest message and the oldest root of each place is
    client_queries  questions of clients about keys of states here
    backups         states in memory, of instances of other containers
    control_plane   registration, heartbeats, probes; plan_update takes physical plans
    container_state the shared state

An invalid message is rejected as a whole and counted (`malformed`); any other exception is a bug
and propagates.
"""

from typing import Any, assert_never, get_args

from heron_core.errors import ONE_VERSION, ProtocolError
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_core.transition_log import TransitionLog
from heron_core.wire import messages
from heron_engine.stream_manager import events
from heron_engine.stream_manager.ack_results import AckResults
from heron_engine.stream_manager.backpressure import BackPressure
from heron_engine.stream_manager.client_queries import ClientQueries
from heron_engine.stream_manager.container_state import ContainerState
from heron_engine.stream_manager.control_plane import ControlPlane
from heron_engine.stream_manager.data_plane import DataPlane
from heron_engine.stream_manager.flow_control import FlowControl
from heron_engine.stream_manager.gates import Gates
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_engine.stream_manager.peer_links import PeerLinks
from heron_engine.stream_manager.watermarks import Watermarks

Out = list[events.Instruction]

MALFORMED_LOG_SECS = 60.0
"""Malformed messages are counted each, and logged once a minute."""
FROM_MASTER = get_args(messages.ToStreamManager)


class StreamManager:
    """State of one container's stream manager."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        identity: messages.RegisterStreamManager,
        options: StreamManagerOptions,
    ) -> None:
        self.state = ContainerState(topology, packing, identity, options)
        """To be read only, from outside of the core."""
        self._pressure = BackPressure(topology, packing, identity.container, options.backpressure)
        self._flow = FlowControl(self.state, self._pressure)
        self._results = AckResults(self.state)
        self._gates = Gates(self.state, self._flow) if options.checkpoints else None
        to_instance = (self._flow if self._gates is None else self._gates).to_instance
        self._watermarks = Watermarks(self.state, self._flow, to_instance)
        self._data = DataPlane(self.state, self._flow, self._results, self._gates, self._watermarks)
        self._queries = ClientQueries(self.state)
        self._control = ControlPlane(
            self.state, self._pressure, self._flow, self._data, self._results, self._gates,
            self._watermarks, self._queries, identity,
        )  # fmt: skip
        self._links = PeerLinks(self.state, self._flow, self._control.plans.peers_replaced)
        self._malformed_log_at = 0.0

    def handle(self, event: events.Event, now: float) -> Out:
        """What to do about `event`; `now` in seconds of any monotonic clock."""
        out: Out = []
        self.state.now = now
        try:
            if isinstance(event, events.FromInstance):
                if not self._is_superseded(event.task, event.incarnation, out):
                    self._data.from_instance(event, out)
            elif isinstance(event, events.InputTaken):
                self._results.send(out)
                self._flow.send(out)
                self._links.acknowledge(out)
                self._control.send(out)
            elif isinstance(event, events.FromPeer):
                if self._links.take(event.frames, out):
                    self._data.message(event.frames[1:], out)
            else:
                self._handle_control(event, out)
        except ProtocolError as error:
            self._malformed(str(error), out)
        self._flow.sweep(out)
        return out

    def _handle_control(self, event: events.ControlEvent, out: Out) -> None:
        match event:
            case events.FromInstanceControl(task, incarnation):
                is_superseded = self._is_superseded(task, incarnation, out)
                if not is_superseded and task not in self.state.previous:
                    self._control.from_instance(event, out)
            case events.FromMaster(message):
                self._from_master(message, out)
            case events.FromClient(client, message):
                self._from_client(client, message, out)
            case events.StreamManagerMalformed(reason):
                self._malformed(reason, out)
            case events.StreamManagerOtherEngine(task, incarnation, reason):
                refusal = messages.Superseded(reason)
                out.append(events.ToLocalControl(task, incarnation, refusal))
                out.append(events.StreamManagerLog(f"refused: {reason}"))
            case events.MasterConnected() | events.MasterReplaced() | events.ShellEnded():
                self._control.of_master(event, out)
            case events.PeerBlocked(container, number):
                self._flow.peer_blocked(container, number, out)
            case events.PeerWritable(container):
                self._flow.peer_writable(container, out)
            case events.StreamManagerTimer():
                self._results.rotate()
                self._flow.sweep_waiting()
                self._control.timer(out)
                self._queries.expire(out)
                self._links.probe(out)
            case _:
                assert_never(event)

    def _from_master(self, message: object, out: Out) -> None:
        if not isinstance(message, FROM_MASTER):
            raise ProtocolError(f"unexpected message of the topology master: {message!r:.100}")
        self._control.from_master(message, out)

    def _from_client(self, client: bytes, message: object, out: Out) -> None:
        match message:
            case messages.StateQuestion():
                self._queries.ask(client, message, out)
            case messages.StoreBackup() | messages.FetchBackup():
                out.append(events.ToClient(client, self._control.backups.answer(message)))
            case _:
                raise ProtocolError(f"unexpected message of a client: {message!r:.100}")

    def _is_superseded(self, task: int, incarnation: int, out: Out) -> bool:
        """Whether the message comes from a replaced process, which must end.

        ProtocolError for a task outside of the container.
        """
        queue = self.state.queues.get(task) or self.state.previous.get(task)
        if queue is None:
            raise ProtocolError(f"task {task} is not in this container")
        if incarnation not in queue.superseded:
            return False
        self.state.refuse(task, incarnation, out)
        return True

    def _malformed(self, reason: str, out: Out) -> None:
        self.state.counters["malformed"] += 1
        if self.state.now >= self._malformed_log_at:
            self._malformed_log_at = self.state.now + MALFORMED_LOG_SECS
            self.state.note("malformed", reason=reason)
            text = f"dropped a malformed message: {reason}: {ONE_VERSION}"
            out.append(events.StreamManagerLog(text))

    # --- questions ----------------------------------------------------------------------------

    @property
    def container(self) -> int:
        """Which container this is the stream manager of."""
        return self.state.container

    @property
    def epoch(self) -> int:
        """Of the physical plan; 0 before the first."""
        return self.state.epoch

    @property
    def forwarded(self) -> tuple[int, int]:
        """What was passed on since the process began: batches, and the tuples in them."""
        return self.state.counters["forwarded"], self.state.forwarded_tuples

    def blocked_peers(self) -> list[int]:
        """Peers whose socket is to be watched until it takes messages again."""
        return [container for container, queue in self.state.peers.items() if queue.blocked]

    def causes(self) -> set[int]:
        """The tasks that our queues name as causes of back-pressure."""
        return self._pressure.own()

    def is_paused(self, task: int) -> bool:
        """Whether back-pressure holds a local instance."""
        return self._pressure.is_paused(task)

    def heartbeat(self) -> messages.Heartbeat:
        """What the master hears regularly."""
        return self._control.heartbeat()

    def statistics(self) -> dict[str, Any]:
        """Counters and sizes as they are now."""
        return self._control.statistics()

    def transition_log(self) -> TransitionLog:
        """The newest control events; batches and heartbeats are not among them."""
        return self.state.transition_log

    def validate(self) -> None:
        """AssertionError unless everything that must hold between two events does."""
        self.state.validate()
        self._flow.validate()
        self._results.validate()
        self._control.validate()
        self._watermarks.validate()
        self._queries.validate()
        self._control.backups.validate()
        if self._gates is not None:
            self._gates.validate()
