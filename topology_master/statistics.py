"""The answer of `stats`: all numbers of the topology as the master has them now."""

from collections.abc import Mapping

from heron_core.plans import TopologyState
from heron_core.stats import RegisteredStats, TopologyStats, UpdateStats
from topology_master.lifecycle import Lifecycle
from topology_master.membership import RegisteredStreamManager
from topology_master.termination import Phase


def topology_stats(
    life: Lifecycle, counters: Mapping[str, int], component: str | None, now: float
) -> TopologyStats:
    """All numbers; those of one component's instances too if it is given."""
    detector, phase = life.termination.detector, life.termination.phase
    registered, measurements = life.members.registered, life.measurements
    wanted = component if component in life.topology.by_name else None
    return TopologyStats(
        topology=life.topology.name,
        state=TopologyState.ENDED if phase is Phase.ENDED else life.state,
        epoch=life.plan.epoch,
        phase=phase.value,
        drained=detector.drained,
        lost=detector.lost,
        update=_update_stats(life),
        containers=tuple(sorted(registered)),
        containers_expected=tuple(sorted(life.expected)),
        registered={each: _registered_stats(registered[each], now) for each in registered},
        components=measurements.components(),
        paused=measurements.paused(life.plan.packing),
        stream_managers=measurements.stream_managers(),
        master=dict(counters),
        errors=measurements.errors(),
        instances=measurements.instances(wanted) if wanted else None,
    )


def _update_stats(life: Lifecycle) -> UpdateStats:
    update, stage = life.rescale, life.rescale.stage
    return UpdateStats(
        **update.to_json(life.termination.detector.uncounted),
        stage=None if stage is None else stage.value,
        waiting_for=tuple(update.waiting_for(life.view)),
    )


def _registered_stats(manager: RegisteredStreamManager, now: float) -> RegisteredStats:
    who = manager.registration
    return RegisteredStats(host=who.host, pid=who.pid, secs=now - manager.since)
