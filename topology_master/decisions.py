"""What an update decides (rescale.py) and the lifecycle carries out (lifecycle.py), in order."""

from dataclasses import dataclass

from heron_core.plans import PackingPlan
from topology_master.events import Log, StorePacking


@dataclass(frozen=True, slots=True)
class PublishPlan:
    """Store the physical plan and send it to all stream managers."""


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """Run by another packing plan, whose stream managers are all registered."""

    packing: PackingPlan


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Forget the stream managers of containers that are not to be."""

    containers: frozenset[int]


@dataclass(frozen=True, slots=True)
class StoreExecution:
    """Store the execution state, with how far the update is."""


@dataclass(frozen=True, slots=True)
class RestartProbes:
    """Find out anew whether anything is in flight."""


@dataclass(frozen=True, slots=True)
class RequestCheckpoint:
    """Take a checkpoint as soon as one can be taken."""


@dataclass(frozen=True, slots=True)
class SaveStates:
    """Ask these tasks to save their states, by the update's number."""

    number: int
    tasks: tuple[int, ...]


Decision = (
    PublishPlan
    | SwitchPlan
    | Dismiss
    | StoreExecution
    | RestartProbes
    | RequestCheckpoint
    | SaveStates
    | StorePacking
    | Log
)
