"""Actions on a topology's page: names, confirmations, requests, progress."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from heron_core.operations import Operation, OperationKind, OperationState
from heron_core.plans import PackingPlan, TopologyState
from heron_tracker.actions import kill_arguments, update_arguments
from heron_tracker.envelope import BadRequest
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.topology_view import operation_text

MASTER_CONTAINER = 0
WAIT_SECS = 5
"""For a drain, as the command line's default."""


class Action(StrEnum):
    """Effect of a button."""

    ACTIVATE = "Activate"
    DEACTIVATE = "Deactivate"
    RESCALE = "Rescale"
    RESTART = "Restart"
    CHECKPOINT = "Checkpoint"
    SAVEPOINT = "Kill with savepoint"
    KILL = "Kill"


QUESTIONS: Mapping[Action, str] = {
    Action.ACTIVATE: "Let the spouts of {name} emit again?",
    Action.DEACTIVATE: "Pause {name}? Its spouts emit nothing until it is activated.",
    Action.RESCALE: "How many instances is each component of {name} to have?",
    Action.RESTART: "Restart the processes of {name}, one container after the other?",
    Action.CHECKPOINT: "Take a checkpoint of {name} now?",
    Action.SAVEPOINT: "Keep the state of {name} in a savepoint, then end it?",
    Action.KILL: "End {name}? What is in flight has {secs} s to be processed.",
}
"""Confirmation, shown once before the action."""
KINDS: Mapping[Action, OperationKind] = {
    Action.ACTIVATE: OperationKind.ACTIVATE,
    Action.DEACTIVATE: OperationKind.DEACTIVATE,
    Action.RESCALE: OperationKind.UPDATE,
    Action.RESTART: OperationKind.RESTART,
    Action.CHECKPOINT: OperationKind.CHECKPOINT,
    Action.SAVEPOINT: OperationKind.KILL,
    Action.KILL: OperationKind.KILL,
}
DESTRUCTIVE = frozenset({Action.KILL, Action.SAVEPOINT})


@dataclass(frozen=True, slots=True)
class RequestProgress:
    """How far a request has come."""

    text: str
    is_over: bool
    has_failed: bool


def available(snapshot: TopologySnapshot) -> tuple[Action, ...]:
    """Actions available in the topology's state."""
    is_paused = snapshot.state == TopologyState.PAUSED
    found = [Action.ACTIVATE if is_paused else Action.DEACTIVATE, Action.RESCALE, Action.RESTART]
    if snapshot.stats is not None and snapshot.stats.checkpoints is not None:
        found += [Action.CHECKPOINT, Action.SAVEPOINT]
    return (*found, Action.KILL)


def question(action: Action, snapshot: TopologySnapshot) -> str:
    """Text of the confirmation."""
    return QUESTIONS[action].format(name=snapshot.name, secs=WAIT_SECS)


def parallelism(packing: PackingPlan) -> dict[str, int]:
    """component -> how many instances it has."""
    return {name: len(tasks) for name, tasks in packing.tasks_of.items()}


def rescale_arguments(snapshot: TopologySnapshot, wanted: Mapping[str, float | None]) -> Any:
    """Of a rescale to these numbers of a form; BadRequest for what is no number of instances."""
    now = parallelism(snapshot.packing)
    changed: dict[str, int] = {}
    for name, value in wanted.items():
        if value is None or value != int(value) or value < 1:
            raise BadRequest(f"{name}: give a whole number of instances from 1 on")
        if int(value) != now.get(name):
            changed[name] = int(value)
    return update_arguments(snapshot, {"rebalanceOptions": {"executors": changed}})


def restart_arguments(snapshot: TopologySnapshot) -> dict[str, Any]:
    """Of a restart of all containers, the topology master's first."""
    return {"containers": [MASTER_CONTAINER, *(x.id for x in snapshot.packing.containers)]}


def arguments_of(
    action: Action,
    snapshot: TopologySnapshot,
    wanted: Mapping[str, float | None],
    savepoint_folder: str,
) -> dict[str, Any]:
    """The arguments of the request; BadRequest for a form that makes no sense."""
    match action:
        case Action.RESCALE:
            arguments: dict[str, Any] = rescale_arguments(snapshot, wanted)
            return arguments
        case Action.RESTART:
            return restart_arguments(snapshot)
        case Action.KILL:
            return kill_arguments(WAIT_SECS)
        case Action.SAVEPOINT:
            return {**kill_arguments(0), "savepoint": savepoint_folder}
    return {}


def progress(number: int, operation: Operation | None, name: str) -> RequestProgress:
    """State of a request stored from the page; None if removed with its topology."""
    if operation is None:
        return RequestProgress(f"request {number} is carried out: {name} has ended", True, False)
    return RequestProgress(
        f"{operation.kind.value}: {operation.state.value.lower()}, {operation_text(operation)}",
        operation.is_over,
        operation.state is OperationState.FAILED,
    )
