"""The instance's process: the main thread runs user code and alone touches the data socket.

A side thread (control.py) beats the heart and answers the stream manager meanwhile.
"""

import logging
import os
import random
import signal
import time
from dataclasses import dataclass
from typing import Any

import zmq

from heron_core.errors import ProtocolError
from heron_core.plans import PackingPlan, packing_from_json
from heron_core.topology import TopologySpec
from heron_core.wire import messages
from heron_core.wire.frames import Frames, Kind, header, size_of, with_consumed
from heron_instance.control_thread import Control, SideThread
from heron_instance.input.bolt import BoltCore
from heron_instance.input.spout import SpoutCore
from heron_instance.runtime.context import UserMetrics
from heron_instance.runtime.environment import Environment
from heron_instance.runtime.factory import build, incarnation_number
from heron_instance.runtime.watchdog import Stuck, main_thread_stack
from heron_io.processes import SupervisorLink, start_heartbeat_thread
from heron_io.transport import CONTROL, DATA, connect_local, identity

log = logging.getLogger("heron_instance")

CONSUMED_BYTES = 256 * 1024
"""Processed batches are reported when they amount to this, or when there is nothing else to do: a
quarter of the window, so the stream manager always has room to send more."""
IDLE_MS = (1, 1, 1, 2, 2, 4, 8, 10)
"""How long a spout that emits nothing is left alone (Storm's SleepSpoutWaitStrategy: 1 ms); a
source that stays silent is asked a hundred times a second."""
LOOK_UP_MS = 1000
"""A wait without anything due ends after this anyway."""
CLOSE_LINGER_MS = 1000
"""How long the last messages of a process that ends may take to leave it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an instance runs."""

    task: int
    socket_path: str


class Server:
    """The process around one component; it implements control.Main."""

    def __init__(self, topology: TopologySpec, packing: PackingPlan, place: Place) -> None:
        self.control = Control()
        self._task = place.task
        self._incarnation = incarnation_number()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._data = self._connect(self._context, DATA, place)
        # A context of its own: the data's is terminated at the end, while the side thread lives.
        self._words = self._connect(zmq.Context(), CONTROL, place)
        self._poller = zmq.Poller()
        self._poller.register(self._data, zmq.POLLIN)
        self._poller.register(self.control.waker.readable, zmq.POLLIN)
        self._control_poller = zmq.Poller()
        self._control_poller.register(self.control.waker.readable, zmq.POLLIN)
        component = packing.instances[place.task].component
        environment = Environment(
            time.monotonic,
            random.Random(),
            self._send,
            self.control.may_send.wait,
            logging.getLogger(component),
            self.control.call,
        )
        self._packing = packing
        self._epoch_taken = 0
        """Of the plan by which the main thread works."""
        self._instance = build(topology, packing, place.task, environment)
        self._core = self._instance.core
        self._user_metrics = UserMetrics(self._instance.context.metrics)
        self.beat_secs = self._core.options.metrics_interval_secs
        self._side: SideThread
        self._unreported = 0
        self._unreported_bytes = 0
        self._stuck = Stuck(self._core.options.stuck_secs)

    def _connect(
        self, context: "zmq.Context[zmq.Socket[bytes]]", channel: bytes, place: Place
    ) -> "zmq.Socket[bytes]":
        name = identity(channel, place.task, self._incarnation)
        return connect_local(context, place.socket_path, name)

    def run(self) -> int:
        """Run the component until it is told to stop; returns the exit code."""
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        self._words.send(messages.encode(self.hello()))
        self._side = SideThread(self, self._words)
        self._side.start()
        try:
            if isinstance(self._core, SpoutCore):
                self._spout_loop(self._core)
            elif isinstance(self._core, BoltCore):
                self._bolt_loop(self._core)
            self._close()
        finally:
            # What was sent leaves the process, however it ends.
            self._data.close(linger=CLOSE_LINGER_MS)
            self._context.term()
        return 0

    def _bolt_loop(self, core: BoltCore) -> None:
        control, data = self.control, self._data
        while not control.stopping:
            control.run_todo()
            if not control.may_send.is_set():
                self._wait_control()
                continue
            try:
                frames = data.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                core.tick(time.monotonic())
                self._report_consumed()
                self._wait(_milliseconds_until(core.next_tick))
                continue
            self._deliver(frames)
            self._unreported += 1
            self._unreported_bytes += size_of(frames)
            if self._unreported_bytes >= CONSUMED_BYTES:
                self._report_consumed()

    def _spout_loop(self, core: SpoutCore) -> None:
        control, idle, told = self.control, 0, False
        turn_secs = max(core.options.linger_secs, 0.001)
        while not control.stopping:
            control.run_todo()
            self._take_results()
            if core.finished is not told:
                told = core.finished
                self._side.tell(messages.SpoutFinished(self._task, told))
            if not control.may_send.is_set():
                self._wait(LOOK_UP_MS)
            elif not core.may_emit:
                core.flush()  # an ack callback or another thread may have emitted
                self._wait(LOOK_UP_MS)
            elif core.turn(time.monotonic() + turn_secs):
                idle = 0
            elif core.may_emit:
                self._wait(IDLE_MS[min(idle, len(IDLE_MS) - 1)])
                idle += 1

    def _wait(self, timeout_ms: int) -> None:
        """Until a message, a word from the side thread, or the time is over."""
        self._stuck.waiting = True
        if (self.control.waker.readable, zmq.POLLIN) in self._poller.poll(timeout_ms):
            self.control.waker.clear()
        self._stuck.waiting = False

    def _wait_control(self) -> None:
        """Paused or not started: only a word from the side thread matters, input stays."""
        self._core.outbox.flush_acks()
        self._stuck.waiting = True
        if self._control_poller.poll(LOOK_UP_MS):
            self.control.waker.clear()
        self._stuck.waiting = False

    def _take_results(self) -> None:
        """Acks and fails that have arrived."""
        try:
            while True:
                self._deliver(self._data.recv_multipart(zmq.NOBLOCK))
        except zmq.Again:
            pass

    def _deliver(self, frames: Frames) -> None:
        try:
            self._core.deliver(frames)
        except ProtocolError as error:
            log.warning("dropped a message: %s", error)

    def _report_consumed(self) -> None:
        """Send what is buffered, and say what was processed if no message did: acks go out first,
        so they never lag behind the report."""
        self._core.flush()
        if self._unreported:
            self._send([header(Kind.CONSUMED, self.control.epoch, self._task, 0, 0)])

    def _send(self, frames: Frames) -> None:
        """Put a message on the wire; it also tells how many were processed since the last one."""
        if self._unreported:
            frames[0] = with_consumed(frames[0], self._unreported)
            self._unreported = self._unreported_bytes = 0
        self._data.send_multipart(frames)

    def stop(self) -> None:
        """End after the call of user code that is under way."""
        self.control.stopping = True
        self.control.update()

    def plan_changed(self, epoch: int, fenced: bool) -> None:
        """Frames carry this epoch from now on; `fenced`: older ones are leftovers of the dead."""
        self._core.plan_changed(epoch, fenced)

    def take_plan(self) -> None:
        """In the main thread: the plan or the topology's state changed."""
        plan = self.control.plan
        packing = packing_from_json(plan["packing"])
        if packing != self._packing:
            self._packing = packing
            self._instance.repack(packing)
        self._epoch_taken = plan["epoch"]
        if isinstance(self._core, BoltCore):
            self._core.start(time.monotonic())
        elif isinstance(self._core, SpoutCore):
            self._core.set_active(self.control.active)

    def trees_lost(self) -> None:
        """In the main thread: the stream manager is a new one, it holds none of our trees."""
        if isinstance(self._core, SpoutCore):
            self._core.fail_all()

    def finish_bolt(self) -> None:
        """In the main thread: the end of a finite run."""
        if isinstance(self._core, BoltCore):
            self._core.finish()
            self._side.tell(messages.BoltFinished(self._task))

    def hello(self) -> messages.RegisterInstance:
        """Who we are."""
        return messages.RegisterInstance(self._task, self._incarnation, os.getpid())

    def beat(self) -> messages.InstanceHeartbeat:
        """The newest snapshot."""
        now = time.monotonic()
        snapshot: dict[str, Any] = self._core.statistics()
        snapshot["user"] = self._user_metrics.read(now)
        lasted = self._stuck.look(snapshot["executed"], not self.control.may_send.is_set(), now)
        if lasted is not None:
            self._core.metrics.last_error = f"a call has not returned for {lasted:.0f} s"
            log.warning("a call has not returned for %.0f s; it is at:\n%s", lasted,
                        main_thread_stack())  # fmt: skip
        return messages.InstanceHeartbeat(
            self._task,
            {**snapshot, "at": now, "incarnation": self._incarnation, "pid": os.getpid()},
        )

    def counts(self, wave: int) -> messages.QuiescenceReport:
        """What was sent and processed so far."""
        return messages.QuiescenceReport(self._task, wave, *self._core.counts(), self._epoch_taken)

    def _close(self) -> None:
        """The last calls of user code, then let what was sent leave."""
        hooks = self._instance.hooks
        last_calls = [self._instance.adapter.close, *([hooks.clean_up] if hooks else ())]
        for last_call in last_calls:
            try:
                last_call()
            except Exception:
                self._core.user_error("close")
        self._core.flush()


def _milliseconds_until(when: float) -> int:
    left = when - time.monotonic()
    return LOOK_UP_MS if left > LOOK_UP_MS / 1000 else max(0, int(left * 1000) + 1)


def run(topology: TopologySpec, packing: PackingPlan, place: Place, ties: SupervisorLink) -> int:
    """The instance of one task until it is told to end; returns the exit code.

    What the user's class raises when it is loaded or initialised passes through.
    """
    start_heartbeat_thread(ties)
    return Server(topology, packing, place).run()
