"""Commands from outside of the topology, and their answers."""

from collections.abc import Callable
from typing import Any

from heron_core.config import EFFECTIVELY_ONCE, RELIABILITY_MODE
from heron_core.errors import HeronError
from heron_core.operations import Requester
from heron_core.plans import MASTER_CONTAINER, Phase, TopologyState, packing_from_json
from heron_core.stats import StatsSource
from heron_core.topology_events import ACTED, EventKind
from heron_core.typed_json import from_json, to_json
from heron_core.wire.messages import Command, Json, Reply
from heron_engine.topology_master import events
from heron_engine.topology_master.incident_requests import IncidentRequests
from heron_engine.topology_master.lifecycle import Lifecycle
from heron_engine.topology_master.log_levels import LogLevelTable
from heron_engine.topology_master.queries import query_route
from heron_engine.topology_master.samples import Samples
from heron_engine.topology_master.shell_runs import ShellRuns

Out = list[events.Instruction]


def send_levels(life: Lifecycle, levels: LogLevelTable, now: float, out: Out) -> None:
    """The table of log levels for every process of the topology."""
    message = levels.message(now)
    life.send_all(message, out)
    out.append(events.MasterLogLevels(message))


class Commands:
    """Answers commands from the topology's lifecycle, samples and statistics."""

    def __init__(
        self,
        life: Lifecycle,
        source: StatsSource,
        samples: Samples,
        shell_runs: ShellRuns,
        levels: LogLevelTable,
        recordings: IncidentRequests,
    ) -> None:
        self._life = life
        self._recordings = recordings
        self._shell_runs = shell_runs
        self._levels = levels
        self._source = source
        self._samples = samples
        self._handlers: dict[str, Callable[[Json, float, Out], dict[str, Any]]] = {
            "stats": self._stats,
            "activate": self._activate,
            "deactivate": self._deactivate,
            "drain": self._drain,
            "update": self._update,
            "cancel": self._cancel,
            "checkpoint": self._checkpoint,
            "restore": self._restore,
            "autoscaled": self._autoscaled,
            ACTED: self._acted,
            "log_level": self._log_level,
            "sample": self._sample,
            "sampled": self._sampled,
            "record": self._record,
            "recorded": self._recorded,
            "run": self._run,
            "ran": self._ran,
            "query_route": self._query_route,
        }

    def answer(self, command: Command, now: float, out: Out) -> Reply:
        """Carry a command out."""
        handler = self._handlers.get(command.name)
        if handler is None:
            known = ", ".join(sorted(self._handlers))
            return Reply(False, {"error": f"no command {command.name!r} ({known})"})
        try:
            return Reply(True, handler(command.arguments, now, out))
        except HeronError as error:
            return Reply(False, {"error": str(error)})

    def _stats(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        component = arguments.get("component")
        wanted = component if isinstance(component, str) else None
        return self._source.stats(wanted, now).to_json()

    def _activate(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        return self._set_state(TopologyState.RUNNING, now, out)

    def _deactivate(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        return self._set_state(TopologyState.PAUSED, now, out)

    def _set_state(self, state: str, now: float, out: Out) -> dict[str, Any]:
        if self._life.termination.phase is Phase.ENDED:
            raise HeronError(
                f"{self._life.topology.name} has ended: the state cannot change to {state}"
            )
        changed = self._life.set_state(state, now, out)
        return {"state": state, "changed": changed}

    def _drain(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Begin a drain; `stats` has its end."""
        self._life.drain(now, out)
        return {"state": self._life.state}

    def _update(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        target = packing_from_json(arguments.get("packing") or {})
        return {"number": self._life.start_update(target, now, out)}

    def _checkpoint(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Begin a checkpoint; `stats` has its end. `quiet_secs`: time without a further checkpoint.
        `is_aligned`: barriers overtake no input."""
        once, name = self._life.effectively_once, self._life.topology.name
        if once is None:
            why = f"{RELIABILITY_MODE} is not {EFFECTIVELY_ONCE}"
            raise HeronError(f"{name} takes no checkpoints: {why}")
        if self._life.draining:
            raise HeronError(f"{name} is being killed: checkpoints are no longer taken")
        if self._life.termination.phase not in (Phase.RUNNING, Phase.DRAINING):
            raise HeronError(f"{name} is ending: checkpoints are no longer taken")
        secs = arguments.get("hold_secs", 0)
        quiet_secs = float(secs) if isinstance(secs, int | float) else 0.0
        tasks = self._life.plan.packing.instances.keys() if arguments.get("is_aligned") else ()
        return {"number": once.checkpoints.request(now, quiet_secs, frozenset(tasks))}

    def _restore(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Begin a restore; `stats` has its end."""
        number = arguments.get("checkpoint")
        if not isinstance(number, int):
            raise HeronError("restore: the number of a checkpoint is missing")
        life, name = self._life, self._life.topology.name
        if life.updates.update is not None:
            raise HeronError(f"an update of {name} is under way: wait until it is done")
        if life.draining or life.termination.phase is Phase.ENDED:
            raise HeronError(f"{name} is ending: no checkpoint can be restored any more")
        if life.effectively_once is None:
            raise HeronError(
                f"{name} takes no checkpoints: set topology.reliability.mode to EFFECTIVELY_ONCE"
            )
        life.restore_older(life.effectively_once, number, now, out)
        return {"number": number}

    def _autoscaled(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Record a decision of the autoscaler as an event."""
        what, why = (str(arguments.get(key, "")) for key in ("what", "why"))
        self._life.incidents.record(now, EventKind.AUTOSCALE, what, why)
        return {}

    def _acted(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Record a user's action as an event; HeronError for a malformed `requester`."""
        what = str(arguments.get("what", ""))
        self._life.incidents.acted(now, what, arguments.get("requester"))
        return {}

    def _log_level(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Change a log level for a while: an event, with its `requester`."""
        requester = from_json(Requester, arguments.get("requester"), "a requester")
        what = self._levels.change(arguments, now)
        self._life.incidents.acted(now, what, to_json(requester))
        send_levels(self._life, self._levels, now, out)
        return {"changed": what}

    def _sample(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Begin a sample of tuples; `sampled` has the tuples."""
        request = self._samples.begin(arguments, self._life.plan.packing)
        self._life.send_all(request, out)
        return {"sample": request.sample, "secs": request.secs}

    def _sampled(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        return self._samples.found(arguments.get("sample"), self._life.plan.packing)

    def _record(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Have instances write incidents; `recorded` has their answers."""
        request = self._recordings.begin(arguments, self._life.plan.packing)
        what = f"record incidents of {arguments.get('component') or 'all components'}"
        self._life.incidents.acted(now, what, arguments.get("requester"))
        self._life.send_all(request, out)
        return {"record": request.record}

    def _recorded(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        return self._recordings.found(arguments.get("record"), self._life.plan.packing)

    def _run(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Begin a shell command beside each container; `ran` has the results. The event is written
        before the command begins, and a malformed `requester` refuses it."""
        life = self._life
        numbers = {MASTER_CONTAINER, *life.plan.containers}
        there = {MASTER_CONTAINER, *life.members.registered}
        request = self._shell_runs.begin(arguments, numbers, there)
        text = f"run on all containers: {request.command}"
        life.incidents.acted(now, text, arguments.get("requester"))
        life.send_all(request, out)
        out.append(events.MasterStartShell(request))
        return {"run": request.run, "secs": request.secs}

    def _ran(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        return self._shell_runs.found(arguments)

    def _query_route(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        """Where a client asks about one key of COMPONENT.STATE; HeronError where it has to ask
        here."""
        life = self._life
        registered = life.members.registered
        addresses = {each: registered[each].registration.address for each in registered}
        name = str(arguments.get("name", ""))
        packing = life.plan.packing
        route = query_route(life.topology, packing, name, addresses)
        sockets = []
        for task, *_ in route["tasks"]:
            manager = registered.get(packing.container_of[task])
            known = None if manager is None else manager.registration
            sockets.append(("", "") if known is None else (known.host, known.socket_path))
        return {**route, "epoch": life.plan.epoch, "sockets": sockets}

    def _cancel(self, arguments: Json, now: float, out: Out) -> dict[str, Any]:
        reason = str(arguments.get("reason", "it was cancelled"))
        self._life.cancel_update(reason, now, out)
        return {}
