"""From a request to its steps; a scheduled request first waits for its time."""

import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from heron_core.operations import AT, BEGUN, CHANGES, Operation, OperationKind
from heron_core.plans import packing_from_json, packing_to_json
from heron_core.records import replace
from heron_core.state_tree import topology_path
from heron_core.topology import topology_from_json
from heron_core.typed_json import from_json
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.later_updates import wanted_plan
from heron_engine.scheduler.operation_steps import OperationProgress, OperationSteps, Steps
from heron_engine.scheduler.operations import TopologyRequests, is_under_way
from heron_engine.scheduler.upgrade_steps import Upgrade

WANTED, PACKING, CONTAINERS, ENGINE = "wanted", "packing", "containers", "engine"
"""Arguments: target of a scheduled update; the plan of an immediate one, with the containers of
the previous and the new plan; the engine of an upgrade."""


class OperationKinds(Struct, frozen=True):
    """Requests of one topology."""

    steps: OperationSteps
    requests: TopologyRequests
    wall_clock: Callable[[], float] = time.time

    def of(self, number: int, request: Operation) -> Steps:
        """The steps of a request."""
        if AT in request.arguments:
            return self._at_its_time(number, request)
        return self._of(request)

    def _of(self, request: Operation) -> Steps:
        steps, arguments = self.steps, request.arguments
        match request.kind:
            case OperationKind.KILL:
                return steps.kill_with_savepoint(request)
            case OperationKind.RESTART:
                done = request.result.get("restarted", ())
                return steps.restart(arguments["containers"], done)
            case OperationKind.UPDATE:
                plan = request.result.get(PACKING) or arguments[PACKING]
                touched = frozenset(arguments.get(CONTAINERS, ()))
                return steps.update(packing_from_json(plan), touched)
            case OperationKind.UPGRADE:
                engine = from_json(InstalledEngine, arguments[ENGINE], "an engine")
                return Upgrade(steps, engine).run(request.result)
            case OperationKind.ACTIVATE | OperationKind.DEACTIVATE:
                return steps.change_state(request.kind)
            case OperationKind.CHECKPOINT:
                return steps.checkpoint()
            case OperationKind.CANCEL:
                return steps.cancel_update(str(request.requester))

    def _at_its_time(self, number: int, request: Operation) -> Steps:
        """Other requests are carried out meanwhile."""
        at = float(request.arguments[AT])
        if BEGUN not in request.result:
            while self.wall_clock() < at:
                yield OperationProgress(f"waits until {shown_time(at)}")
            while is_under_way(self.requests.all(without={number}), CHANGES):
                yield OperationProgress("waits until another update is done")
            begun = {BEGUN: True, **self._planned(request)}
            yield OperationProgress(result=begun)
            request = replace(request, result={**request.result, **begun})
        return (yield from self._of(request))

    def _planned(self, request: Operation) -> dict[str, Any]:
        """Current target of an update, for a process that takes over."""
        if request.kind is not OperationKind.UPDATE:
            return {}
        current = self.steps.stored_plan()
        stored = self.steps.store.get(topology_path(self.steps.name)) or {}
        topology = current.topology_of(topology_from_json(stored))
        plan = wanted_plan(request.arguments[WANTED], topology, current)
        return {PACKING: packing_to_json(plan)}


def shown_time(at: float) -> str:
    """Seconds since 1970, for people: local time with its offset."""
    return time.strftime("%Y-%m-%d %H:%M:%S%z", time.localtime(at))
