"""What an update decides and the lifecycle carries out (lifecycle.py), in order."""

from msgspec import Struct

from heron_core.plans import PackingPlan
from heron_core.wire.messages import DeferFails, SaveForUpdate
from heron_engine.topology_master.events import MasterLog, StorePacking


class PublishPlan(Struct, frozen=True):
    """Store the physical plan and send it to all stream managers."""


class SwitchPlan(Struct, frozen=True):
    """Run by another packing plan, whose stream managers are all registered."""

    packing: PackingPlan


class Dismiss(Struct, frozen=True):
    """Forget the stream managers of containers that are not to be."""

    containers: frozenset[int]


class StoreExecution(Struct, frozen=True):
    """Store the execution state, with how far the update is."""


class RestartProbes(Struct, frozen=True):
    """Find out again whether anything is in flight."""


class RequestCheckpoint(Struct, frozen=True):
    """Take a checkpoint as soon as one can be taken."""


Decision = (
    PublishPlan
    | SwitchPlan
    | Dismiss
    | StoreExecution
    | RestartProbes
    | RequestCheckpoint
    | SaveForUpdate
    | DeferFails
    | StorePacking
    | MasterLog
)
