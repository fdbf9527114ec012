"""A trouble of the drill, and the limits in seconds for its name at each place."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.drill.drilled_topology import DrilledTopology

NAMED_SECS = 2.0
"""From the trouble until a name in `heronpy stats`: instances report each second."""
GONE_SECS = 10.0
"""From the cure until the name leaves `heronpy stats`: the window of failures."""
LOOKED_AT_SECS = 2.0
"""Interval of the service for a watched topology (options.watched_secs)."""
REDRAWN_SECS = 2.0
"""Interval of an open page (heron_tracker.pages.frame.FRESH_SECS), behind the service's look."""
SCRAPED_SECS = 2.0
"""Prometheus of the drill scrapes each second and evaluates each second."""


class Place(StrEnum):
    """Where a problem is read."""

    STATS = "stats"
    API = "API"
    PAGE = "page"
    METRIC = "metric"
    ALERT = "alert"


LATER_SECS = {
    Place.STATS: 0.0,
    Place.API: LOOKED_AT_SECS,
    Place.PAGE: LOOKED_AT_SECS + REDRAWN_SECS,
    Place.METRIC: LOOKED_AT_SECS,
    Place.ALERT: LOOKED_AT_SECS + SCRAPED_SECS,
}
"""Greatest delay of a place behind `stats`."""

Action = Callable[["DrilledTopology"], None]


def told(drilled: "DrilledTopology") -> None:
    """Tell user code of the trouble."""
    drilled.trouble_file.write_text("true", "utf-8")


def untold(drilled: "DrilledTopology") -> None:
    """User code behaves again."""
    drilled.trouble_file.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One kind of trouble, and the expected words."""

    name: str
    topology: str
    """A class of tests/process/topologies/drilled.py."""
    kind: str
    """A ProblemKind; empty: only the alert has a name."""
    component: str = ""
    cause: str
    """The label `cause`, or its beginning."""
    remedy: str
    """A part of the remedy's clause."""
    alert: str
    named_secs: float = NAMED_SECS
    gone_secs: float | None = GONE_SECS
    """None: the name stays after the cure, on purpose."""
    why: str = ""
    """Reason of limits other than NAMED_SECS and GONE_SECS."""
    make: Action = told
    cure: Action = untold
    options: tuple[str, ...] = ()
    """Words `-o KEY=VALUE` of the submit."""
    also: frozenset[str] = frozenset()
    """Other kinds that the trouble may raise, before or behind its own; each other kind is a wrong
    name."""

    @property
    def places(self) -> tuple[Place, ...]:
        """Places with a name of the trouble."""
        return tuple(Place) if self.kind else (Place.ALERT,)

    def limit_secs(self, place: Place) -> float:
        """From the trouble until the name at a place."""
        return self.named_secs + LATER_SECS[place]


@dataclass(slots=True)
class Timings:
    """Measured times: place -> seconds."""

    named: dict[Place, float] = field(default_factory=dict)
    gone: dict[Place, float] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    """Other kind of problem -> its first sentence, while the trouble lasts."""
