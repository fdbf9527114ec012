"""The settings of autoscaling, read once from a topology's config (topology.autoscale.*)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.algorithms.autoscale.sizing import SizingLimits
from heron_core.config.keys_of_changes import FOR_ALL
from heron_core.errors import TopologyError, shown
from heron_core.storm_settings import instances_limit
from heron_core.topology import TopologySpec

INSTANCES_TIMES_MAX = 4
"""Without a maximum of its own a component may get so many times the instances of its submit: a
model that errs must not fill a cluster."""


class Mode(StrEnum):
    """What is done about a decision."""

    OFF = "off"
    ADVISE = "advise"
    """Report only, without a change."""
    ON = "on"


class Policy(StrEnum):
    """How a decision is found."""

    RATES = "rates"
    """True processing rates, propagated from the spouts' offered rates through the graph (DS2,
    Kalavri et al., OSDI 2018)."""
    THRESHOLD = "threshold"
    """One instance more for a bolt that was busy for too long (SEEP, Castro Fernandez et al.,
    SIGMOD 2013)."""


class AutoscaleOptions(Struct, frozen=True, kw_only=True):
    """Settings of autoscaling."""

    mode: Mode
    policy: Policy
    interval_secs: float
    """Between two looks at the numbers."""
    window_secs: float
    """Rates are means over so long, and the first decision comes after it."""
    cooldown_secs: float
    """Cool-down after a change; longer after a failed change."""
    shrink_window_secs: float
    """Instances are taken away if none was needed for so long (Kubernetes' stabilization)."""
    move_cost_secs: float
    """Assumed duration of a change, during which spouts pause; after real changes, the duration
    of the last one if longer."""
    target_utilization: float
    """How busy instances are to be after a change: bursts need some room."""
    threshold_utilization: float
    threshold_reports: int
    """Of the policy `threshold`: so many looks in a row above the utilization (SEEP: 2, 70 %)."""
    instances_min: Mapping[str, int]
    instances_max: Mapping[str, int]
    """component -> limits, for scalable components."""

    @staticmethod
    def of(topology: TopologySpec) -> "AutoscaleOptions":
        """The settings in a topology's config; TopologyError naming the key that is wrong."""
        config = keys.with_defaults(topology.config)
        chosen = _components(topology, config)
        options = AutoscaleOptions(
            mode=Mode(keys.autoscale_mode(config)),
            policy=Policy(keys.autoscale_policy(config)),
            interval_secs=keys.seconds(config, keys.AUTOSCALE_INTERVAL_SECS),
            window_secs=keys.seconds(config, keys.AUTOSCALE_WINDOW_SECS),
            cooldown_secs=keys.seconds(config, keys.AUTOSCALE_COOLDOWN_SECS),
            shrink_window_secs=keys.seconds(config, keys.AUTOSCALE_SHRINK_WINDOW_SECS),
            move_cost_secs=keys.seconds(config, keys.AUTOSCALE_MOVE_COST_SECS),
            target_utilization=keys.share(config, keys.AUTOSCALE_TARGET_UTILIZATION),
            threshold_utilization=keys.share(config, keys.AUTOSCALE_THRESHOLD_UTILIZATION),
            threshold_reports=keys.value_of(config, keys.AUTOSCALE_THRESHOLD_REPORTS),
            instances_min=_limits(topology, config, keys.AUTOSCALE_INSTANCES_MIN, chosen),
            instances_max=_limits(topology, config, keys.AUTOSCALE_INSTANCES_MAX, chosen),
        )
        _check(options)
        return options

    @property
    def sizing(self) -> SizingLimits:
        """What the sizing model goes by."""
        return SizingLimits(
            target_utilization=self.target_utilization, instances_max=self.instances_max
        )

    def may_scale(self, component: str) -> bool:
        """Whether a component's number of instances may be changed."""
        return component in self.instances_max


def check(topology: TopologySpec) -> None:
    """TopologyError if a setting is wrong; whether parallelisms are numbers, others say."""
    numbers = [each.parallelism for each in topology.components]
    if all(type(each) is int and each > 0 for each in numbers):
        AutoscaleOptions.of(topology)


def _check(options: AutoscaleOptions) -> None:
    if options.window_secs < options.interval_secs:
        raise TopologyError(
            f"{keys.AUTOSCALE_WINDOW_SECS} is {options.window_secs:g}, which is less than "
            f"{keys.AUTOSCALE_INTERVAL_SECS}, {options.interval_secs:g}: rates need two looks"
        )
    for name, least in options.instances_min.items():
        if least > options.instances_max[name]:
            raise TopologyError(
                f"{keys.AUTOSCALE_INSTANCES_MIN} of {name} is {least}, above its maximum of "
                f"{options.instances_max[name]} ({keys.AUTOSCALE_INSTANCES_MAX})"
            )


def _components(topology: TopologySpec, config: Mapping[str, Any]) -> list[str]:
    """Scalable components: all bolts, or the named bolts. A spout's parallelism depends on its
    source (partitions, files), which is unknown here."""
    bolts = [each.name for each in topology.components if not each.is_spout]
    if config.get(keys.AUTOSCALE_COMPONENTS) is None:
        return bolts
    names: list[str] = keys.value_of(config, keys.AUTOSCALE_COMPONENTS)
    for name in names:
        _check_bolt(name, bolts, keys.AUTOSCALE_COMPONENTS)
    return names


def _limits(
    topology: TopologySpec, config: Mapping[str, Any], key: str, chosen: list[str]
) -> dict[str, int]:
    """component -> limit: one number for all, or {component: number}."""
    is_least = key == keys.AUTOSCALE_INSTANCES_MIN
    limits = {name: 1 if is_least else _times_more(topology, name) for name in chosen}
    given = {} if config.get(key) is None else keys.value_of(config, key)
    if FOR_ALL in given:
        return dict.fromkeys(chosen, given[FOR_ALL])
    for name in given:
        _check_bolt(name, chosen, key)
    return {**limits, **given}


def _times_more(topology: TopologySpec, name: str) -> int:
    """Default limit of a bolt: a multiple of the submitted parallelism, within the bolt's
    config."""
    component = topology.by_name[name]
    wanted = INSTANCES_TIMES_MAX * component.parallelism
    return min(wanted, instances_limit(topology.config, component) or wanted)


def _check_bolt(name: Any, bolts: list[str], key: str) -> None:
    if name not in bolts:
        problem = f"{key} names {shown(name)}, which cannot be scaled"
        raise TopologyError(f"{problem}: use {', '.join(bolts)}")
