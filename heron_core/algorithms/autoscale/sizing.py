"""The sizing model: how busy an instance is, and how many instances a component needs.

`heronpy stats`, `heronpy advise`, the pages and the autoscaler share it. They differ in what they
measure: one report with the pauses of ten seconds, or a window of reports through the whole graph.
"""

import math
from collections.abc import Mapping

from msgspec import Struct, field

from heron_core.config import AUTOSCALE_TARGET_UTILIZATION, DEFAULTS

GROWTH_MAX = 4
"""Largest growth by one decision (as in Heron's health manager): rates measured under overload
are estimates, and the next window corrects them."""
THROTTLED_MAX = 0.95
"""Upper limit of the blocked share: a nearly always blocked sender shows only that far more is
needed."""
ROUNDING = 1e-6
"""A need of 4.0000001 instances is one of 4."""
FIXED_STATE = (
    "state saved by put() belongs to an instance and cannot be divided, so the parallelism "
    "stays; use keyed state"
)
"""Why the number of a component's instances is not changed."""


class SizingLimits(Struct, frozen=True, kw_only=True):
    """Autoscaling settings of a topology's config."""

    target_utilization: float = DEFAULTS[AUTOSCALE_TARGET_UTILIZATION]
    """How busy instances are to be after a change: bursts need some capacity."""
    instances_max: Mapping[str, int] = field(default_factory=dict)
    """component -> permitted parallelism, for scalable components."""


class Demand(Struct, frozen=True, kw_only=True):
    """What a bolt would get in a second, without back-pressure."""

    shared: float
    """Tuples that more instances would share."""
    fixed: float
    """Tuples per instance independent of the parallelism: from streams to all or to one, and of
    a hot key."""
    because: str = ""
    """Why some are fixed, as a clause."""
    keys: int | None = None
    """How many keys the input has, where they are few: more instances than that have no work."""

    @property
    def total(self) -> float:
        """Sum over all instances, with one instance."""
        return self.shared + self.fixed

    def of_busiest(self, instances: int) -> float:
        """Input of the busiest instance, for the given number of instances."""
        return self.shared / instances + self.fixed


def worked_secs(busy_secs: float, waited_secs: float) -> float:
    """The work of a process: without its waits for back-pressure in the middle of a batch."""
    return max(0.0, busy_secs - waited_secs)


def capacity(worked: float, secs: float) -> float:
    """Utilisation of an instance (Storm's capacity), 0 to 1."""
    return min(1.0, max(0.0, worked / secs))


def throttled(share: float) -> float:
    """Blocked share of a sender's time, as used by the model."""
    return min(THROTTLED_MAX, max(0.0, share))


def unthrottled(rate: float, share: float) -> float:
    """Output of a sender without its blocked share."""
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
    """Largest parallelism reachable by one change."""
    wanted = min(needs, instances * GROWTH_MAX)
    return wanted if most is None else min(wanted, most)
