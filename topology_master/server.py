"""The topology master's only I/O: one ROUTER, the state store, the clock."""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import zmq

from heron_core import messages
from heron_core.errors import NameInUse, ProtocolError
from heron_core.plans import PackingPlan, TopologyState, physical_from_json
from heron_core.topology import TopologySpec
from heron_io.processes import EXIT_ORPHANED, Ties
from heron_io.security import Door, Keys
from heron_io.state_store import (
    StateStore,
    execution_path,
    master_path,
    open_store,
    physical_path,
)
from heron_io.transport import drain, tcp_router
from topology_master import events
from topology_master.core import TopologyMaster
from topology_master.options import Options

log = logging.getLogger("topology_master")

ENDED_CODE = 5
"""Exit code of a master whose topology is done."""
ENDED_LINGER_SECS = 3.0
"""How long a master whose topology is done still answers, for a last look at the numbers."""
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""The heartbeat of a container with thousands of instances stays far below."""
DRAIN_MESSAGES = 256
TIMER_SECS = 0.02
STANDBY_SECS = 0.2
"""Between two tries of a standby to take the master's node."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a topology master runs."""

    store_url: str
    keys: Keys
    bind_host: str = "127.0.0.1"


class Server:
    """The process around one TopologyMaster."""

    def __init__(
        self, topology: TopologySpec, packing: PackingPlan, place: Place, ties: Ties
    ) -> None:
        self._topology = topology
        self._packing = packing
        self._store: StateStore = open_store(place.store_url)
        self._context = zmq.Context()
        self._door = Door(self._context, place.keys)
        self._router, self._address = tcp_router(
            self._context, place.bind_host, 0, MESSAGE_BYTES_MAX, self._door
        )
        self._poller = zmq.Poller()
        for each in (self._router, *self._door.sockets):
            self._poller.register(each, zmq.POLLIN)
        self._ties = ties
        self._poller.register(ties.lifeline, zmq.POLLIN)
        self._reason: tuple[str, int] | None = None
        self._leave_at = float("inf")
        self._perform: dict[type, Callable[[Any], None]] = {
            events.Send: self._send,
            events.StorePlan: self._store_plan,
            events.StoreState: self._store_state,
            events.Log: lambda each: log.info("%s", each.text),
        }

    def run(self) -> int:
        """Serve until SIGTERM or the parent's death; returns the exit code."""
        signal.signal(signal.SIGTERM, lambda *_: self._end("SIGTERM", 0))
        if self._become_master():
            self._serve()
        reason, code = self._reason or ("nothing to do", 0)
        log.info("topology master ends: %s", reason)
        self._context.destroy(linger=100)
        self._store.close()
        return code

    def _become_master(self) -> bool:
        """Take the ephemeral node; as a standby wait for its holder to go."""
        path = master_path(self._topology.name)
        me = {"address": self._address, "host": socket.gethostname(), "pid": os.getpid()}
        told = ""
        while self._reason is None:
            try:
                self._store.create(path, me, ephemeral=True)
                log.info("topology master at %s", self._address)
                return True
            except NameInUse as error:
                if told != str(error):
                    told = str(error)
                    log.info("standing by: %s", error)
            self._ties.beat()
            if self._ties.lifeline in dict(self._poller.poll(int(STANDBY_SECS * 1000))):
                self._end("the parent process is gone", EXIT_ORPHANED)
        return False

    def _serve(self) -> None:
        known = self._store.get(physical_path(self._topology.name))
        previous = None if known is None else physical_from_json(known)
        options = Options.of(self._topology.config)
        self._core = TopologyMaster(self._topology, self._packing, options, previous)
        next_timer = 0.0
        while self._reason is None:
            now = time.monotonic()
            if now >= next_timer:
                next_timer = now + TIMER_SECS
                self._ties.beat()
                self._handle(events.Timer())
            if now >= self._leave_at:
                self._end("the topology has ended", ENDED_CODE)
            ready = dict(self._poller.poll(int(TIMER_SECS * 1000)))
            if self._ties.lifeline in ready:
                self._end("the parent process is gone", EXIT_ORPHANED)
            self._door.serve(ready, now)
            if self._router in ready:
                for message in drain(self._router, DRAIN_MESSAGES):
                    self._receive(message)

    def _receive(self, message: list[bytes]) -> None:
        try:
            received = events.Received(message[0], messages.decode(message[1]))
        except (ProtocolError, IndexError) as error:
            log.warning("dropped a message: %s", error)
            return
        self._handle(received)

    def _handle(self, event: events.Event) -> None:
        for each in self._core.handle(event, time.monotonic()):
            self._perform[type(each)](each)

    def _send(self, each: events.Send) -> None:
        self._router.send_multipart([each.receiver, messages.encode(each.message)])

    def _store_plan(self, each: events.StorePlan) -> None:
        self._store.put(physical_path(self._topology.name), each.plan)

    def _store_state(self, each: events.StoreState) -> None:
        if each.state == TopologyState.ENDED:
            self._leave_at = time.monotonic() + ENDED_LINGER_SECS
        path = execution_path(self._topology.name)
        known = self._store.get(path) or {}
        self._store.put(path, {**known, "state": each.state, "reason": each.reason})

    def _end(self, reason: str, code: int) -> None:
        if self._reason is None:
            self._reason = (reason, code)


def run(topology: TopologySpec, packing: PackingPlan, place: Place, ties: Ties) -> int:
    """The topology master until it is told to end; returns the exit code."""
    return Server(topology, packing, place, ties).run()
