"""A simulated instance: the real core, and around it what its server.py and control.py do, call by
call: the main loop and the side thread."""

import logging
from collections import deque
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from heron_core.plans import TopologyState, packing_from_json
from heron_core.wire import messages
from heron_core.wire.frames import Frames, Kind, header, size_of, with_consumed
from heron_instance.control_thread import is_replaced
from heron_instance.input.bolt import BoltCore
from heron_instance.input.spout import SpoutCore
from heron_instance.runtime.environment import Environment
from heron_instance.runtime.factory import build
from sim.checkers import require
from sim.network import Channel

if TYPE_CHECKING:
    from sim.cluster import Cluster

LOCAL_MESSAGES_MAX = 16
"""heron_io.transport.LOCAL_HWM: an instance waits when so many messages are not taken."""
BEAT_SECS = 0.5

log = logging.getLogger("sim")
log.addHandler(logging.NullHandler())
log.propagate = False

Said = tuple[int, Any]
"""What an instance says travels with the number of the process that said it."""


class Instance:
    """One instance's process: heron_instance.server and .control around the real core."""

    def __init__(
        self,
        cluster: "Cluster",
        container: int,
        task: int,
        words: Channel[Said],
        data: Channel[Said],
    ) -> None:
        self.cluster = cluster
        self.container = container
        self.task = task
        self.incarnation = cluster.number()
        self.speed = 1.0
        self.words = words
        """To the stream manager: what predecessors said is in front."""
        self.data = data
        self.orders: Channel[Any] = cluster.control_channel()
        self.inbox: Channel[Frames] = Channel(cluster.clock, cluster.rng)
        self.epoch = 0
        self.addresses: Any = None
        self.active = False
        self.paused = False
        self.todo: deque[Callable[[], None]] = deque()
        self.told = False
        self._unreported = self._unreported_bytes = 0
        self._at_rest = False
        """A bolt that has reported all and got nothing since: there is nothing it could do."""
        environment = Environment(
            cluster.clock, Random(cluster.rng.random()), self._send, self._admit, log
        )
        self.packing = cluster.deployment.places[container]
        self.plan: Any = None
        self.taken = 0
        """Epoch of the plan that the main thread works by."""
        self.built = build(cluster.topology, self.packing, task, environment)
        self.core = self.built.core
        self._next_beat = 0.0
        self._say(self._hello())

    def _hello(self) -> messages.RegisterInstance:
        return messages.RegisterInstance(self.task, self.incarnation, 1)

    @property
    def may_send(self) -> bool:
        """Control.may_send."""
        return bool(self.epoch) and not self.paused

    def _send(self, frames: Frames) -> None:
        if frames[0][2] in (Kind.DATA, Kind.FANOUT):
            self.cluster.rules.emitted(self, frames)
        if self._unreported:
            frames[0] = with_consumed(frames[0], self._unreported)
            self._unreported = self._unreported_bytes = 0
        self.data.send((self.incarnation, frames))

    def _say(self, message: messages.FromInstance) -> None:
        self.words.send((self.incarnation, message))

    def _admit(self) -> None:
        require(self.may_send, f"task {self.task} emits while it is paused or has no plan")

    # --- side thread --------------------------------------------------------------------------

    def side(self) -> bool:
        """What the side thread does: beats, and answers at once."""
        found = False
        while self.orders.ready:
            found = True
            self._order(self.orders.take())
        if self.cluster.clock.now >= self._next_beat:
            self._next_beat = self.cluster.clock.now + BEAT_SECS
            self._say(self._beat())
        return found

    def _order(self, message: Any) -> None:
        match message:
            case messages.Plan(plan):
                known, self.addresses = self.addresses, plan["stream_managers"]
                replaced = known is not None and is_replaced(known, self.addresses)
                if replaced:
                    self.todo.append(self._trees_lost)
                self.plan = plan
                self.epoch = plan["epoch"]
                self.active = plan["state"] == TopologyState.RUNNING
                self.core.plan_changed(self.epoch, known is None or replaced)
                self.todo.append(self._take_plan)
            case messages.Pause(on):
                self.paused = on
            case messages.Resync():
                self._say(self._hello())
                self.todo.append(self._trees_lost)
            case messages.QuiescenceProbe(wave):
                counts = messages.QuiescenceReport(self.task, wave, *self.core.counts(), self.taken)
                self._say(self._beat())
                self._say(counts)
            case messages.FinishBolts():
                self.todo.append(self._finish_bolt)
            case _:
                raise AssertionError(message)

    def _beat(self) -> messages.InstanceHeartbeat:
        now = self.cluster.clock.now
        more = {"at": now, "incarnation": self.incarnation, "pid": 1, "user": {}}
        return messages.InstanceHeartbeat(self.task, {**self.core.statistics(), **more})

    def _take_plan(self) -> None:
        packing = packing_from_json(self.plan["packing"])
        if packing != self.packing:
            self.packing = packing
            self.built.repack(packing)
        self.taken = self.plan["epoch"]
        if isinstance(self.core, BoltCore):
            self.core.start(self.cluster.clock.now)
        elif isinstance(self.core, SpoutCore):
            self.core.set_active(self.active)

    def _trees_lost(self) -> None:
        if isinstance(self.core, SpoutCore):
            self.core.fail_all()

    def _finish_bolt(self) -> None:
        if isinstance(self.core, BoltCore):
            self.core.finish()
            self._say(messages.BoltFinished(self.task))

    # --- main thread --------------------------------------------------------------------------

    def turn(self) -> bool:
        """One round of the main loop; whether there was anything to do."""
        answered = self.side()
        if len(self.data) >= LOCAL_MESSAGES_MAX:
            return answered
        if isinstance(self.core, SpoutCore):
            return self._spout_turn(self.core) or answered
        assert isinstance(self.core, BoltCore)
        return self._bolt_turn(self.core) or answered

    def _run_todo(self) -> bool:
        found = bool(self.todo)
        while self.todo:
            self.todo.popleft()()
        return found

    def _spout_turn(self, core: SpoutCore) -> bool:
        found = self._run_todo()
        while self.inbox.ready:
            found = True
            core.deliver(self.inbox.take())
        if core.finished is not self.told:
            self.told = core.finished
            self._say(messages.SpoutFinished(self.task, core.finished))
        if not self.may_send or not core.may_emit:
            return found
        return core.turn(self.cluster.clock.now + 0.001) or found

    def _bolt_turn(self, core: BoltCore) -> bool:
        if not self.may_send:
            # Of the calls that wait some send; they would block in the middle, here they wait.
            core.outbox.flush_acks()
            return False
        found = self._run_todo()
        if not self.inbox.ready:
            if self._at_rest and not found:
                return False
            core.tick(self.cluster.clock.now)
            self._at_rest = not self._report_consumed()
            return found or not self._at_rest
        self._at_rest = False
        frames = self.inbox.take()
        core.deliver(frames)
        self._unreported += 1
        self._unreported_bytes += size_of(frames)
        if self._unreported_bytes >= self.cluster.manners.consumed_bytes:
            self._report_consumed()
        return True

    def _report_consumed(self) -> bool:
        before = len(self.data)
        self.core.flush()
        if self._unreported:
            self._send([header(Kind.CONSUMED, self.epoch, self.task, 0, 0)])
        return len(self.data) > before

    def died(self) -> None:
        """What had not left the process is gone."""
        self.data.lose_last()
        self.words.lose_last()
