"""Scheduled updates; the plan is computed at start time from the topology as it is then."""

from collections.abc import Mapping
from typing import Any

from heron_core.code_change import CodeChange, changed_code
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec, topology_from_json, topology_to_json
from heron_engine.scheduler.packing import repack
from heron_engine.scheduler.packing.code_packing import pack_code

CODE, ALLOWED = "code", "allow_non_restored"
INSTANCES, CONTAINERS, GROW = "instances", "containers", "grow"


def code_wanted(loaded: TopologySpec, allow_non_restored: bool) -> dict[str, Any]:
    """New code, as it stands in a request."""
    return {CODE: topology_to_json(loaded), ALLOWED: allow_non_restored}


def numbers_wanted(
    instances: Mapping[str, int], containers: int | None, grow: bool
) -> dict[str, Any]:
    """Other numbers of instances or containers, as they stand in a request."""
    return {INSTANCES: dict(instances), CONTAINERS: containers, GROW: grow}


def wanted_plan(
    wanted: Mapping[str, Any], topology: TopologySpec, current: PackingPlan
) -> PackingPlan:
    """The plan for a topology that runs by `current`; HeronError saying what cannot be."""
    if CODE not in wanted:
        return repack(topology, current, wanted[INSTANCES], wanted[CONTAINERS], wanted[GROW])
    change = code_change(wanted, topology, current)
    return current if change.is_nothing else pack_code(current, change)


def code_change(
    wanted: Mapping[str, Any], topology: TopologySpec, current: PackingPlan
) -> CodeChange:
    """What new code means; HeronError saying what cannot be."""
    instances = {name: len(tasks) for name, tasks in current.tasks_of.items()}
    loaded = topology_from_json(wanted[CODE])
    return changed_code(topology, loaded, instances, wanted[ALLOWED])
