"""The side thread of an instance and what it shares with the main thread.

It owns the control socket: it beats the heart and answers the stream manager at once, however long
user code takes, so a long `process` is "busy" and never "dead".
"""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import zmq

from heron_core.errors import ProtocolError
from heron_core.exit_codes import ExitCode
from heron_core.plans import TopologyState
from heron_core.wire import messages
from heron_io.waker import Waker

log = logging.getLogger("heron_instance")


class Control:
    """Flags that the main thread looks at between calls of user code, and calls it has to make."""

    def __init__(self) -> None:
        self.waker = Waker()
        self.epoch = 0
        self.plan: messages.Json = {}
        """The newest one."""
        self.active = False
        self.paused = False
        self.stopping = False
        self.todo: deque[Callable[[], None]] = deque()
        """Calls for the main thread, in order."""
        self.may_send = threading.Event()
        """Set while tuples may be sent: there is a plan and no back-pressure."""

    def call(self, function: Callable[[], None]) -> None:
        """Let the main thread call `function` soon."""
        self.todo.append(function)
        self.waker.wake()

    def update(self) -> None:
        """After a change of the flags: let waiting sends and the main loop see them."""
        if self.stopping or (self.epoch and not self.paused):
            self.may_send.set()
        else:
            self.may_send.clear()
        self.waker.wake()

    def run_todo(self) -> None:
        """In the main thread: make the calls that wait; those that they ask for come next time, so
        that the main loop sees to its other work in between (whoever calls also wakes it)."""
        for _ in range(len(self.todo)):
            self.todo.popleft()()


def is_replaced(known: Mapping[str, str], addresses: Mapping[str, str]) -> bool:
    """Whether a stream manager is another one now; containers that come or go do not count."""
    return any(addresses.get(each, address) != address for each, address in known.items())


class Main(Protocol):
    """What the side thread asks of the instance; all but `stop` answer from any thread."""

    control: Control
    beat_secs: float

    def hello(self) -> messages.RegisterInstance:
        """Who we are."""

    def beat(self) -> messages.InstanceHeartbeat:
        """The newest snapshot."""

    def counts(self, wave: int) -> messages.QuiescenceReport:
        """What was sent and processed so far."""

    def plan_changed(self, epoch: int, fenced: bool) -> None:
        """Frames carry this epoch from now on; `fenced`: older ones are leftovers of the dead."""

    def take_plan(self) -> None:
        """For the main thread: the plan or the topology's state changed."""

    def trees_lost(self) -> None:
        """For the main thread: the stream manager is a new one, it holds none of our trees."""

    def finish_bolt(self) -> None:
        """For the main thread: the end of a finite run."""

    def stop(self) -> None:
        """End after the call of user code that is under way."""


class SideThread(threading.Thread):
    """Tells the stream manager how we are, and answers it."""

    def __init__(self, main: Main, socket: "zmq.Socket[bytes]") -> None:
        super().__init__(name="control", daemon=True)
        self._main = main
        self._control = main.control
        self._socket = socket
        self._outgoing: deque[messages.FromInstance] = deque()
        self._waker = Waker()
        self._addresses: Mapping[str, str] | None = None
        """Of the stream managers, by the newest plan."""
        self._by_type: dict[type, Callable[[Any], None]] = {
            messages.Plan: self._plan,
            messages.Pause: self._pause,
            messages.Resync: self._resync,
            messages.QuiescenceProbe: self._probe,
            messages.FinishBolts: lambda each: self._control.call(main.finish_bolt),
            messages.Superseded: self._stop,
        }

    def tell(self, message: messages.FromInstance) -> None:
        """Send a message from any thread."""
        self._outgoing.append(message)
        self._waker.wake()

    def run(self) -> None:
        """Serve until the process ends."""
        poller = zmq.Poller()
        for each in (self._socket, self._waker.readable):
            poller.register(each, zmq.POLLIN)
        next_beat = 0.0
        while True:
            now = time.monotonic()
            if now >= next_beat:
                next_beat = now + self._main.beat_secs
                self._send(self._main.beat())
            ready = dict(poller.poll(max(1, int((next_beat - now) * 1000))))
            if self._waker.readable in ready:
                self._waker.clear()
            while self._outgoing:
                self._send(self._outgoing.popleft())
            if self._socket in ready:
                self._receive(self._socket.recv())

    def _receive(self, data: bytes) -> None:
        """This thread must not die of a message: nobody would beat the heart any more."""
        try:
            message = messages.decode(data)
        except ProtocolError as error:
            log.warning("dropped a message: %s", error)
            return
        act = self._by_type.get(type(message))
        if act is not None:
            act(message)

    def _send(self, message: messages.FromInstance) -> None:
        try:
            self._socket.send(messages.encode(message), zmq.NOBLOCK)
        except zmq.Again:  # no stream manager: the next one will ask who we are
            pass

    def _plan(self, message: messages.Plan) -> None:
        control, addresses = self._control, message.plan["stream_managers"]
        known = self._addresses
        replaced = known is not None and is_replaced(known, addresses)
        if replaced:
            # One of them is new. It also asks who we are, unless our registration with one that
            # died was still on its way; in any case trees are gone.
            control.call(self._main.trees_lost)
        self._addresses = addresses
        control.epoch = message.plan["epoch"]
        control.active = message.plan["state"] == TopologyState.RUNNING
        control.plan = message.plan
        self._main.plan_changed(control.epoch, known is None or replaced)
        control.call(self._main.take_plan)
        control.update()

    def _probe(self, message: messages.QuiescenceProbe) -> None:
        counts = self._main.counts(message.wave)
        self._send(self._main.beat())
        self._send(counts)

    def _pause(self, message: messages.Pause) -> None:
        self._control.paused = message.on
        self._control.update()

    def _stop(self, message: messages.Superseded) -> None:
        """We are a zombie: nothing that we do counts any more, so nothing is worth finishing."""
        log.error("this process ends: %s", message.reason)
        os._exit(ExitCode.SUPERSEDED)

    def _resync(self, message: messages.Resync) -> None:
        self._send(self._main.hello())
        self._control.call(self._main.trees_lost)
