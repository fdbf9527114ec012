"""The answer of `stats`: all numbers of the topology as the master has them now."""

from collections.abc import Mapping
from typing import Any

from heron_core.plans import TopologyState
from topology_master.lifecycle import Lifecycle
from topology_master.termination import Phase


def topology_stats(
    life: Lifecycle, counters: Mapping[str, int], component: str | None, now: float
) -> dict[str, Any]:
    """All numbers; those of one component's instances too if it is given."""
    detector, phase = life.termination.detector, life.termination.phase
    stats: dict[str, Any] = {
        "topology": life.topology.name,
        "state": TopologyState.ENDED if phase is Phase.ENDED else life.state,
        "epoch": life.plan.epoch,
        "phase": phase.value,
        "quiet": detector.drained,
        "lost": detector.lost,
        "update": {
            **life.rescale.to_json(detector.uncounted),
            "step": None if life.rescale.stage is None else life.rescale.stage.value,
            "waiting_for": life.rescale.waiting_for(life.view),
        },
        "containers": sorted(life.members.registered),
        "containers_expected": sorted(life.expected),
        "registered": {
            container: {
                "host": each.registration.host,
                "pid": each.registration.pid,
                "secs": now - each.since,
            }
            for container, each in life.members.registered.items()
        },
        "components": life.measurements.components(),
        "paused": life.measurements.paused(life.plan.packing),
        "stream_managers": life.measurements.stream_managers(),
        "master": dict(counters),
        "errors": life.measurements.errors(),
    }
    if component in life.topology.by_name:
        stats["instances"] = life.measurements.instances(component)
    return stats
