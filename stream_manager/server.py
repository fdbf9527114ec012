"""The stream manager's only I/O: sockets, the state store, the clock.

Local instances connect to one ROUTER over ipc (each with two DEALERs, for data and for control);
peers and the master over tcp, one DEALER for each direction. Received messages are handed to the
core, its instructions are carried out at once.
"""

import logging
import os
import random
import signal
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import zmq

from heron_core.errors import ProtocolError, StateStoreError
from heron_core.exit_codes import ExitCode
from heron_core.plans import PackingPlan, packing_to_json
from heron_core.state_tree import master_path
from heron_core.supervision import PACKING
from heron_core.topology import TopologySpec
from heron_core.wire import messages
from heron_core.wire.frames import Frames
from heron_io.known_master import KnownMaster
from heron_io.processes import SupervisorLink
from heron_io.security import CurveAuthenticator, Keys
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import CONNECTED, StateStore
from heron_io.transport import (
    CONTROL,
    DATA,
    PEER_HWM,
    connect_dealer,
    drain,
    identity,
    local_router,
    parse_identity,
    tcp_router,
)
from stream_manager import events
from stream_manager.core import StreamManager
from stream_manager.local_sender import RETRY_SECS, LocalSender
from stream_manager.options import Options

log = logging.getLogger("stream_manager")

DRAIN_MESSAGES = 256
"""Messages taken from one socket before the others get their turn, and before what they led to is
sent: the more, the more goes into one message."""
TIMER_SECS = 0.1
CLOSE_LINGER_MS = 300
"""How long the last numbers may take to leave the process: its master is near or gone."""
INTERNAL_ERROR_LOG_SECS = 60.0
"""A bug of ours may show with every message: all are counted, one a minute is logged with its
traceback."""
MASTER_RETRY_SECS = 0.05
"""Between two looks for the master's address: only while there is none."""


@dataclass(frozen=True, slots=True)
class ServerArguments:
    """Where a stream manager runs, and who may talk to it."""

    container: int
    socket_path: str
    store_url: str
    keys: Keys
    bind_host: str = "127.0.0.1"


class Server:
    """The process around one StreamManager."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        arguments: ServerArguments,
        supervisor: SupervisorLink,
    ) -> None:
        self._context = zmq.Context()
        self._topology = topology
        self._arguments = arguments
        self._store: StateStore | None = None
        self._session = CONNECTED
        self._local = local_router(self._context, arguments.socket_path)
        self._to_locals = LocalSender(self._local)
        self._encoder = messages.Encoder()
        self._authenticator = CurveAuthenticator(self._context, arguments.keys)
        options = Options.of(topology.config)
        self._peers_in, address = tcp_router(
            self._context,
            arguments.bind_host,
            PEER_HWM,
            options.frame_bytes_max,
            self._authenticator,
        )
        self._peers: dict[int, tuple[str, zmq.Socket[bytes]]] = {}
        self._master: zmq.Socket[bytes] | None = None
        self._master_address = ""
        self._known_master = KnownMaster(arguments.socket_path)
        self._look_for_master_at = 0.0
        register = messages.RegisterStreamManager(
            arguments.container,
            random.getrandbits(63),
            address,
            socket.gethostname(),
            os.getpid(),
            epoch=0,
            predecessor=supervisor.predecessor,
        )
        self.core = StreamManager(topology, packing, register, options)
        self._poller = zmq.Poller()
        for each in (self._local, self._peers_in, *self._authenticator.sockets):
            self._poller.register(each, zmq.POLLIN)
        self._supervisor = supervisor
        self._poller.register(supervisor.lifeline, zmq.POLLIN)
        self._watched: set[int] = set()
        self._connected: list[int] = []
        """Peers with a new connection of which the core has still to hear."""
        self._exit: events.Exit | None = None
        self._internal_errors = 0
        self._internal_error_log_at = 0.0
        self._perform: dict[type, Callable[[Any], None]] = {
            events.ToLocal: self._to_local,
            events.ToLocalControl: self._to_local_control,
            events.ToMaster: self._to_master,
            events.ConnectPeers: self._connect_peers,
            events.ApplyPacking: self._apply_packing,
            events.FindMaster: self._find_master,
            events.Log: lambda each: log.info("%s", each.text),
            events.Exit: self._end,
        }

    def run(self) -> int:
        """Serve until SIGTERM, the parent's death or an Exit; returns the exit code."""
        signal.signal(signal.SIGTERM, lambda *_: self._end(events.Exit("SIGTERM", 0)))
        next_timer = 0.0
        while self._exit is None:
            now = time.monotonic()
            if now >= next_timer:
                next_timer = now + TIMER_SECS
                self._supervisor.heartbeat()
                self.handle(events.Timer())
            self._look_for_master(now)
            self._serve(dict(self._poller.poll(int(self._pause_secs(next_timer - now) * 1000) + 1)))
            if self._to_locals.waiting:
                self._to_locals.retry(time.monotonic())
        log.info("stream manager %d ends: %s", self._arguments.container, self._exit.reason)
        self._tell_last_numbers()
        self.close()
        return self._exit.code

    def _tell_last_numbers(self) -> None:
        """The instances have ended before us: what they said last is for the master."""
        for message in drain(self._local, DRAIN_MESSAGES):
            self._from_local(message)
        if self._master is not None:
            self._to_master(events.ToMaster(self.core.heartbeat()))
            self._poller.unregister(self._master)
            self._master.close(linger=CLOSE_LINGER_MS)
            self._master = None

    def close(self) -> None:
        """Let go of sockets and state store."""
        self._context.destroy(linger=0)
        if self._store is not None:
            self._store.close()

    def _pause_secs(self, until_timer: float) -> float:
        """How long to wait for messages at most."""
        if self._to_locals.waiting:
            return RETRY_SECS
        return MASTER_RETRY_SECS / 5 if self._master is None else max(0.0, until_timer)

    def _serve(self, ready: dict[Any, int]) -> None:
        if self._supervisor.lifeline in ready:
            self._end(events.Exit("the parent process is gone", ExitCode.ORPHANED))
            return
        self._authenticator.serve(ready, time.monotonic())
        if self._local in ready:
            for message in drain(self._local, DRAIN_MESSAGES):
                self._from_local(message)
        if self._peers_in in ready:
            for message in drain(self._peers_in, DRAIN_MESSAGES):
                self.handle(events.FromPeer(message[1:]))
        if self._master is not None and self._master in ready:
            for message in drain(self._master, DRAIN_MESSAGES):
                self._from_master(message)
        for container, (_, peer) in list(self._peers.items()):
            if ready.get(peer, 0) & zmq.POLLOUT:
                self.handle(events.PeerWritable(container))
        self.handle(events.InputTaken())
        self._watch_blocked()

    def _from_local(self, message: Frames) -> None:
        try:
            channel, task, incarnation = parse_identity(message[0])
            if channel == DATA:
                self.handle(events.FromInstance(task, incarnation, message[1:]))
            else:
                message_in = messages.decode(message[1])
                self.handle(events.FromInstanceControl(task, incarnation, message_in))
        except (struct.error, ProtocolError) as error:
            self.handle(events.Malformed(str(error)))

    def _from_master(self, message: Frames) -> None:
        try:
            self.handle(events.FromMaster(messages.decode(message[0])))
        except ProtocolError as error:
            self.handle(events.Malformed(str(error)))

    def handle(self, event: events.Event) -> None:
        """Have the core decide about an event, and carry its instructions out in their order."""
        unsent: dict[int, list[tuple[int, Frames]]] = {}
        for each in self._decide(event):
            if type(each) is events.ToPeer:
                self._to_peer(each, unsent)
            else:
                self._perform[type(each)](each)
        for container, refused in unsent.items():
            self.handle(events.PeerBlocked(container, refused))
        # Not at once: what the core decides then is newer than the rest of these instructions.
        while self._connected:
            self.handle(events.PeerWritable(self._connected.pop(0)))

    def _decide(self, event: events.Event) -> list[events.Instruction]:
        """What the core decides. An exception is a bug of ours: this event is lost, the rest of
        the topology goes on."""
        now = time.monotonic()
        try:
            return self.core.handle(event, now)
        except Exception:
            self._internal_errors += 1
            if now >= self._internal_error_log_at:
                self._internal_error_log_at = now + INTERNAL_ERROR_LOG_SECS
                log.exception("a bug of ours: %s was not handled", type(event).__name__)
            return []

    def statistics(self) -> dict[str, int]:
        """The server's own counters: strangers, cut connections, bugs of ours."""
        return {
            "refused": self._authenticator.refused,
            "disconnected": self._authenticator.disconnected,
            "internal_errors": self._internal_errors,
        }

    def _to_local(self, each: events.ToLocal) -> None:
        self._send_local(DATA, each.task, each.incarnation, each.frames)

    def _to_local_control(self, each: events.ToLocalControl) -> None:
        data = [self._encoder.encode(each.message)]
        self._send_local(CONTROL, each.task, each.incarnation, data)

    def _send_local(self, channel: bytes, task: int, incarnation: int, frames: Frames) -> None:
        self._to_locals.send(identity(channel, task, incarnation), frames)

    def _to_peer(self, each: events.ToPeer, unsent: dict[int, list[tuple[int, Frames]]]) -> None:
        refused = unsent.get(each.container)
        peer = self._peers.get(each.container)
        if refused is None and peer is not None:
            try:
                peer[1].send_multipart(each.frames, zmq.NOBLOCK)
                return
            except zmq.Again:
                pass
        unsent.setdefault(each.container, []).extend(each.waiting)

    def _watch_blocked(self) -> None:
        """Poll for writability exactly the peers that have something waiting."""
        blocked = {each for each in self.core.blocked_peers() if each in self._peers}
        for container in blocked - self._watched:
            self._poller.register(self._peers[container][1], zmq.POLLOUT)
        for container in self._watched - blocked:
            if container in self._peers:
                self._poller.unregister(self._peers[container][1])
        self._watched = blocked

    def _connect_peers(self, each: events.ConnectPeers) -> None:
        for container in self._peers.keys() - each.addresses.keys():
            self._disconnect(container)
        for container, address in each.addresses.items():
            before = self._peers.get(container)
            if before is not None and before[0] == address:
                continue
            if before is not None:
                self._disconnect(container)
            try:
                peer = connect_dealer(self._context, address, PEER_HWM, self._arguments.keys)
            except zmq.ZMQError as error:
                log.error("no address of stream manager %d: %r: %s", container, address, error)
                continue
            self._peers[container] = (address, peer)
            self._connected.append(container)

    def _disconnect(self, container: int) -> None:
        _, peer = self._peers.pop(container)
        if container in self._watched:
            self._poller.unregister(peer)
            self._watched.discard(container)
        peer.close(linger=0)

    def _apply_packing(self, each: events.ApplyPacking) -> None:
        """Our executor starts and ends what has changed here."""
        try:
            self._supervisor.send({PACKING: packing_to_json(each.packing)})
        except ProtocolError as error:
            log.error("the executor does not hear of the new plan: %s", error)

    # --- the master ---------------------------------------------------------------------------

    def _look_for_master(self, now: float) -> None:
        if self._master is not None or now < self._look_for_master_at:
            return
        self._look_for_master_at = now + MASTER_RETRY_SECS
        master = self._master_node()
        if master is None:
            return
        self._master_address = master["address"]
        self._master = connect_dealer(self._context, self._master_address, 0, self._arguments.keys)
        self._poller.register(self._master, zmq.POLLIN)
        self.handle(events.MasterConnected())

    def _master_node(self) -> Any | None:
        """The master's node; None while there is none. Without a state store to ask it is where it
        was last: data goes on."""
        try:
            if self._store is None:
                self._store = open_store(self._arguments.store_url)
                self._store.on_session(self._session_changed)
            if self._session == CONNECTED:
                node = self._store.get(master_path(self._topology.name))
                if node is not None:
                    self._known_master.remember(node)
                return node
        except StateStoreError as error:
            log.warning("cannot look for the topology master: %s", error)
        return self._known_master.recall()

    def _session_changed(self, state: str) -> None:
        """From a thread of the state store."""
        self._session = state

    def _find_master(self, each: events.FindMaster) -> None:
        log.info("the topology master at %s is silent", self._master_address)
        if self._master is not None:
            self._poller.unregister(self._master)
            self._master.close(linger=0)
            self._master = None

    def _to_master(self, each: events.ToMaster) -> None:
        message = each.message
        if isinstance(message, messages.Heartbeat):
            message = replace(message, metrics={**message.metrics, **self.statistics()})
        if self._master is not None:
            self._master.send(messages.encode(message))

    def _end(self, each: events.Exit) -> None:
        if self._exit is None:
            self._exit = each


def run(
    topology: TopologySpec,
    packing: PackingPlan,
    arguments: ServerArguments,
    supervisor: SupervisorLink,
) -> int:
    """The stream manager of one container until it is told to end; returns the exit code."""
    return Server(topology, packing, arguments, supervisor).run()
