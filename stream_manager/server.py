"""The stream manager's sockets and clock; a thread queries the state store.

Local instances connect to one Unix socket (each twice, for data and for control), peers and the
master by zmq over tcp, with one DEALER for each direction. The server passes received
messages to the core and carries out the core's instructions at once.
"""

import logging
import os
import random
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import zmq
from msgspec import Struct

from heron_core.errors import OtherProtocol, ProtocolError
from heron_core.exit_codes import ExitCode
from heron_core.log_levels import STREAM_MANAGERS
from heron_core.plans import PackingPlan, packing_to_json
from heron_core.records import replace
from heron_core.supervision import PACKING
from heron_core.topology import TopologySpec
from heron_core.wire import message_codec, messages
from heron_core.wire.frames import Frames
from heron_core.wire.local_stream import CONTROL, DATA, ConnectionName
from heron_engine.stream_manager import events
from heron_engine.stream_manager.core import StreamManager
from heron_engine.stream_manager.local_sender import RETRY_SECS, LocalSender
from heron_engine.stream_manager.master_link import WAIT_SECS, MasterLink
from heron_engine.stream_manager.master_lookup import MasterLookup
from heron_engine.stream_manager.network import Network
from heron_engine.stream_manager.options import StreamManagerOptions
from heron_engine.stream_manager.turn_rests import TurnRests
from heron_io.known_master import KnownMaster
from heron_io.local_listener import LocalListener
from heron_io.log_levels import ProcessLevels
from heron_io.process_usage import waited_for_core_secs
from heron_io.processes import SupervisorLink
from heron_io.security import CurveAuthenticator, Keys
from heron_io.shell_commands import ShellCommands, shell_variables
from heron_io.transport import (
    PEER_HWM,
    POLLOUT,
    connect_dealer,
    drain,
    send_now,
    tcp_router,
)

log = logging.getLogger("stream_manager")

DRAIN_MESSAGES = 256
"""Messages read from one socket before the other sockets get their turn and before the resulting
messages are sent: a higher number merges more messages into one."""
LAST_DRAINS = 16
"""Reads of the connections of instances at the end: enough for the last reports of a thousand."""
TIMER_SECS = 0.1
CLOSE_LINGER_MS = 300
"""Time for the final statistics to leave the process: the master is near or gone."""
INTERNAL_ERROR_LOG_SECS = 60.0
"""An internal error may recur with every message: all errors are counted, one a minute is logged
with its traceback."""


class StreamManagerArguments(Struct, frozen=True):
    """The place of a stream manager, its state store, and the keys of its sockets."""

    container: int
    socket_path: str
    store_url: str
    keys: Keys
    bind_host: str = "127.0.0.1"
    logs: str = ""
    """Folder of the container's logs, for commands beside it."""


class StreamManagerServer:
    """The process around one StreamManager."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        arguments: StreamManagerArguments,
        supervisor: SupervisorLink,
    ) -> None:
        self._context = zmq.Context()
        self._topology = topology
        self._arguments = arguments
        self._local = LocalListener(arguments.socket_path)
        self._to_locals = LocalSender(self._local)
        self._encoder = message_codec.Encoder()
        self._authenticator = CurveAuthenticator(self._context, arguments.keys)
        options = StreamManagerOptions.of(topology.config)
        self._peers_in, address = tcp_router(
            self._context,
            arguments.bind_host,
            PEER_HWM,
            options.frame_bytes_max,
            self._authenticator,
        )
        self._peers: dict[int, tuple[str, zmq.Socket[bytes]]] = {}
        register = _registration(arguments, address, supervisor.predecessor)
        self.core = StreamManager(topology, packing, register, options)
        self._shell = ShellCommands(arguments.container, shell_variables(topology, arguments.logs))
        self._network = Network()
        self._log_levels = ProcessLevels(STREAM_MANAGERS)
        self._rests = TurnRests(options.rest_secs)
        self._poller = zmq.Poller()
        self._master = MasterLink(
            self._context,
            self._poller,
            arguments.keys,
            register.incarnation,
            MasterLookup(arguments.store_url, topology.name, KnownMaster(arguments.socket_path)),
        )
        receivers = (self._local.fileno(), self._peers_in, supervisor.lifeline)
        for receiver in (*receivers, *self._authenticator.sockets):
            self._poller.register(receiver, zmq.POLLIN)
        self._supervisor = supervisor
        self._watched: set[int] = set()
        self._connected: list[int] = []
        """Peers with a new connection that the core has not been notified of."""
        self._exit: events.StreamManagerExit | None = None
        self._internal_errors = 0
        self._internal_error_log_at = 0.0
        self._perform: dict[type, Callable[[Any], None]] = {
            events.ToLocal: self._to_local,
            events.ToLocalControl: self._to_local_control,
            events.ToMaster: self._to_master,
            events.ToClient: self._to_client,
            events.ConnectPeers: self._connect_peers,
            events.ApplyPacking: self._apply_packing,
            events.StartShell: lambda each: self._shell.start(each.request),
            events.FindMaster: lambda each: self._master.disconnect(),
            events.StreamManagerLog: lambda each: log.info("%s", each.text),
            events.StreamManagerLogLevels: self._set_log_levels,
            events.StreamManagerExit: self._end,
        }

    def run(self) -> int:
        """Serve until SIGTERM, the parent's death or a StreamManagerExit; returns the exit code."""
        signal.signal(signal.SIGTERM, lambda *_: self._end(events.StreamManagerExit("SIGTERM", 0)))
        next_timer = 0.0
        while self._exit is None:
            now = time.monotonic()
            if now >= next_timer:
                next_timer = now + TIMER_SECS
                self._local.resume()
                self._log_levels.expire(now)
                self._rests.read_wait(now, waited_for_core_secs())
                self._supervisor.heartbeat()
                for result in self._shell.ended():
                    self.handle(events.ShellEnded(result))
                self.handle(events.StreamManagerTimer())
            if (news := self._master.poll(now)) is not None:
                self.handle(news)
            if over := self._master.over:
                self._end(events.StreamManagerExit(over, ExitCode.ENDED))
            self._serve(dict(self._poller.poll(int(self._pause_secs(next_timer - now) * 1000) + 1)))
            self._rest()
            if self._to_locals.waiting:
                self._to_locals.retry(time.monotonic())
        log.info("stream manager %d ends: %s", self._arguments.container, self._exit.reason)
        self._tell_last_numbers()
        self.close()
        return self._exit.code

    def _rest(self) -> None:
        if not self._peers:  # the CPU time costs a system call
            return
        batches, tuples = self.core.forwarded
        if rest_secs := self._rests.after(batches, tuples, time.thread_time()):
            time.sleep(rest_secs)

    def _tell_last_numbers(self) -> None:
        """Forward the final statistics of the instances, which have ended before, to the master."""
        for _ in range(LAST_DRAINS):
            self._take_local()
        self._to_master(events.ToMaster(self.core.heartbeat()))
        self._master.disconnect(CLOSE_LINGER_MS)

    def close(self) -> None:
        """Close the sockets and the client of the state store."""
        self._local.close()
        self._context.destroy(linger=0)
        self._master.close()

    def _pause_secs(self, until_timer: float) -> float:
        """The longest wait for messages."""
        if self._to_locals.waiting:
            return RETRY_SECS
        return WAIT_SECS if self._master.is_polling else max(0.0, until_timer)

    def _serve(self, ready: dict[Any, int]) -> None:
        if self._supervisor.lifeline in ready:
            self._end(events.StreamManagerExit("the parent process is gone", ExitCode.ORPHANED))
            return
        self._authenticator.serve(ready, time.monotonic())
        if self._local.fileno() in ready:
            self._take_local()
        if self._peers_in in ready:
            for message in drain(self._peers_in, DRAIN_MESSAGES):
                self._from_peer_or_client(message)
        for said in self._master.received(ready, time.monotonic()):
            self._from_master(said)
        for container, (_, peer) in list(self._peers.items()):
            if ready.get(peer, 0) & POLLOUT:
                self.handle(events.PeerWritable(container))
        self.handle(events.InputTaken())
        self._watch_blocked()

    def _from_peer_or_client(self, message: list[bytes]) -> None:
        """A message of a client has an empty frame where one of a peer has its link frame."""
        sender, *frames = message
        if not frames or frames[0]:
            self._network.from_peer(frames)
            self.handle(events.FromPeer(frames))
            return
        try:
            self.handle(events.FromClient(sender, message_codec.decode(b"".join(frames))))
        except ProtocolError as error:
            self.handle(events.StreamManagerMalformed(str(error)))

    def _take_local(self) -> None:
        left = DRAIN_MESSAGES
        while left > 0:
            before = left
            for name, frames in self._local.received():
                self._from_local(name, frames)
                left -= 1
            if left == before:
                break
        while self._local.errors:
            self.handle(events.StreamManagerMalformed(self._local.errors.popleft()))

    def _from_local(self, name: ConnectionName, frames: Frames) -> None:
        channel, task, incarnation = name
        if channel == DATA:
            self._network.from_task(task, frames)
            self.handle(events.FromInstance(task, incarnation, frames))
            return
        try:
            message = message_codec.decode(frames[0])
            self.handle(events.FromInstanceControl(task, incarnation, message))
        except OtherProtocol as error:
            self.handle(events.StreamManagerOtherEngine(task, incarnation, str(error)))
        except ProtocolError as error:
            self.handle(events.StreamManagerMalformed(str(error)))

    def _from_master(self, message: bytes) -> None:
        try:
            self.handle(events.FromMaster(message_codec.decode(message)))
        except ProtocolError as error:
            self.handle(events.StreamManagerMalformed(str(error)))

    def handle(self, event: events.Event) -> None:
        """Pass an event to the core, and carry out the core's instructions in order."""
        refused: dict[int, int] = {}
        for instruction in self._decide(event):
            if type(instruction) is events.ToPeer:
                self._to_peer(instruction, refused)
            else:
                self._perform[type(instruction)](instruction)
        for container, number in refused.items():
            self.handle(events.PeerBlocked(container, number))
        # After the loop: the core's answers are newer than the remaining instructions.
        while self._connected:
            self.handle(events.PeerWritable(self._connected.pop(0)))

    def _decide(self, event: events.Event) -> list[events.Instruction]:
        """The core's instructions. An exception is an internal error: the event is lost, the error
        counted, and the topology continues."""
        now = time.monotonic()
        try:
            return self.core.handle(event, now)
        except Exception:
            self._internal_errors += 1
            if now >= self._internal_error_log_at:
                self._internal_error_log_at = now + INTERNAL_ERROR_LOG_SECS
                log.exception("internal error: %s was not handled", type(event).__name__)
            return []

    def statistics(self) -> dict[str, int]:
        """The server's counters: refused peers, closed connections, internal errors."""
        return {
            "refused": self._authenticator.refused,
            "disconnected": self._authenticator.disconnected,
            "internal_errors": self._internal_errors,
            **self._master.statistics(),
        }

    def _to_local(self, each: events.ToLocal) -> None:
        self._network.to_task(each.task, each.frames)
        self._send_local(DATA, each.task, each.incarnation, each.frames)

    def _to_local_control(self, each: events.ToLocalControl) -> None:
        data = [self._encoder.encode(each.message)]
        self._send_local(CONTROL, each.task, each.incarnation, data)

    def _send_local(self, channel: bytes, task: int, incarnation: int, frames: Frames) -> None:
        self._to_locals.send(ConnectionName(channel, task, incarnation), frames)

    def _to_peer(self, send: events.ToPeer, refused: dict[int, int]) -> None:
        """Send, or record the number of the first message that the socket refused."""
        peer = self._peers.get(send.container)
        if send.container not in refused and peer is not None:
            try:
                frames = send.frames
                send_now(peer[1], frames)
                self._network.to_peer(send.container, frames)
                return
            except zmq.Again:
                pass
        refused[send.container] = refused.get(send.container) or send.number

    def _to_client(self, each: events.ToClient) -> None:
        """ZeroMQ drops an answer whose connection has ended: its client does not wait any more."""
        send_now(self._peers_in, [each.client, b"", message_codec.encode(each.message)])

    def _watch_blocked(self) -> None:
        """Poll exactly the peers with waiting messages for writability."""
        blocked = {each for each in self.core.blocked_peers() if each in self._peers}
        for container in blocked - self._watched:
            self._poller.register(self._peers[container][1], zmq.POLLOUT)
        for container in self._watched - blocked:
            if container in self._peers:
                self._poller.unregister(self._peers[container][1])
        self._watched = blocked

    def _connect_peers(self, peers: events.ConnectPeers) -> None:
        for container in self._peers.keys() - peers.addresses.keys():
            self._disconnect(container)
        for container, address in peers.addresses.items():
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
        """Have the executor start and stop the instances that the plan changes here."""
        try:
            self._supervisor.send({PACKING: packing_to_json(each.packing)})
        except ProtocolError as error:
            log.error("the new plan was not sent to the executor: %s", error)

    # --- the master ---------------------------------------------------------------------------

    def _to_master(self, each: events.ToMaster) -> None:
        message = each.message
        if isinstance(message, messages.Heartbeat):
            own = {**self.statistics(), **self._network.statistics()}
            message = replace(message, metrics={**message.metrics, **own})
        self._master.send(message_codec.encode(message))

    def _set_log_levels(self, instruction: events.StreamManagerLogLevels) -> None:
        self._log_levels.apply(instruction.levels.levels, time.monotonic())

    def _end(self, each: events.StreamManagerExit) -> None:
        if self._exit is None:
            self._exit = each


def _registration(
    arguments: StreamManagerArguments, address: str, predecessor: str
) -> messages.RegisterStreamManager:
    incarnation, host = random.getrandbits(63), socket.gethostname()
    return messages.RegisterStreamManager(
        container=arguments.container,
        incarnation=incarnation,
        address=address,
        host=host,
        pid=os.getpid(),
        epoch=0,
        predecessor=predecessor,
        socket_path=arguments.socket_path,
    )


def run(
    topology: TopologySpec,
    packing: PackingPlan,
    arguments: StreamManagerArguments,
    supervisor: SupervisorLink,
) -> int:
    """Run the stream manager of one container until a StreamManagerExit; returns the exit code."""
    return StreamManagerServer(topology, packing, arguments, supervisor).run()
