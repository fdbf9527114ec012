"""Snapshot of one topology: nodes in the state store, and statistics of the master."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heron_core.config import ENVIRONMENT
from heron_core.errors import HeronError
from heron_core.plans import (
    PackingPlan,
    PhysicalPlan,
    packing_from_json,
    physical_from_json,
)
from heron_core.stats import ComponentStats, InstanceStats, RegisteredStats, TopologyStats
from heron_core.topology import TopologySpec, topology_from_json
from heron_engine.scheduler.stored_outcomes import LOST, ended_text

LOCAL_CLUSTER = "local"
DEFAULT_ENVIRONMENT = "default"
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Values of a topology's nodes in the state store; None for a missing node."""

    topology: Any = None
    packing: Any = None
    physical: Any = None
    execution: Any = None
    scheduler: Any = None
    master: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySnapshot:
    """One topology."""

    name: str
    spec: TopologySpec | None = None
    """None for a malformed node."""
    packing: PackingPlan
    """Without containers before the first plan."""
    physical: PhysicalPlan | None = None
    execution: Mapping[str, Any] = field(default_factory=dict)
    """state, reason, submitted_at, host, user, logs"""
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    """kind, host, pid or cluster"""
    master: Mapping[str, Any] = field(default_factory=dict)
    """address, host, pid"""
    alive: bool = True
    """Whether its scheduler is alive, as far as visible locally."""
    stats: TopologyStats | None = None
    """Statistics with the instances of all components; None without a recent answer of the
    master.
    """
    stats_at: float = 0.0
    """Time of the statistics, in seconds since 1970."""
    trouble: str = ""
    """Reason for missing data, in one line."""
    has_ended: bool = False
    """The topology is gone: `execution` is the record of its end."""

    @property
    def cluster(self) -> str:
        """Target cluster of the submission; "local" for the local machine."""
        return str(self.scheduler.get("cluster") or LOCAL_CLUSTER)

    @property
    def role(self) -> str:
        """Heron's term for the submitting user."""
        return str(self.execution.get("user") or UNKNOWN)

    @property
    def environ(self) -> str:
        """Heron's environment of a topology."""
        known = self.execution if self.spec is None else self.spec.config
        found = known.get(ENVIRONMENT)
        return found if isinstance(found, str) and found else DEFAULT_ENVIRONMENT

    @property
    def host(self) -> str:
        """Target environment of the submission."""
        return str(self.execution.get("host") or UNKNOWN)

    @property
    def state(self) -> str:
        """RUNNING, PAUSED, …; LOST if only nodes are left."""
        if not self.alive:
            return LOST
        if self.stats is not None and not self.has_ended:
            return self.stats.state
        return str(self.execution.get("state") or UNKNOWN.upper())

    @property
    def submitted_secs(self) -> int:
        """Time of the submission, in seconds since 1970; 0 if unknown."""
        try:
            return int(datetime.fromisoformat(str(self.execution["submitted_at"])).timestamp())
        except (KeyError, ValueError, OverflowError, OSError):
            return 0

    @property
    def id(self) -> str:
        """Id of the run for Storm and Heron, unique among runs of the name."""
        return f"{self.name}-{self.submitted_secs}"

    @property
    def components(self) -> Mapping[str, ComponentStats]:
        """The numbers of its components; empty without stats."""
        return self.stats.components if self.stats is not None else {}

    @property
    def instances(self) -> tuple[InstanceStats, ...]:
        """The numbers of all its instances; empty without stats."""
        return (self.stats.instances or ()) if self.stats is not None else ()

    @property
    def registered(self) -> Mapping[int, RegisteredStats]:
        """container -> its stream manager."""
        return self.stats.registered if self.stats is not None else {}

    def host_of(self, container: int) -> str:
        """The machine of a container."""
        found = self.registered.get(container)
        return found.host if found is not None else self.host


def ended_snapshot(name: str, outcome: Mapping[str, Any]) -> TopologySnapshot:
    """Snapshot of an ended topology: the record of its end."""
    return TopologySnapshot(
        name=name,
        packing=PackingPlan(name, ()),
        execution=outcome,
        scheduler={"cluster": outcome.get("cluster")},
        trouble=f"it has ended: {ended_text(outcome)}",
        has_ended=True,
    )


def snapshot_of(name: str, nodes: Nodes, alive: bool) -> TopologySnapshot:
    """Snapshot of the nodes, without statistics; `trouble` names a malformed node."""
    troubles: list[str] = []
    packing = _read("packing plan", packing_from_json, nodes.packing, troubles)
    submitted = _read("topology", topology_from_json, nodes.topology, troubles)
    physical = _read("physical plan", physical_from_json, nodes.physical, troubles)
    by_plan = packing if physical is None else physical.packing
    changed = None if by_plan is None else by_plan.changed
    return TopologySnapshot(
        name=name,
        spec=submitted if submitted is None or changed is None else changed,
        packing=packing or PackingPlan(name, ()),
        physical=physical,
        execution=_object(nodes.execution),
        scheduler=_object(nodes.scheduler),
        master=_object(nodes.master),
        alive=alive,
        trouble="; ".join(troubles),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read(what: str, read: Any, value: Any, troubles: list[str]) -> Any:
    """None for a missing node, and for a malformed node, which is added to `troubles`."""
    if value is None:
        return None
    try:
        return read(value)
    except (HeronError, KeyError, TypeError, ValueError, AttributeError, LookupError) as error:
        troubles.append(f"its {what} in the state store is malformed: {error!r:.200}")
        return None
