"""The sizing model: how busy an instance is, and how many instances a component needs.

`heronpy stats`, `heronpy advise`, the pages and the autoscaler share it. They differ in what they
measure: one report with the pauses of ten seconds, or a window of reports through the whole graph.
"""

import math
from collections.abc import Mapping

from msgspec import Struct, field

from heron_core.config import AUTOSCALE_TARGET_UTILIZATION, DEFAULTS

GROWTH_MAX = 4
"""One decision makes at most so many times the instances (as Heron's health manager): what was
measured under overload is an estimate, and the next window knows better."""
THROTTLED_MAX = 0.95
"""A sender that is held nearly always says only that far more is wanted."""
ROUNDING = 1e-6
"""A need of 4.0000001 instances is one of 4."""
FIXED_STATE = (
    "state saved by put() belongs to an instance and cannot be divided, so the parallelism "
    "stays; use keyed state"
)
"""Why the number of a component's instances is not changed."""


class SizingLimits(Struct, frozen=True, kw_only=True):
    """What a topology's config says of the numbers of its instances."""

    target_utilization: float = DEFAULTS[AUTOSCALE_TARGET_UTILIZATION]
    """How busy instances are to be after a change: bursts need some capacity."""
    instances_max: Mapping[str, int] = field(default_factory=dict)
    """component -> how many instances it may have, for those that may be scaled."""


class Demand(Struct, frozen=True, kw_only=True):
    """What a bolt would get in a second, without back-pressure."""

    shared: float
    """Tuples that more instances would share."""
    fixed: float
    """Tuples that one instance gets whatever their number: of streams that go to all or to one, and
    of a key that stands out."""
    because: str = ""
    """Why some are fixed, as a clause."""
    keys: int | None = None
    """How many keys the input has, where they are few: more instances than that have no work."""

    @property
    def total(self) -> float:
        """Of all instances, with one."""
        return self.shared + self.fixed

    def of_busiest(self, instances: int) -> float:
        """What the busiest of so many instances gets."""
        return self.shared / instances + self.fixed


def worked_secs(busy_secs: float, waited_secs: float) -> float:
    """The work of a process: without its waits for back-pressure in the middle of a batch."""
    return max(0.0, busy_secs - waited_secs)


def capacity(worked: float, secs: float) -> float:
    """The share of its time that an instance works (Storm's capacity), 0 to 1."""
    return min(1.0, max(0.0, worked / secs))


def throttled(share: float) -> float:
    """The share of its time that a sender was held, as the model takes it."""
    return min(THROTTLED_MAX, max(0.0, share))


def unthrottled(rate: float, share: float) -> float:
    """What a sender that is held for a share of its time would send without that."""
    return rate / (1 - throttled(share))


def needed(demand: Demand, rate: float, utilization: float) -> int | None:
    """So many instances of a rate are so busy with a demand; None if no number is enough."""
    left = rate * utilization - demand.fixed
    if demand.shared <= 0:
        return 1 if left >= 0 else None
    if left <= 0:
        return None
    return max(1, math.ceil(demand.shared / left - ROUNDING))


def granted(needs: int, instances: int, most: int | None) -> int:
    """How many instances one change may make of those that are there."""
    wanted = min(needs, instances * GROWTH_MAX)
    return wanted if most is None else min(wanted, most)
