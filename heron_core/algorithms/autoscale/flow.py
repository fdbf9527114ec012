"""Flow without back-pressure: the spouts' offered rates, propagated through the graph (DS2).

A spout's offered rate is its output divided by the share of time with permission to emit. A
bolt's output per input tuple (its selectivity, by stream) is measured; so the input of every
bolt is known even behind an overloaded bolt, and one decision scales all bolts.
"""

from collections.abc import Mapping

from heron_core.algorithms.autoscale.readings import HotKey, Load
from heron_core.algorithms.autoscale.sizing import Demand, unthrottled
from heron_core.topology import ComponentSpec, GroupingKind, InputSpec, TopologySpec

PASSES_MAX = 50
"""Iterations through a graph with cycles; an acyclic graph needs the length of its longest path."""
SETTLED = 1e-3
"""Relative change below which rates count as converged."""
RATE_MAX = 1e15
"""Limit of a rate: a cycle that multiplies its tuples has no rate, and numbers must stay finite."""
ALL_KEYS_SHARE = 0.98
"""Share of a component's input: keys with a larger sum count as all keys; the rest is chance."""
PARTIAL_CHOICES = 2
"""Instances that share a key where streams are grouped by partial key."""


def offered(load: Load) -> dict[str, float]:
    """stream -> output of an unthrottled spout, in tuples per second, at most its full speed."""
    factor = unthrottled(1.0, load.throttled)
    total = sum(load.emitted_per_sec.values())
    if load.emit_rate is not None and total > 0:
        factor = min(factor, max(1.0, load.emit_rate * load.instances / total))
    return {stream: rate * factor for stream, rate in load.emitted_per_sec.items()}


def demands(
    topology: TopologySpec, loads: Mapping[str, Load], hot_keys: Mapping[str, tuple[HotKey, ...]]
) -> dict[str, Demand]:
    """bolt -> input rate."""
    out = {
        component.name: offered(loads[component.name])
        for component in topology.components
        if component.is_spout and component.name in loads
    }
    bolts = [
        component
        for component in topology.components
        if not component.is_spout and component.name in loads
    ]
    inputs: dict[str, float] = {}
    for _ in range(PASSES_MAX):
        changed = False
        for bolt in bolts:
            before, load = inputs.get(bolt.name, -1.0), loads[bolt.name]
            amount = min(RATE_MAX, sum(_arriving(entry, out, load) for entry in bolt.inputs))
            inputs[bolt.name] = amount
            changed |= abs(amount - before) > SETTLED * max(amount, before)
            out[bolt.name] = _emitted(load, amount)
        if not changed:
            break
    return {
        bolt.name: _demand(bolt, out, inputs[bolt.name], loads[bolt.name], hot_keys)
        for bolt in bolts
    }


def _emitted(load: Load, amount: float) -> dict[str, float]:
    """stream -> what a bolt emits for so much input."""
    if load.executed_per_sec <= 0:
        return {}
    return {
        stream: amount * rate / load.executed_per_sec
        for stream, rate in load.emitted_per_sec.items()
    }


def _arriving(each: InputSpec, out: Mapping[str, Mapping[str, float]], load: Load) -> float:
    """Contribution of one input to all instances together."""
    rate = out.get(each.component, {}).get(each.stream, 0.0)
    return rate * load.instances if each.grouping.kind is GroupingKind.ALL else rate


def _demand(
    bolt: ComponentSpec,
    out: Mapping[str, Mapping[str, float]],
    amount: float,
    load: Load,
    hot_keys: Mapping[str, tuple[HotKey, ...]],
) -> Demand:
    rates = [
        (entry.grouping.kind, out.get(entry.component, {}).get(entry.stream, 0.0))
        for entry in bolt.inputs
    ]
    to_all = sum(rate for kind, rate in rates if kind is GroupingKind.ALL)
    to_one = sum(rate for kind, rate in rates if kind.is_to_one)
    shared = max(0.0, amount - to_all * load.instances - to_one)
    hottest = hot_keys.get(bolt.name, ())
    share, reason = _stands_out(bolt, load, hottest[0] if hottest else None)
    reasons = (
        (to_all, "every instance receives all tuples of a stream"),
        (to_one, "global grouping sends a stream to a single instance"),
        (share * shared, reason),
    )
    return Demand(
        shared=(1 - share) * shared,
        fixed=to_all + to_one + share * shared,
        because=max(reasons)[1] if any(each for each, _ in reasons) else "",
        keys=_known_keys(bolt, hottest),
    )


def _known_keys(bolt: ComponentSpec, hottest: tuple[HotKey, ...]) -> int | None:
    """Number of instances with a key, if the hottest keys are all keys."""
    kinds = {entry.grouping.kind for entry in bolt.inputs}
    if sum(each.share for each in hottest) < ALL_KEYS_SHARE or kinds != {GroupingKind.FIELDS}:
        return None
    return len(hottest)


def _stands_out(bolt: ComponentSpec, load: Load, hot: HotKey | None) -> tuple[float, str]:
    """The share of a bolt's input that no further instance takes over, and why."""
    kinds = {entry.grouping.kind for entry in bolt.inputs}
    is_partial = GroupingKind.PARTIAL_KEY in kinds and GroupingKind.FIELDS not in kinds
    if hot is not None:
        share = hot.share / PARTIAL_CHOICES if is_partial else hot.share
        return share, f"key {hot.key} is {hot.share:.0%} of its input"
    if load.instances < 2 or not kinds & {GroupingKind.FIELDS, GroupingKind.CUSTOM}:
        return 0.0, ""
    most = max(load.shares)
    others = (sum(load.shares) - most) / (load.instances - 1)
    if most < SKEWED * sum(load.shares) / load.instances:
        return 0.0, ""
    return most - others, f"one instance receives {most:.0%} of the input"


SKEWED = 1.5
"""Multiple of the even share from which an instance counts as skewed by hot keys (as in Heron)."""
