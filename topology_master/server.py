"""The topology master's only I/O: one ROUTER, the state store, the clock."""

import logging
import os
import random
import socket
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from heron_core.ended_topology import over_text
from heron_core.errors import NameInUse, OtherProtocol, ProtocolError, StateStoreError
from heron_core.exit_codes import ExitCode
from heron_core.log_levels import TOPOLOGY_MASTER
from heron_core.plans import (
    MASTER_CONTAINER,
    PackingPlan,
    PhysicalPlan,
    TopologyState,
    packing_from_json,
    physical_from_json,
)
from heron_core.records import replace
from heron_core.state.description import description_of
from heron_core.state_tree import (
    checkpoints_path,
    execution_path,
    lock_path,
    master_path,
    packing_path,
    physical_path,
    scheduler_path,
    topology_path,
)
from heron_core.topology import TopologySpec
from heron_core.typed_json import to_json
from heron_core.version import PROTOCOL, VERSION
from heron_core.wire import message_codec, messages
from heron_core.wire.numbered_link import Packet, decode_header
from heron_engine.topology_master import events
from heron_engine.topology_master.core import TIMER_SECS, TopologyMaster
from heron_engine.topology_master.incidents import Incidents
from heron_engine.topology_master.manager_links import ManagerLinks, is_manager
from heron_engine.topology_master.measurements import Measurements
from heron_engine.topology_master.metrics_port import OwnMetrics, labels_of
from heron_engine.topology_master.options import MasterOptions
from heron_engine.topology_master.stored_checkpoints import StoredCheckpoints
from heron_engine.topology_master.stored_nodes import CLOSE_SECS, MasterNode, StoredNodes
from heron_engine.topology_master.trace_export import TraceExport
from heron_io.log_levels import ProcessLevels
from heron_io.processes import SupervisorLink, started_at
from heron_io.run_records import RunRecords
from heron_io.security import Keys
from heron_io.server_loop import ServerLoop
from heron_io.shell_commands import ShellCommands, shell_variables
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_io.transport import drain

log = logging.getLogger("topology_master")

ENDED_LINGER_SECS = 3.0
"""How long a master whose topology is done still answers, for a last look at the numbers."""
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""The heartbeat of a container with thousands of instances stays far below."""
DRAIN_MESSAGES = 256
LAST_MESSAGES_MAX = 100_000
"""Longest read of remaining input at the end: its senders have already ended."""
LINGER_MS = 100
"""Time for unsent answers at the end."""
STANDBY_SECS = 0.2
"""Between two tries of a standby to take the master's node."""
ANSWER_SECS = 1.0
"""Wait of a command's answer for its effect to be stored; the client's timeout is three seconds."""


class MasterArguments(Struct, frozen=True):
    """External context of a topology master."""

    store_url: str
    keys: Keys
    bind_host: str = "127.0.0.1"
    logs: str | None = None
    """Folder for events.log and the last statistics; None: disabled."""
    checkpoint_store: str = ""
    """URL of where states are kept, in a topology that takes checkpoints."""
    begins_run: str = ""
    """The run whose mark the master is to leave there, as the store was away when the run began;
    empty: the mark is there."""


class MasterServer:
    """The process around one TopologyMaster."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        arguments: MasterArguments,
        link: SupervisorLink,
    ) -> None:
        self._topology = topology
        self._packing = packing
        self._store_url = arguments.store_url
        self._records = RunRecords(arguments.logs)
        self._log_levels = ProcessLevels(TOPOLOGY_MASTER)
        self._store: StateStore
        self._link = link
        self._loop = ServerLoop(arguments.keys, link, TIMER_SECS)
        self._router, self._address = self._loop.tcp_router(
            arguments.bind_host, 0, MESSAGE_BYTES_MAX
        )
        self._encoder = message_codec.Encoder()
        self._links: ManagerLinks[bytes] = ManagerLinks()
        variables = shell_variables(topology, arguments.logs or "")
        self._shell = ShellCommands(MASTER_CONTAINER, variables)
        self._leave_at = float("inf")
        self._nodes: StoredNodes
        self._checkpoints = StoredCheckpoints(
            arguments.checkpoint_store, topology.name, arguments.begins_run
        )
        self._describing = 0
        """Checkpoints that are being described in the checkpoint store."""
        self._undescribed: list[tuple[str, Any]] = []
        """(path, value) to be stored once that is done"""
        self._deferred: list[tuple[float, events.Send]] = []
        """(deadline, answer to a command): sent when the command's changes are stored"""
        self._has_put = False
        """Whether the event that is being handled has something stored."""
        self._packing_stored: Any = None
        """Of the newest physical plan."""
        self._reload = False
        """Notify the container scheduler once the plans are written."""
        self._execution: dict[str, Any] = {}
        self._perform: dict[type, Callable[[Any], None]] = {
            events.Send: self._send,
            events.StorePlan: self._store_plan,
            events.StorePacking: self._store_packing,
            events.StoreState: self._store_state,
            events.StoreCheckpoints: self._store_checkpoints,
            events.MasterStartShell: lambda each: self._shell.start(each.request),
            events.SeekStates: lambda each: self._checkpoints.seek(each, self._handle),
            events.DescribeCheckpoint: self._describe_checkpoint,
            events.DiscardCheckpoint: lambda each: self._checkpoints.discard(each.checkpoint),
            events.StoreStatistics: lambda each: self._records.keep(each.statistics),
            events.ExportTrace: lambda each: self._traces.take(each, time.monotonic()),
            events.WriteEvent: lambda each: self._records.write_event(each.event),
            events.MasterLog: lambda each: log.info("%s", each.text),
            events.MasterLogLevels: self._set_log_levels,
        }

    def run(self) -> int:
        """Serve until SIGTERM or the parent's death; returns the exit code."""
        self._loop.stop_on_sigterm()
        if self._open_store():
            name, token = self._topology.name, f"{random.getrandbits(63):016x}"
            self._node = MasterNode(self._store, name, token, self._me())
            if self._become_master():
                self._serve()
            self._store.close()
        end = self._loop.close(LINGER_MS)
        log.info("topology master ends: %s", end.reason)
        return end.code

    def _open_store(self) -> bool:
        """Wait for a state store that is away: data flows without us, so there is time."""
        while self._loop.end is None:
            try:
                self._store = open_store(self._store_url)
                return True
            except StateStoreError as error:
                log.warning("no state store yet: %s", error)
            self._loop.rest(STANDBY_SECS)
        return False

    def _become_master(self) -> bool:
        """Take the ephemeral node; as a standby wait for its holder to go."""
        logged = ""
        while self._loop.end is None:
            try:
                self._node.take()
                log.info("topology master at %s", self._address)
                return True
            except NameInUse as error:
                if logged != str(error):
                    logged = str(error)
                    log.info("standing by: %s", error)
                self._remove_dead_holder()
            except StateStoreError as error:
                log.warning("the master's node cannot be taken yet: %s", error)
            self._loop.rest(STANDBY_SECS)
        return False

    def _remove_dead_holder(self) -> None:
        """ZooKeeper keeps the node of a killed master for its session's timeout; we can see here
        whether the process is gone, if it was on this host.

        Under a lock: of two standbys that see it, the second would remove the first one's node.
        """
        lock = lock_path(f"{self._topology.name}__master")
        try:
            if not self._is_dead_here(self._holder()):
                return
            self._store.create(lock, self._me(), ephemeral=True)
            holder = self._holder()
            if self._is_dead_here(holder):
                log.info("its holder, pid %d, is dead", holder["pid"])
                self._store.delete(master_path(self._topology.name))
            self._store.delete(lock)
        except NameInUse:
            pass  # a second standby is trying
        except StateStoreError as error:
            log.warning("the master's node cannot be read: %s", error)

    def _holder(self) -> dict[str, Any]:
        return self._store.get(master_path(self._topology.name)) or {}

    @staticmethod
    def _is_dead_here(holder: dict[str, Any]) -> bool:
        here = holder.get("host") == socket.gethostname()
        return here and started_at(holder["pid"]) != holder.get("started")

    def _me(self) -> dict[str, Any]:
        return {
            "address": self._address,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": started_at(os.getpid()),
            "version": VERSION,
            "protocol": PROTOCOL,
        }

    def _serve(self) -> None:
        stored_plans = self._stored_plans()
        if stored_plans is None:
            return
        packing, previous = stored_plans
        self._execution = self._store.get(execution_path(self._topology.name)) or {}
        if over := over_text(self._topology.name, self._execution, time.time()):
            self._loop.stop(over, ExitCode.ENDED)
            return
        options = MasterOptions.of(self._topology.config)
        self._core = TopologyMaster(
            self._topology,
            packing,
            options,
            previous,
            self._execution,
            self._last_statistics(),
            time.time() - time.monotonic(),
            self._store.get(checkpoints_path(self._topology.name)),
        )
        if self._core.has_checkpoint:
            self._checkpoints.has_begun()
        self._core.master_began(self._link.predecessor, time.monotonic())
        # The previous master may have died during an update, without notifying the instances.
        self._reload = previous is not None
        self._keep_nodes()
        own_metrics = OwnMetrics(self._topology, options, self._labels())
        self._traces = TraceExport(self._topology, options)
        while self._loop.end is None:
            now = time.monotonic()
            if self._loop.is_timer_due(now):
                own_metrics.open(self._loop, now)
                self._nodes.poll(now, is_over=self._leave_at < float("inf"))
                self._checkpoints.poll(now)
                self._act_on_stored(now)
                self._traces.poll(self._core.packing, now)
                for result in self._shell.ended():
                    self._handle(events.MasterShellEnded(result))
                self._handle(events.MasterTimer(self._has_stored_all))
            if now >= self._leave_at:
                self._loop.stop("the topology has ended", ExitCode.ENDED)
            waits = not self._has_stored_all
            self._loop.timer_secs = TIMER_SECS if waits else self._core.timer_secs
            ready = self._loop.poll(self._loop.until_timer_secs(now))
            self._core.counters.update(self._loop.connections)
            for message in self._loop.received(self._router, ready, DRAIN_MESSAGES):
                self._receive(message)
            own_metrics.answer(ready, self._core, now)
            for worker in (self._nodes, self._checkpoints):
                if worker.readable in ready:
                    worker.finish()
        own_metrics.close()
        self._take_last_numbers()
        self._traces.close(self._core.packing)
        self._checkpoints.close(CLOSE_SECS)
        self._nodes.close()
        self._act_on_stored(float("inf"))

    # --- what is stored -----------------------------------------------------------------------

    @property
    def _has_stored_all(self) -> bool:
        return self._nodes.is_written and not self._undescribed

    def _put_node(self, path: str, value: Any) -> None:
        """In the order of the decisions, and behind the description of a completed checkpoint: the
        next run looks for that."""
        self._has_put = True
        if self._describing:
            self._undescribed.append((path, value))
        else:
            self._nodes.put(path, value)

    def _is_described(self) -> None:
        self._describing -= 1
        undescribed, self._undescribed = self._undescribed, []
        for path, value in undescribed:
            self._put_node(path, value)

    def _is_stored(self) -> None:
        now = time.monotonic()
        self._act_on_stored(now)
        if self._loop.end is None:
            self._handle(events.MasterTimer(self._has_stored_all))

    def _act_on_stored(self, now: float) -> None:
        """Notify commands that wait for stored changes."""
        if self._reload and self._has_stored_all:
            self._reload = False
            self._link.request_reload()
        deferred, self._deferred = self._deferred, []
        for until, instruction in deferred:
            if self._has_stored_all or now >= until:
                self._transmit(instruction)
            else:
                self._deferred.append((until, instruction))

    def _taken_over(self, reason: str) -> None:
        self._loop.stop(reason, 1)

    def _keep_nodes(self) -> None:
        self._nodes = StoredNodes(
            self._store, self._topology.name, self._node, self._is_stored, self._taken_over
        )
        for path in (
            topology_path,
            master_path,
            packing_path,
            physical_path,
            execution_path,
            checkpoints_path,
        ):
            at = path(self._topology.name)
            if (value := self._store.get(at)) is not None:
                self._nodes.keep(at, value)
        for worker in (self._nodes, self._checkpoints):
            self._loop.register(worker.readable)

    def _labels(self) -> dict[str, str]:
        scheduler = self._store.get(scheduler_path(self._topology.name))
        return labels_of(self._topology, self._execution, scheduler)

    def _take_last_numbers(self) -> None:
        """The containers end before the master: read their last messages."""
        for message in drain(self._router, LAST_MESSAGES_MAX):
            self._receive(message)
        now = time.monotonic()
        stats = self._core.stats(None, now)
        each_one = {name: self._core.stats(name, now).instances or () for name in stats.components}
        self._records.write_last_numbers(stats, each_one)

    def _last_statistics(self) -> dict[str, Any]:
        """The previous master's statistics; empty if invalid."""
        retained = self._records.retained()
        try:
            if retained:
                Measurements(self._topology, self._packing).remember(retained)
                Incidents(0.0, retained["events"])
        except (ProtocolError, KeyError, TypeError) as error:
            log.warning("ignoring the counters of the previous topology master: %s", error)
            return {}
        return retained

    def _stored_plans(self) -> tuple[PackingPlan, PhysicalPlan | None] | None:
        """Target packing plan and physical plan; None if invalid."""
        packing_at = packing_path(self._topology.name)
        physical_at = physical_path(self._topology.name)
        packing, physical = self._store.get(packing_at), self._store.get(physical_at)
        at = packing_at
        try:
            wanted = self._packing if packing is None else packing_from_json(packing)
            at = physical_at
            return wanted, None if physical is None else physical_from_json(physical)
        except ProtocolError as error:
            self._loop.stop(f"{at} in the state store: {error}", 1)
            return None

    def _receive(self, message: list[bytes]) -> None:
        """From a stream manager numbered; from a command, or an engine of another protocol, not."""
        sender, *frames = message
        event: events.Event
        try:
            body = frames[0] if len(frames) == 1 else None
            if len(frames) > 1:
                sender, body = self._taken(sender, Packet(decode_header(frames[1]), frames[0]))
            if body is None:
                return
            event = events.MasterReceived(sender, message_codec.decode(body))
        except OtherProtocol as error:
            event = events.MasterOtherEngine(sender, str(error))
        except ProtocolError as error:
            event = events.MasterMalformed(str(error))
        self._handle(event)

    def _taken(self, connection: bytes, packet: Packet[bytes]) -> tuple[bytes, bytes | None]:
        """A packet as (sender, message), where a message is in it whose turn it is."""
        arrived = self._links.take(connection, packet, time.monotonic())
        for each in arrived.packets:
            self._put(*each)
        return arrived.sender, arrived.message or None

    def _put(self, connection: bytes, packet: Packet[bytes]) -> None:
        frames = [connection, packet.message or b"", packet.header.encode()]
        self._router.send_multipart(frames)

    def _handle(self, event: events.Event) -> None:
        self._has_put = False
        for each in self._core.handle(event, time.monotonic()):
            self._perform[type(each)](each)

    def _set_log_levels(self, instruction: events.MasterLogLevels) -> None:
        self._log_levels.apply(instruction.levels.levels, time.monotonic())

    def _send(self, each: events.Send) -> None:
        changes = self._has_put and isinstance(each.message, messages.Reply)
        if changes and not self._has_stored_all:
            self._deferred.append((time.monotonic() + ANSWER_SECS, each))
        else:
            self._transmit(each)

    def _transmit(self, each: events.Send) -> None:
        data = self._encoder.encode(each.message)
        is_retained = not isinstance(each.message, messages.HeartbeatAck)
        packet = self._links.send(each.receiver, data, is_kept=is_retained)
        if packet is not None:
            self._put(*packet)
        elif not is_manager(each.receiver):
            self._router.send_multipart([each.receiver, data])

    def _store_packing(self, each: events.StorePacking) -> None:
        self._reload = True
        self._put_node(packing_path(self._topology.name), each.packing)

    def _store_plan(self, each: events.StorePlan) -> None:
        if self._packing_stored not in (None, each.plan["packing"]):
            self._reload = True
        self._packing_stored = each.plan["packing"]
        self._put_node(physical_path(self._topology.name), each.plan)

    def _store_checkpoints(self, each: events.StoreCheckpoints) -> None:
        self._put_node(checkpoints_path(self._topology.name), each.checkpoints)

    def _describe_checkpoint(self, each: events.DescribeCheckpoint) -> None:
        plain = description_of(self._topology, self._core.packing, each.checkpoint, each.at)
        described = to_json(replace(plain, at_end=each.at_end))
        self._describing += 1
        self._checkpoints.describe(each.checkpoint, described, self._is_described)

    def _store_state(self, change: events.StoreState) -> None:
        if change.state in TopologyState.OVER:
            self._leave_at = time.monotonic() + ENDED_LINGER_SECS
            ended_at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
            self._execution = {**self._execution, "ended_at": ended_at}
        self._execution = {
            **self._execution,
            "state": change.state,
            "reason": change.reason,
            "draining": change.draining,
            "update": change.update,
        }
        self._put_node(execution_path(self._topology.name), self._execution)


def run(
    topology: TopologySpec,
    packing: PackingPlan,
    arguments: MasterArguments,
    link: SupervisorLink,
) -> int:
    """The topology master until it is told to end; returns the exit code."""
    return MasterServer(topology, packing, arguments, link).run()
