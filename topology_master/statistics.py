"""The answer of `stats`: all numbers of the topology as the master has them now."""

from collections.abc import Mapping, Set

from heron_core import config as keys
from heron_core.algorithms.autoscale.options import AutoscaleOptions
from heron_core.algorithms.clocks import slowest
from heron_core.config.readers import bytes_of_components
from heron_core.plans import Phase, instance_name
from heron_core.report_interval import report_secs
from heron_core.stats import RegisteredStats, TopologyStats, UpdateStats
from heron_core.topology import TopologySpec
from heron_core.version import VERSION
from heron_engine.topology_master.ending import last_state
from heron_engine.topology_master.lifecycle import Lifecycle
from heron_engine.topology_master.membership import RegisteredStreamManager
from heron_engine.topology_master.minimum_clock import minimum_clock_stats
from heron_engine.topology_master.options import MasterOptions

OVERDUE = 1.5
"""A report is overdue after so many intervals: one and the way through a busy stream manager."""


def topology_stats(
    life: Lifecycle,
    counters: Mapping[str, int],
    options: MasterOptions,
    component: str | None,
    now: float,
    wall_clock_secs: float,
) -> TopologyStats:
    """All statistics, including instances of the given component; `wall_clock_secs` plus `now` are
    seconds since 1970."""
    detector, phase = life.termination.detector, life.termination.phase
    registered, measurements = life.members.registered, life.measurements
    silent = life.members.silent(options.silent_secs, now)
    live = registered.keys() - silent
    packing, once = life.plan.packing, life.effectively_once
    silent_secs = options.instance_silent_secs(len(packing.instances))
    fresh = measurements.fresh(now - silent_secs, silent)
    covered = None if once is None else once.checkpoints.covered
    components = measurements.components(fresh, covered, now)
    return TopologyStats(
        topology=life.topology.name,
        state=last_state(detector.lost, options) if phase is Phase.ENDED else life.state,
        epoch=life.plan.epoch,
        phase=phase.value,
        drained=life.termination.is_drained(life.draining),
        lost=_lost(life, options),
        lost_uncounted=_may_have_lost(life, options),
        in_flight=measurements.in_flight(),
        waiting_for=_waiting_for(life),
        stuck={
            instance_name(packing, task): secs
            for task, secs in life.incidents.stuck.items()
            if task in packing.instances
        },
        starting=_starting(life, fresh, live, now),
        unheard=_unheard(life, options, live, now),
        pending_max=_pending_max(life.topology) if options.tracked else {},
        tracked=options.tracked,
        events=tuple(life.incidents.newest),
        update=_update_stats(life),
        checkpoints=None if once is None else once.stats(packing, now),
        containers=tuple(sorted(live)),
        containers_expected=tuple(sorted(life.expected)),
        registered={each: _registered_stats(registered[each], now) for each in live},
        components=components,
        clock=slowest(each.clock for each in components.values()),
        minimum_clock=minimum_clock_stats(
            measurements.minimum_clock, packing, components, now, wall_clock_secs
        ),
        paused=measurements.paused(packing),
        stream_managers=measurements.stream_managers(),
        version=VERSION,
        master=dict(counters),
        errors=measurements.errors(),
        memory_bytes_max=bytes_of_components(life.topology.config, keys.RAM_MAP),
        sizing=AutoscaleOptions.of(life.topology).sizing,
        instances=measurements.instances(component, fresh, now),
    )


def _starting(life: Lifecycle, fresh: Set[int], live: Set[int], now: float) -> dict[str, float]:
    """component[index] -> seconds without a first report; nothing before the first plan."""
    if not life.plan.epoch:
        return {}
    packing = life.plan.packing
    registered_at = {each: life.members.registered[each].since for each in live}
    starting = life.measurements.starting(fresh, registered_at, now)
    return {instance_name(packing, task): secs for task, secs in starting.items()}


def _unheard(
    life: Lifecycle, options: MasterOptions, live: Set[int], now: float
) -> dict[str, float]:
    """component[index] -> seconds for which tuples wait for it and its reports are overdue; those
    of a silent container are down."""
    packing = life.plan.packing
    between_secs = report_secs(options.metrics_interval_secs, len(packing.instances))
    return {
        instance_name(packing, task): secs
        for task, secs in life.measurements.unheard(OVERDUE * between_secs, now).items()
        if packing.container_of.get(task) in live
    }


def _pending_max(topology: TopologySpec) -> dict[str, int]:
    """Spout -> unfinished tracked tuples of an instance at most."""
    usual = keys.with_defaults(topology.config)
    return {
        each.name: keys.value_of({**usual, **each.config}, keys.MAX_SPOUT_PENDING)
        for each in topology.components
        if each.is_spout
    }


def _lost(life: Lifecycle, options: MasterOptions) -> int:
    """Deliveries neither processed nor replayed. After an instance was replaced after a crash,
    the detector's difference is meaningless, because the old process's counts are lost."""
    losses, detector = life.measurements.losses, life.termination.detector
    if options.checkpoints:
        # What a process had taken along is processed again, and counted again by all.
        return detector.lost
    if options.tracked or losses.instances:
        return losses.deliveries
    return max(losses.deliveries, detector.lost)


def _may_have_lost(life: Lifecycle, options: MasterOptions) -> bool:
    losses, detector = life.measurements.losses, life.termination.detector
    is_counted = detector.drained and not losses.instances
    recovers = options.tracked or options.checkpoints
    return bool(losses.stream_managers) and not recovers and not is_counted


def _waiting_for(life: Lifecycle) -> tuple[str, ...]:
    """Instances that delay a stop or the end of a finite run: not idle in the last round of
    probes."""
    packing, termination = life.plan.packing, life.termination
    tasks = termination.detector.busy() if life.draining else termination.waits_for()
    return tuple(instance_name(packing, task) for task in sorted(tasks & packing.instances.keys()))


def _update_stats(life: Lifecycle) -> UpdateStats:
    update, stage = life.updates, life.updates.stage
    return UpdateStats(
        **update.to_json(life.termination.detector.uncounted),
        stage=None if stage is None else stage.value,
        waiting_for=tuple(update.waiting_for(life.view)),
    )


def _registered_stats(manager: RegisteredStreamManager, now: float) -> RegisteredStats:
    who = manager.registration
    secs = now - manager.since
    return RegisteredStats(host=who.host, pid=who.pid, secs=secs, version=who.version)
