"""Queueing of messages, and the consequences when a queue passes one of its marks.

Above its high-water mark (in time, tuples or bytes) an instance's queue names the instance's
task as a cause of back-pressure; above its mark in bytes a peer queue names all tasks with
queued messages. All peers are notified, in order with the data, and local instances that send to
a cause pause. At its low-water mark the queue lifts its causes.
"""

from collections.abc import Set

from heron_core.config import DROP
from heron_core.wire.frames import Frames
from heron_core.wire.merged import merge
from heron_core.wire.messages import BackPressureCause, Pause
from heron_core.wire.packets import encode_control
from heron_engine.stream_manager import events
from heron_engine.stream_manager.backpressure import BackPressure, QueueOrigin
from heron_engine.stream_manager.container_state import ContainerState, PackingChange
from heron_engine.stream_manager.queues import InstanceQueue

Out = list[events.Instruction]

LOW_SHARE = 0.5
"""Fraction of the target and of the mark in tuples: the reserve for an instance while its
senders resume."""


class FlowControl:
    """The way of a message to a local instance or to a peer."""

    def __init__(self, state: ContainerState, pressure: BackPressure) -> None:
        self._state = state
        self._pressure = pressure
        self._high_bytes = state.options.high_water_bytes
        self._low_bytes = state.options.low_water_bytes
        self._high_secs = state.options.target_secs
        self._high_tuples = state.options.high_water_tuples
        self._low_secs = state.options.target_secs * LOW_SHARE
        self._drops = state.options.backpressure == DROP
        self._peers_to_send: set[int] = set()
        """Containers whose queue is not blocked, and got something since `send`."""

    # --- local instances ----------------------------------------------------------------------

    def to_instance(self, task: int, frames: Frames, out: Out) -> bool:
        """Queue a batch for delivery; False if the queue is too long and back-pressure drops."""
        queue = self._state.queues[task]
        if self._drops and queue.waiting_bytes > self._high_bytes:
            return False
        queue.offer(frames)
        return True

    def sweep(self, out: Out) -> None:
        """After an event: process queues with enough input for a delivery, and peer queues with new
        messages."""
        due, touched = self._state.due_tasks, self._state.touched_peers
        while due:
            self.hand_over(due.pop(), out)
        while touched:
            self._peer_has_more(touched.pop(), out)

    def consumed(self, task: int, messages_processed: int, busy_secs: float) -> None:
        """An instance has processed its oldest messages, in the reported time."""
        now = self._state.now
        paused_secs = self._pressure.paused_secs(task, now)
        queue = self._state.queues[task]
        queue.processed(messages_processed, busy_secs, now, paused_secs)
        self._state.touched_tasks.add(task)

    def sweep_waiting(self) -> None:
        """Recheck queues after a pause: a queue may exceed its time limit without new input."""
        queues = self._state.queues
        self._state.touched_tasks.update(task for task in queues if queues[task].waiting)

    def drop_fenced(self) -> None:
        """Drop queued messages of earlier epochs after a restore: the instance would ignore them,
        but would first receive them as many small messages."""
        for task, queue in self._state.queues.items():
            self._state.counters["fenced"] += queue.drop_before(self._state.fence)
            self._state.touched_tasks.add(task)

    def hand_over(self, task: int, out: Out) -> None:
        """Deliver within the window; the queue may become a cause, or stop being one."""
        queue = self._state.queues.get(task)
        if queue is None:
            return  # removed by a rescale
        while messages := queue.take(self._state.now):
            out.append(events.ToLocal(task, queue.incarnation or 0, merge(messages)))
        queue.set_limits(self._state.pressure_limits, self._state.now)
        # A busy instance receives more when it reports, or when the queue amounts to a message:
        # until then new input is not inspected.
        queue.waiting.is_watched = queue.is_open
        here = self._state.container
        if self._is_long(queue):
            self._name(here, {task}, out)
        elif task in self._pressure.named_by(here) and self._is_short(queue):
            self._lift(here, {task}, out)

    def overtake(self, task: int, barrier: Frames, out: Out) -> bool:
        """Deliver a barrier together with all messages ahead of it; False if the instance has
        already processed the barrier, or has no other input ahead."""
        queue = self._state.queues[task]
        is_next = not queue.handed and bool(queue.waiting) and queue.waiting[0] is barrier
        if is_next or not queue.is_pending(barrier):
            return False
        while messages := queue.take_through(barrier, self._state.now):
            out.append(events.ToLocal(task, queue.incarnation or 0, merge(messages)))
        self.hand_over(task, out)
        return True

    def _is_long(self, queue: InstanceQueue) -> bool:
        """Whether the senders must pause; a spout's queue has no senders."""
        return bool(queue.is_fed and (queue.waiting or queue.beyond_bytes)) and (
            queue.queued_bytes > self._high_bytes
            or queue.queued_work > self._high_tuples
            or queue.is_too_much_for_a_start
            or queue.pending_secs(self._state.now) > self._high_secs
        )

    def _is_short(self, queue: InstanceQueue) -> bool:
        has_capacity = (
            queue.queued_bytes <= self._low_bytes
            and queue.queued_work <= LOW_SHARE * self._high_tuples
        )
        return has_capacity and (
            not queue.pending_tuples
            or (
                not queue.is_too_much_for_a_start
                and queue.pending_secs(self._state.now) <= self._low_secs
            )
        )

    def send(self, out: Out) -> None:
        """Send the collected messages to each receiver, unless the receiver is busy."""
        touched = self._state.touched_tasks
        while touched:
            self.hand_over(touched.pop(), out)
        self.sweep(out)
        # Causes that are named or lifted above are for the peers, so these come last.
        while self._peers_to_send:
            container = self._peers_to_send.pop()
            if container in self._state.peers:
                self._send_to_peer(container, out)
            self.sweep(out)

    # --- peers --------------------------------------------------------------------------------

    def to_peer(self, container: int, destination: int, frames: Frames, out: Out) -> bool:
        """Send, or queue behind earlier messages; False if the queue is too long and
        back-pressure drops.

        `destination`: a task of the message; 0 for roots and causes, which are never dropped.
        """
        queue = self._state.peers[container]
        is_blocked = queue.blocked or not queue.outgoing.has_capacity
        is_too_much = is_blocked and queue.waiting_bytes > self._high_bytes
        if self._drops and destination and is_too_much:
            return False
        queue.put(destination, frames)
        return True

    def _peer_has_more(self, container: int, out: Out) -> None:
        """New messages for a peer: sent now if they fill a message, else later."""
        queue = self._state.peers.get(container)
        if queue is None:
            return  # removed by a rescale
        fresh = queue.take_fresh()
        is_blocked = queue.blocked or not queue.outgoing.has_capacity
        if not is_blocked and queue.is_full_message:
            self._send_to_peer(container, out)
        elif queue.is_ready:
            self._peers_to_send.add(container)
        if is_blocked or self._pressure.named_by(container):
            self._check_peer(container, fresh, out)

    def _send_to_peer(self, container: int, out: Out) -> None:
        queue, state = self._state.peers[container], self._state
        while not queue.blocked and (message := queue.take(state.now)):
            out.append(state.to_peer(container, message))
        if self._pressure.named_by(container):
            self._check_peer(container, set(), out)

    def peer_blocked(self, container: int, number: int, out: Out) -> None:
        """A peer's socket is full: the numbered message is repeated once the socket is writable."""
        if container not in self._state.peers:
            return
        queue = self._state.peers[container]
        queue.refused(number)
        self._state.incoming_of(container).refused(self._state.now)
        self._check_peer(container, queue.destinations(), out)

    def peer_writable(self, container: int, out: Out) -> None:
        """A peer's socket takes messages again."""
        if container in self._state.peers:
            state = self._state
            burst = state.peers[container].burst(state.now)
            out.extend(state.to_peer(container, message) for message in burst)
            self._check_peer(container, set(), out)

    def peer_acknowledged(self, container: int, is_rewound: bool, out: Out) -> None:
        """A peer has acknowledged messages: send queued messages, or repeat lost ones. They are
        merged into the next output."""
        queue = self._state.peers[container]
        if queue.is_ready:
            self._peers_to_send.add(container)
        self._check_peer(container, queue.destinations() if is_rewound else set(), out)

    def _check_peer(self, container: int, newest: Set[int], out: Out) -> None:
        """After a change of a queue. Above its mark the queue names all tasks with queued
        messages; until the low-water mark, `newest` (tasks of added messages) are added."""
        queue = self._state.peers[container]
        named = self._pressure.named_by(container)
        if named and queue.waiting_bytes <= self._low_bytes:
            self._lift(container, set(named), out)
        elif named:
            self._name(container, newest - {0}, out)
        elif queue.waiting_bytes > self._high_bytes:
            self._name(container, queue.destinations(), out)

    # --- causes -------------------------------------------------------------------------------

    def _name(self, queue: int, tasks: Set[int], out: Out) -> None:
        """Name tasks as causes: the queue to a container, or the queues of local instances, are too
        full."""
        instances = self._state.packing.instances
        fresh = {task for task in tasks if task in instances} - self._pressure.named_by(queue)
        if not fresh:
            return
        before = self._pressure.own()
        origin = QueueOrigin(self._state.container, queue)
        self._pause(self._pressure.on(origin, fresh, self._state.now), True, out)
        self._notify_peers(fresh - before, True, out)

    def _lift(self, queue: int, tasks: Set[int], out: Out) -> None:
        """Lift causes of a queue with capacity. Peers are not notified while another queue names
        the task."""
        origin = QueueOrigin(self._state.container, queue)
        self._pause(self._pressure.off(origin, tasks, self._state.now), False, out)
        self._notify_peers(tasks - self._pressure.own(), False, out)

    def _pause(self, tasks: list[int], on: bool, out: Out) -> None:
        for task in tasks:
            if task in self._state.queues:
                self._state.send_control(task, Pause(on), out)

    def _notify_peers(self, causes: Set[int], on: bool, out: Out) -> None:
        for task in sorted(causes):
            self._state.note("cause" if on else "cause lifted", task=task)
            for container in self._state.peers:
                # Notifications may themselves fill a queue and change the causes: newer
                # notifications have then been sent to all.
                if (task in self._pressure.own()) is on:
                    self._notify_peer(container, task, on, out)

    def _notify_peer(self, container: int, task: int, on: bool, out: Out) -> None:
        here = self._state.container
        cause = BackPressureCause(task, on)
        self.to_peer(container, 0, encode_control(self._state.epoch, here, task, cause), out)

    def notify_of_all(self, container: int, out: Out) -> None:
        """Notify a new peer of all local causes."""
        for task in sorted(self._pressure.own()):
            self._notify_peer(container, task, True, out)

    def peer_cause(self, announcer: int, cause: BackPressureCause, out: Out) -> None:
        """Another stream manager names or lifts a cause."""
        change = self._pressure.on if cause.on else self._pressure.off
        self._state.note(f"cause {'named' if cause.on else 'lifted'} elsewhere",
                         task=cause.task, container=announcer)  # fmt: skip
        self._pause(change(QueueOrigin(announcer), {cause.task}, self._state.now), cause.on, out)

    def peer_replaced(self, container: int, out: Out) -> None:
        """A new stream manager at a peer: drop its predecessor's causes, and send the local
        causes."""
        self._pause(self._pressure.forget(container, self._state.now), False, out)
        self._check_peer(container, set(), out)  # its link has restarted
        self.notify_of_all(container, out)

    def apply_packing(self, change: PackingChange, out: Out) -> None:
        """After a rescale (applied by container_state): lift moved causes, resume instances,
        notify new peers of current causes."""
        for container in sorted(change.gone_peers):
            self._lift(container, set(self._pressure.named_by(container)), out)
        here = self._state.container
        self._lift(here, change.removed & self._pressure.named_by(here), out)
        released = self._pressure.apply_packing(self._state.packing, self._state.now)
        self._pause(released, False, out)
        for container in sorted(change.new_peers):
            self.notify_of_all(container, out)

    def validate(self) -> None:
        """AssertionError unless causes follow from the queues, and pauses from the causes."""
        self._pressure.validate(self._state.now, {self._state.container, *self._state.peers})
        local = self._pressure.named_by(self._state.container)
        assert local <= self._state.queues.keys()
        for task, queue in self._state.queues.items():
            named = task in local
            unsent = task in self._state.touched_tasks
            assert not named or unsent or not self._is_short(queue), f"{task} is not a cause"
            if queue.is_fed and not self._drops:
                has_capacity = (
                    queue.queued_bytes <= self._high_bytes
                    and queue.queued_work <= self._high_tuples
                )
                assert named or unsent or has_capacity, f"{task} is a cause"
            assert unsent or not queue.is_ready, f"a message for {task} has no reason to wait"
            is_watched = queue.waiting.is_watched
            assert unsent or is_watched or not queue.is_open, f"{task} would wait without a reason"
        for container, peer in self._state.peers.items():
            unsent = container in self._peers_to_send
            assert unsent or not peer.is_ready, f"{container} waits without a reason"
            named_there = self._pressure.named_by(container)
            assert not named_there or peer.waiting_bytes > self._low_bytes
            if named_there or (peer.blocked and peer.waiting_bytes > self._high_bytes):
                waiting = peer.destinations() & self._state.packing.instances.keys()
                assert waiting <= named_there, f"{waiting - named_there} wait unnamed"
