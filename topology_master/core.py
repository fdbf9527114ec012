"""The topology master's decisions: `handle(event, now)` returns what to do and does nothing else.

It joins the stream managers' registrations and the packing plan to a physical plan, keeps the
topology's state, rolls up metrics, answers commands, and finds out when a finite topology is done.
Data never passes here, so losing the master stops nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heron_core.errors import HeronError, ProtocolError
from heron_core.plans import (
    PackingPlan,
    PhysicalPlan,
    TopologyState,
    leaving,
    physical_to_json,
)
from heron_core.topology import TopologySpec
from heron_core.wire import messages
from topology_master import events
from topology_master.metrics import RollUp, check_manager_metrics, check_snapshot
from topology_master.options import Options
from topology_master.rescale import Scaling, Step, containers_of
from topology_master.termination import Phase, Waves, finish_levels

Out = list[events.Instruction]

TOLD_EVERY_SECS = 60.0
"""Malformed messages are counted each, and told of once a minute."""


@dataclass(slots=True)
class Manager:
    """A registered stream manager."""

    connection: bytes
    who: messages.RegisterStreamManager
    since: float


Candidate = Manager
"""One that offers itself for a container that has one already."""


def _taken(who: messages.RegisterStreamManager) -> str:
    return f"container {who.container} is served by pid {who.pid} on {who.host}"


class TopologyMaster:
    """State of one topology's master."""

    def __init__(
        self,
        topology: TopologySpec,
        packing: PackingPlan,
        options: Options,
        previous: PhysicalPlan | None = None,
        execution: messages.Json | None = None,
    ) -> None:
        """`packing`, `previous` and `execution` are what the state store has: the packing plan that
        is to be, the plan that a master before this one published, and what it was told."""
        told = execution or {}
        told_of_update = told.get("update") or {}
        self.topology = topology
        self.packing = previous.packing if previous else packing
        self.options = options
        paused = told.get("state") == TopologyState.PAUSED
        first_state = TopologyState.PAUSED if paused else options.initial_state
        self.state = previous.state if previous else first_state
        self._stored_state = previous.state if previous else None
        if told_of_update.get("under_way"):
            self.state = told["state"]  # the plan says PAUSED, whatever the user wants
        self.epoch = previous.epoch if previous else 0
        self.phase = Phase.RUNNING
        self.draining = bool(told.get("draining"))
        self._managers: dict[int, Manager] = {}
        self._candidates: dict[int, Candidate] = {}
        self._addresses = dict(previous.stream_managers) if previous else {}
        self._paused: dict[int, dict[int, messages.PauseStatistics]] = {}
        """container -> its instances that were ever paused"""
        self._manager_stats: dict[int, Any] = {}
        self._errors: dict[int, str] = {}
        self._tell_malformed_at = float("-inf")
        self.counters = {"malformed": 0, "refused": 0, "disconnected": 0}
        """Messages that were dropped; and, counted by the server (CurveAuthenticator),
        connections without the key, and those that have ended."""
        self.rollup = RollUp(topology, self.packing)
        self._former = self.packing
        """The packing plan before the last scaling: late words of it are no nonsense."""
        self._spouts = self._spouts_in(self.packing)
        self._finished: set[int] = set()
        self.waves = Waves(
            frozenset(self.packing.instances),
            options.wave_patience_secs,
            options.quiet_secs,
            uncounted=int(told_of_update.get("uncounted", 0)),
        )
        if self.draining:
            self.waves.begin()
        self._levels = finish_levels(topology, self.packing.tasks_of)
        self._level_left: set[int] = set()
        self._scaling = Scaling(self, options, packing, told_of_update)
        self._commands: dict[str, Callable[[messages.Json, float, Out], dict[str, Any]]] = {
            "stats": self._stats,
            "activate": self._activate,
            "deactivate": self._deactivate,
            "drain": self._drain,
            "update": self._scaling.start,
            "cancel": self._cancel_update,
        }

    def handle(self, event: events.Event, now: float) -> Out:
        """What to do about `event`; `now` in seconds of any monotonic clock."""
        out: Out = []
        match event:
            case events.Timer():
                self._timer(now, out)
            case events.Malformed(reason):
                self._malformed(reason, now, out)
            case events.Received(sender, message):
                try:
                    self._received(sender, message, now, out)
                except ProtocolError as error:
                    self._malformed(str(error), now, out)
        return out

    def _malformed(self, reason: str, now: float, out: Out) -> None:
        self.counters["malformed"] += 1
        if now >= self._tell_malformed_at:
            self._tell_malformed_at = now + TOLD_EVERY_SECS
            out.append(events.Log(f"dropped a malformed message: {reason}"))

    def _received(self, sender: bytes, message: object, now: float, out: Out) -> None:
        match message:
            case messages.RegisterStreamManager():
                self._register(sender, message, now, out)
            case messages.Heartbeat():
                self._heartbeat(sender, message, now, out)
            case messages.Pong(container):
                self._still_there(sender, container, out)
            case messages.QuiescenceReport():
                self.waves.answer(message, now)
                self._scaling.answer(message)
                self._go_on(now, out)
            case messages.SpoutFinished(task, finished):
                if not any(task in self._spouts_in(plan) for plan in self._plans):
                    raise ProtocolError(f"task {task} is no spout, it cannot finish as one")
                (self._finished.add if finished else self._finished.discard)(task)
                self._go_on(now, out)
            case messages.BoltFinished(task):
                self._level_left.discard(task)
                self._go_on(now, out)
            case messages.InstanceFailed(task, error):
                if not any(task in plan.instances for plan in self._plans):
                    raise ProtocolError(f"task {task} is not in the packing plan")
                self._errors[task] = error
                out.append(events.Log(f"task {task} failed: {error}"))
            case messages.Command():
                self._command(sender, message, now, out)
            case _:
                raise ProtocolError(f"no message for a master: {message!r:.100}")

    # --- membership and the physical plan -----------------------------------------------------

    @property
    def _plans(self) -> tuple[PackingPlan, ...]:
        """The packing plans whose instances may say something now."""
        return self.packing, self._scaling.target, self._former

    def _spouts_in(self, packing: PackingPlan) -> set[int]:
        return {
            task
            for component in self.topology.components
            if component.is_spout
            for task in packing.tasks_of[component.name]
        }

    @property
    def registered(self) -> set[int]:
        """The containers whose stream managers are there."""
        return set(self._managers)

    @property
    def _served(self) -> set[int]:
        """The containers of the physical plan; added ones are not in it yet."""
        return containers_of(self.packing)

    @property
    def _expected(self) -> set[int]:
        return self._served | containers_of(self._scaling.target)

    def _register(
        self, sender: bytes, who: messages.RegisterStreamManager, now: float, out: Out
    ) -> None:
        if who.container not in self._expected:
            if self._scaling.number:
                return  # it was removed, and will be ended
            known = ", ".join(map(str, sorted(self._expected)))
            reason = f"container {who.container} is not in the packing plan (containers: {known})"
            out.append(events.Send(sender, messages.RegistrationRejected(reason)))
            return
        held = self._managers.get(who.container)
        if held is None or held.connection == sender:
            self._accept(sender, who, now, out)
        else:
            # Has it died, or are there two? The one that we have is asked, and has a moment.
            self._candidates[who.container] = Candidate(sender, who, now)
            self._send(who.container, messages.Ping(), out)

    def _accept(
        self, sender: bytes, who: messages.RegisterStreamManager, now: float, out: Out
    ) -> None:
        was_complete = self.registered >= self._served
        self._managers[who.container] = Manager(sender, who, now)
        if who.epoch > self.epoch:
            # Our predecessor published a plan that it could not write any more: ours is newer.
            self.epoch = who.epoch
            self._addresses = {}
        out.append(events.Log(f"stream manager {who.container} registered from {who.address}"))
        if who.container in self._served:
            self._plan_if_complete(who if was_complete else None, out)
        self._scaling.go_on(now, out)
        if self._level_left:
            # Its predecessor may have died with the order, or with the answers.
            left = messages.FinishBolts(tuple(sorted(self._level_left)))
            self._send(who.container, left, out)

    def _settle_candidates(self, now: float, out: Out) -> None:
        """Whoever offered itself for a container whose stream manager does not answer gets it."""
        for container, candidate in list(self._candidates.items()):
            if now - candidate.since >= self.options.takeover_secs:
                del self._candidates[container]
                self._accept(candidate.connection, candidate.who, now, out)

    def _still_there(self, sender: bytes, container: int, out: Out) -> None:
        """The stream manager that we have answers, so whoever wants its place is refused."""
        manager = self._managers.get(container)
        candidate = self._candidates.get(container)
        if manager is not None and candidate is not None and manager.connection == sender:
            del self._candidates[container]
            refused = messages.RegistrationRejected(_taken(manager.who))
            out.append(events.Send(candidate.connection, refused))

    def _plan_if_complete(self, newest: messages.RegisterStreamManager | None, out: Out) -> None:
        """Publish a plan if all are there; an unchanged one is for `newest`, None: for all."""
        if not self.registered >= self._served:
            return
        addresses = self._served_addresses()
        if addresses != self._addresses or self.epoch == 0:
            self._addresses = addresses
            self.epoch += 1
            self.publish(out)
        elif newest is None:
            # A master took over; the one before may have died before it had sent this plan to all.
            if self._plan()["state"] == self._stored_state:
                self._to_all(messages.Plan(self._plan()), out)
            else:
                self.publish(out)  # it died in the middle of an update
        else:
            self._send(newest.container, messages.Plan(self._plan()), out)

    def _plan(self) -> dict[str, Any]:
        state = TopologyState.PAUSED if self._scaling.holds else self.state
        plan = PhysicalPlan(self.topology.name, self.epoch, state, self.packing, self._addresses)
        return physical_to_json(plan)

    def _served_addresses(self) -> dict[int, str]:
        return {each: self._managers[each].who.address for each in sorted(self._served)}

    def switch(self, packing: PackingPlan, out: Out) -> None:
        """Run by another packing plan, whose stream managers are all there."""
        gone = leaving(self.packing, packing)
        self.waves.retask(frozenset(packing.instances), gone)
        self.rollup.repack(packing)
        self._former, self.packing = self.packing, packing
        self._spouts = self._spouts_in(packing)
        self._finished -= gone
        self._levels = finish_levels(self.topology, packing.tasks_of)
        self.dismiss(self.registered - self._served)
        self._addresses = self._served_addresses()
        self.epoch += 1
        self.publish(out)

    def dismiss(self, containers: set[int]) -> None:
        """Forget the stream managers of containers that are not to be."""
        for each in containers:
            for known in (self._managers, self._candidates, self._paused, self._manager_stats):
                known.pop(each, None)

    def publish(self, out: Out) -> None:
        """Store the physical plan and send it to all stream managers in it."""
        plan = self._plan()
        out.append(events.StorePlan(plan))
        self._to_all(messages.Plan(plan), out)

    def _to_all(self, message: messages.ToStreamManager, out: Out) -> None:
        for container in sorted(self.registered & self._served):
            self._send(container, message, out)

    def _send(self, container: int, message: messages.ToStreamManager, out: Out) -> None:
        out.append(events.Send(self._managers[container].connection, message))

    def _heartbeat(self, sender: bytes, beat: messages.Heartbeat, now: float, out: Out) -> None:
        manager = self._managers.get(beat.container)
        if manager is None:
            if self._scaling.number:
                # Of a container that was removed: it is to wait for its end in peace.
                out.append(events.Send(sender, messages.HeartbeatAck()))
            return
        if manager.connection != sender:
            candidate = self._candidates.get(beat.container)
            if candidate is None or candidate.connection != sender:
                # A zombie: it was stopped, and another has taken its place since.
                out.append(events.Send(sender, messages.RegistrationRejected(_taken(manager.who))))
            return
        out.append(events.Send(sender, messages.HeartbeatAck()))
        if beat.container not in self._served:
            return
        self._take_metrics(beat)
        for task, snapshot in beat.instances.items():
            try:
                self._take_snapshot(beat.container, task, snapshot, now)
            except ProtocolError as error:
                self._malformed(str(error), now, out)
        self._go_on(now, out)

    def _take_metrics(self, beat: messages.Heartbeat) -> None:
        check_manager_metrics(beat.metrics)
        paused = {task: messages.PauseStatistics(*found) for task, found in beat.paused.items()}
        named = {*paused, *(cause for each in paused.values() for cause in each.causes)}
        if not named <= {task for plan in self._plans for task in plan.instances}:
            raise ProtocolError("a heartbeat with pauses of tasks that are not in the packing plan")
        self._paused[beat.container] = paused
        self._manager_stats[beat.container] = beat.metrics

    def _take_snapshot(
        self, container: int, task: int, snapshot: messages.Json, now: float
    ) -> None:
        if self.packing.container_of.get(task) != container:
            if self._former.container_of.get(task) == container:
                return
            raise ProtocolError(f"a snapshot of task {task}, which is not in {container}")
        check_snapshot(snapshot)
        self.rollup.update(task, snapshot, now)
        if snapshot["finished"] and task in self._spouts:
            # A master that took over was not told when it happened.
            self._finished.add(task)

    # --- commands -----------------------------------------------------------------------------

    def _command(self, sender: bytes, command: messages.Command, now: float, out: Out) -> None:
        run = self._commands.get(command.name)
        if run is None:
            known = ", ".join(sorted(self._commands))
            reply = messages.Reply(False, {"error": f"no command {command.name!r} ({known})"})
        else:
            try:
                reply = messages.Reply(True, run(command.arguments, now, out))
            except HeronError as error:
                reply = messages.Reply(False, {"error": str(error)})
        out.append(events.Send(sender, reply))

    def _activate(self, arguments: messages.Json, now: float, out: Out) -> dict[str, Any]:
        return self._set_state(TopologyState.RUNNING, out)

    def _deactivate(self, arguments: messages.Json, now: float, out: Out) -> dict[str, Any]:
        return self._set_state(TopologyState.PAUSED, out)

    def _set_state(self, state: str, out: Out) -> dict[str, Any]:
        changed = state != self.state
        self.state = state
        if changed:
            self.store_state(out)
            if self.epoch:
                self.publish(out)
        return {"state": state, "changed": changed}

    def store_state(self, out: Out) -> None:
        """Store the execution state."""
        told = self._scaling.told() if self._scaling.number else {}
        out.append(events.StoreState(self.state, "", self.draining, told))

    def _cancel_update(self, arguments: messages.Json, now: float, out: Out) -> dict[str, Any]:
        """Give an update up that is not switched yet, for a reason."""
        self._scaling.cancel(str(arguments.get("reason", "it was cancelled")), out)
        return {}

    def _drain(self, arguments: messages.Json, now: float, out: Out) -> dict[str, Any]:
        """Stop the spouts and watch what is in flight; `stats` tells when it is quiet."""
        if not self.draining:
            if self._scaling.now is not None and self._scaling.now.step is not Step.INSTANCES:
                self._scaling.cancel("the topology is being killed", out)
            self.draining = True
            if not self._set_state(TopologyState.PAUSED, out)["changed"]:
                self.store_state(out)
            self.waves.begin()
        return {"state": self.state}

    def _stats(self, arguments: messages.Json, now: float, out: Out) -> dict[str, Any]:
        component = arguments.get("component")
        found: dict[str, Any] = {
            "topology": self.topology.name,
            "state": TopologyState.ENDED if self.phase is Phase.ENDED else self.state,
            "epoch": self.epoch,
            "phase": self.phase.value,
            "quiet": self.waves.quiet,
            "lost": self.waves.lost,
            "update": self._scaling.progress(),
            "containers": sorted(self._managers),
            "containers_expected": sorted(self._expected),
            "registered": {
                container: {"host": each.who.host, "pid": each.who.pid, "secs": now - each.since}
                for container, each in self._managers.items()
            },
            "components": self.rollup.components(self._queues()),
            "paused": {
                task: {
                    "instance": self._name_of(task),
                    **each._asdict(),
                    "because_of": [
                        self._name_of(cause)
                        for cause in each.causes
                        if cause in self.packing.instances
                    ],
                }
                for paused in self._paused.values()
                for task, each in paused.items()
                if task in self.packing.instances
            },
            "stream_managers": dict(self._manager_stats),
            "master": dict(self.counters),
            "errors": dict(self._errors),
        }
        if isinstance(component, str) and component in self.topology.by_name:
            found["instances"] = self.rollup.instances(component, self._queues())
        return found

    def _name_of(self, task: int) -> str:
        instance = self.packing.instances[task]
        return f"{instance.component}[{instance.index}]"

    def _queues(self) -> dict[int, int]:
        """task id -> bytes that its stream manager holds for it or has handed to it."""
        return {
            task: size
            for stats in self._manager_stats.values()
            for task, size in stats["waiting_bytes"].items()
        }

    # --- the end of a finite run --------------------------------------------------------------

    def _timer(self, now: float, out: Out) -> None:
        self._settle_candidates(now, out)
        self._scaling.go_on(now, out)
        ending = self.phase in (Phase.COUNTING, Phase.LAST_WORDS)
        counting = self.draining or self._scaling.holds or ending
        if counting and not self._level_left and self.waves.due(now, self.options.wave_secs):
            self._to_all(messages.QuiescenceProbe(self.waves.send(now)), out)

    def _go_on(self, now: float, out: Out) -> None:
        """One step towards the end, if its condition holds."""
        if self._scaling.now is not None:
            self._scaling.go_on(now, out)
            return
        if self.draining:
            return
        if not self._finished >= self._spouts:
            # A spout got a fail and emits again.
            if self.phase is Phase.COUNTING:
                self.phase = Phase.RUNNING
        elif self.phase is Phase.RUNNING:
            self.phase = Phase.COUNTING
            self.waves.begin()
        elif self.phase in (Phase.COUNTING, Phase.LAST_WORDS) and self._is_quiet():
            self._next_level(out)

    def _is_quiet(self) -> bool:
        return self.waves.quiet and not self._level_left

    def _next_level(self, out: Out) -> None:
        if not self._levels:
            self.phase = Phase.ENDED
            out.append(events.StoreState(TopologyState.ENDED, self._lost_text()))
            return
        self.phase = Phase.LAST_WORDS
        level = self._levels.pop(0)
        self._level_left = set(level)
        self.waves.begin()
        self._to_all(messages.FinishBolts(tuple(sorted(level))), out)

    def _lost_text(self) -> str:
        lost = self.waves.lost
        return f"{lost} deliveries were sent and never processed" if lost else ""
