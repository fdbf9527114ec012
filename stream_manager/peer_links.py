"""Links to other stream managers: received messages and elapsed time.

The numbering is in link, the queues in front of it are in peer_queue.
"""

from collections.abc import Callable

from heron_core.wire.frames import Frames, size_of
from heron_core.wire.links import REFUSED, LinkHeader, parse_link
from heron_engine.stream_manager import events
from heron_engine.stream_manager.container_state import ContainerState
from heron_engine.stream_manager.flow_control import FlowControl
from heron_engine.stream_manager.link import NEXT, SUPERSEDED, Arrival

Out = list[events.Instruction]
Replaced = Callable[[list[int], Out], None]
COUNTED = {
    Arrival.REPEATED: "repeated",
    Arrival.GAP: "gaps",
    Arrival.SUPERSEDED: "superseded",
}
"""Dropped messages, with their counters."""


class PeerLinks:
    """The links to all other stream managers."""

    def __init__(self, state: ContainerState, flow: FlowControl, replaced: Replaced) -> None:
        """`replaced`: handler of containers with a new stream manager."""
        self._state = state
        self._flow = flow
        self._replaced = replaced

    def take(self, frames: Frames, out: Out) -> bool:
        """Whether to process the content of a message after its link frame.

        ProtocolError for a message without a valid link frame.
        """
        state, head = self._state, parse_link(frames)
        incoming = state.incoming_of(head.container)
        arrival = incoming.take(head, size_of(frames), state.now)
        if arrival in COUNTED:
            state.counters[COUNTED[arrival]] += 1
        if arrival is not SUPERSEDED and head.acked_sender == state.incarnation:
            self._acknowledged(head, out)
        return arrival is NEXT

    def _acknowledged(self, head: LinkHeader, out: Out) -> None:
        state = self._state
        queue = state.peers.get(head.container)
        if queue is None or head.acked_generation != queue.outgoing.generation:
            return
        outgoing = queue.outgoing
        is_refused = bool(head.flags & REFUSED)
        # A successor at the address of its predecessor: the plan does not show the replacement.
        if outgoing.peer not in (0, head.sender) or (
            is_refused and state.epoch > outgoing.generation
        ):
            self._replaced([head.container], out)
        elif not is_refused:
            if again := outgoing.acknowledged(head, state.now):
                self._sent_again(head.container, again, out)
            self._flow.peer_acknowledged(head.container, bool(again), out)

    def _sent_again(self, container: int, messages: int, out: Out) -> None:
        self._state.counters["resent"] += messages
        self._state.note("link resent", container=container, messages=messages)
        text = (
            f"the connection to stream manager {container} lost messages: {messages} are sent again"
        )
        out.append(events.StreamManagerLog(text))

    def acknowledge(self, out: Out) -> None:
        """Acknowledge messages without a reply in time, by a link frame alone."""
        state = self._state
        for container, incoming in state.incoming.items():
            peer = state.peers.get(container)
            if peer is not None and not peer.blocked and incoming.is_due(state.now):
                out.append(state.to_peer(container, None))

    def probe(self, out: Out) -> None:
        """Ask the peers whose acknowledgements are overdue."""
        state = self._state
        for container, peer in state.peers.items():
            if not peer.blocked and (number := peer.outgoing.probe(state.now)):
                out.append(state.to_peer(container, None, number))
