"""Keys of changes of a running topology: updates and autoscaling."""

from collections.abc import Mapping
from typing import Any

from heron_core.config import readers as r
from heron_core.config import values as v
from heron_core.config.key import Key, Subject
from heron_core.errors import TopologyError, shown

FOR_ALL = ""
"""In the place of a component's name: a limit for all that may be scaled."""


def _list_of_bolts(config: Mapping[str, Any], key: str) -> list[str]:
    """Names as a list, or as a text with commas or blanks between them."""
    given = config[key]
    names = given.replace(",", " ").split() if isinstance(given, str) else given
    if not isinstance(names, list | tuple):
        raise TopologyError(f"{key} must be a list of bolts, not {shown(given)}")
    return [str(each) for each in names]


def _limits(config: Mapping[str, Any], key: str) -> dict[str, int]:
    """component -> its number; FOR_ALL -> the one number for all."""
    given = config[key]
    numbers = given if isinstance(given, Mapping) else {FOR_ALL: given}
    return {str(name): r.whole_number({key: numbers[name]}, key, 1) for name in numbers}


# A row is read as a paragraph.
# fmt: off
CHANGES = Subject("Updates and autoscaling")
UPDATE_DEACTIVATE_WAIT_SECS = CHANGES.add(Key(
    "topology.update.deactivate.wait.secs", r.seconds, 60,
    "timeout of an update for the tuples in flight", on_spark=False, see="UPDATING.md",
    why=(
        "Heron scales without waiting; twice the default message timeout is enough for a tuple "
        "in flight to be acked or to fail"
    ),
))
UPDATE_REACTIVATE_WAIT_SECS = CHANGES.add(Key(
    "topology.update.reactivate.wait.secs", r.seconds, 600,
    "timeout of an update for added containers and new instances",
    on_spark=False, see="UPDATING.md",
    why="Heron's: a cluster may take minutes for new containers",
))
STANDBY_CONTAINERS = CHANGES.add(Key(
    "topology.warm.containers", r.whole(0), 0,
    "number of standby containers on YARN, which replace a lost container or serve as an added one",
    on_spark=False, see="SCALING.md#standby-containers",
    why="a standby container costs as much as a working one",
))
AUTOSCALE_MODE = CHANGES.add(Key(
    "topology.autoscale.mode", r.switch(v.OFF, v.ADVISE, v.ON), v.OFF,
    "`on`: the number of instances follows the load; `advise`: decisions are events, and nothing is"
    " changed",
    see="SCALING.md#autoscaling",
    why="another number of instances is the user's decision, as is the bill",
))
AUTOSCALE_POLICY = CHANGES.add(Key(
    "topology.autoscale.policy", r.one_of(v.RATES, v.THRESHOLD), v.RATES,
    "`rates`: a model of the rates of all bolts (DS2); `threshold` (SEEP): one more instance for a"
    " bolt that was too busy in several consecutive measurements",
    see="SCALING.md#autoscaling",
))
AUTOSCALE_COMPONENTS = CHANGES.add(Key(
    "topology.autoscale.components", _list_of_bolts, None,
    "list of the bolts that may be scaled", without="all bolts", see="SCALING.md#autoscaling",
))
AUTOSCALE_INSTANCES_MIN = CHANGES.add(Key(
    "topology.autoscale.instances.min", _limits, None,
    "the fewest instances: one number for all bolts, or `{component: number}`",
    without="1", see="SCALING.md#autoscaling",
))
AUTOSCALE_INSTANCES_MAX = CHANGES.add(Key(
    "topology.autoscale.instances.max", _limits, None,
    "the most instances: one number for all bolts, or `{component: number}`",
    without="four times the number of the submit", see="SCALING.md#autoscaling",
))
AUTOSCALE_INTERVAL_SECS = CHANGES.add(Key(
    "topology.autoscale.interval.secs", r.seconds, 5,
    "the time between two measurements", see="SCALING.md#autoscaling",
))
AUTOSCALE_WINDOW_SECS = CHANGES.add(Key(
    "topology.autoscale.window.secs", r.seconds, 30,
    "rates are averaged over this time; the first decision is made when it has passed",
    see="SCALING.md#autoscaling",
    why="six measurements: reports of a second and bursts of a few are levelled out",
))
AUTOSCALE_COOLDOWN_SECS = CHANGES.add(Key(
    "topology.autoscale.cooldown.secs", r.seconds, 60,
    "the time without a change after a change; doubled for each consecutive change that failed, up"
    " to an hour",
    see="SCALING.md#autoscaling",
    why="by then the backlog is processed, and new instances have warmed up",
))
AUTOSCALE_SHRINK_WINDOW_SECS = CHANGES.add(Key(
    "topology.autoscale.shrink.window.secs", r.seconds, 300,
    "instances are removed after they were not needed for this long", see="SCALING.md#autoscaling",
    why="Kubernetes' default for pods: a lull of a few minutes does not remove instances",
))
AUTOSCALE_MOVE_COST_SECS = CHANGES.add(Key(
    "topology.autoscale.move.cost.secs", r.seconds, 1,
    "cost of a change: the time in which the spouts are paused (the duration of the last "
    "change, if longer). A change is made only if it gains more before the next change is "
    "possible",
    see="SCALING.md#autoscaling",
))
AUTOSCALE_TARGET_UTILIZATION = CHANGES.add(Key(
    "topology.autoscale.target.utilization", r.share, 0.75,
    "target utilisation of a change", see="SCALING.md#autoscaling",
    why="bursts need some room",
))
AUTOSCALE_THRESHOLD_UTILIZATION = CHANGES.add(Key(
    "topology.autoscale.threshold.utilization", r.share, 0.7,
    "of the policy `threshold`: a bolt that is busier is too busy",
    see="SCALING.md#autoscaling",
    why="SEEP's",
))
AUTOSCALE_THRESHOLD_REPORTS = CHANGES.add(Key(
    "topology.autoscale.threshold.reports", r.whole(1), 2,
    "policy `threshold`: number of consecutive measurements above the threshold",
    see="SCALING.md#autoscaling",
    why="SEEP's",
))
