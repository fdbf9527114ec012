"""Parallelism needed by each bolt under a policy: proposals and objections."""

from collections.abc import Mapping

from msgspec import Struct

from heron_core.algorithms.autoscale.flow import demands
from heron_core.algorithms.autoscale.options import AutoscaleOptions
from heron_core.algorithms.autoscale.readings import Load, Readings
from heron_core.algorithms.autoscale.sizing import FIXED_STATE, Demand, granted, needed
from heron_core.number_text import counted
from heron_core.records import replace
from heron_core.topology import TopologySpec

BAND_ABOVE = 1.15
"""Lower bound of growth relative to the target: together with the share below, loads within a sixth
of a mean change nothing.
"""
BAND_BELOW = 0.8
"""After a reduction, the remaining utilisation has to be below this share of the target."""


class Assessment(Struct, frozen=True, kw_only=True):
    """One bolt, by the rates of a window."""

    component: str
    instances: int
    wanted: int
    """Needed instances; `instances` for no change."""
    floor: int
    """Fewer are not enough even with the room that taking some away has to leave."""
    utilization: float
    """Utilisation of the busiest instance without back-pressure; above 1 the instance is
    overloaded."""
    input_per_sec: float
    """Input tuples per second without back-pressure."""
    rate: float | None
    """Capacity of one instance in a second of work."""
    cpu: float | None = None
    """Cores used by a working instance; None if unknown."""
    because: str = ""
    """Reason of a change, or of no change despite an overload."""


def assess(
    topology: TopologySpec, loads: Mapping[str, Load], readings: Readings, options: AutoscaleOptions
) -> tuple[Assessment, ...]:
    """All bolts that may be scaled, by their true rates."""
    wanted = demands(topology, loads, readings.hot_keys)
    is_loaded = any(max(loads[name].busy) >= options.target_utilization for name in wanted)
    return tuple(
        _assessed(name, loads[name], demand, options, is_loaded, name in readings.fixed_state)
        for name, demand in wanted.items()
        if options.may_scale(name)
    )


def _assessed(
    name: str,
    load: Load,
    demand: Demand,
    options: AutoscaleOptions,
    is_loaded: bool,
    is_fixed: bool,
) -> Assessment:
    number, target = load.instances, options.target_utilization
    if load.rate is None or demand.total <= 0:
        utilization, out_number, in_number = 0.0, 1, 1
    else:
        utilization = demand.of_busiest(number) / load.rate
        out_number = needed(demand, load.rate, target) or 0
        in_number = needed(demand, load.rate, target * BAND_BELOW) or number
    floor = max(in_number, options.instances_min[name])
    as_it_is = Assessment(
        component=name, instances=number, wanted=number, floor=floor, utilization=utilization,
        input_per_sec=demand.of_busiest(number) * number, rate=load.rate, cpu=load.cpu,
    )  # fmt: skip
    is_over = utilization > target * BAND_ABOVE and is_loaded
    if is_fixed and (is_over or floor < number):
        return replace(as_it_is, because=FIXED_STATE)
    if is_over:
        return _grown(as_it_is, out_number, demand, options)
    if floor < number:
        return replace(as_it_is, wanted=floor, because=f"{utilization:.0%} busy")
    return as_it_is


def _grown(bolt: Assessment, needs: int, demand: Demand, options: AutoscaleOptions) -> Assessment:
    """More instances, as far as they help and are allowed."""
    number, most = bolt.instances, options.instances_max[bolt.component]
    busy = f"its input would be {bolt.utilization:.0%} of its capacity"
    if demand.keys is not None and not 0 < needs <= demand.keys:
        needs = demand.keys
        busy = f"{busy}, and it has {counted(needs, 'key')}"
        if needs <= number:
            return replace(bolt, because=f"{busy}: more instances do not help")
    if not needs:
        return replace(bolt, because=f"{busy}, and {demand.because}: more instances do not help")
    wanted = granted(needs, number, most)
    if wanted <= number:
        return replace(bolt, because=(f"{busy}: {needs} instances needed, its maximum is {most}"))
    return replace(bolt, wanted=wanted, because=busy)


class Threshold:
    """SEEP's policy: one more instance for a bolt above the target in several reports in a row."""

    def __init__(self) -> None:
        self._reports: dict[str, int] = {}

    def clear(self) -> None:
        """The counts of a plan that is over."""
        self._reports.clear()

    def assess(
        self,
        assessed: tuple[Assessment, ...],
        newest: Mapping[str, Load],
        options: AutoscaleOptions,
    ) -> tuple[Assessment, ...]:
        """`assessed` by true rates states objections; `newest`: the loads between the last two
        samples."""
        return tuple(self._one(each, newest[each.component], options) for each in assessed)

    def _one(self, assessment: Assessment, load: Load, options: AutoscaleOptions) -> Assessment:
        busy = sum(load.busy) / load.instances
        is_over = busy > options.threshold_utilization
        count = self._reports.get(assessment.component, 0) + 1 if is_over else 0
        self._reports[assessment.component] = count
        if count < options.threshold_reports:
            return replace(assessment, wanted=assessment.instances, because="")
        if assessment.because and assessment.wanted <= assessment.instances:
            return assessment  # a change cannot help
        if assessment.instances >= options.instances_max[assessment.component]:
            because = f"{busy:.0%} busy, its maximum is {assessment.instances}"
            return replace(assessment, wanted=assessment.instances, because=because)
        because = f"{busy:.0%} busy in {count} looks in a row"
        return replace(assessment, wanted=assessment.instances + 1, because=because)
