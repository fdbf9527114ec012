"""Are there slots for all containers? Pure; the driver counts executors."""

from dataclasses import dataclass, field

from heron_core.errors import HeronError
from heron_engine.scheduler.backends.spark.masters import MasterKind, SparkMaster

REGISTER_SECS_MAX = {
    MasterKind.STANDALONE: 120.0,
    MasterKind.YARN: 180.0,
    MasterKind.KUBERNETES: 180.0,
}
"""How long executors may take to register in all: Kubernetes may have to pull an image."""
REGISTER_SECS = 120.0
NO_NEWS_SECS = {MasterKind.STANDALONE: 60.0}
"""A standalone master with capacity starts executors at once: after the given time without a new
executor, none will follow (with a load of 25 their JVMs took 20 s). Other masters have queues,
so silence has no meaning."""


def check_slots(
    master: SparkMaster, have: int, need: int, *, runs: bool = False, asked: str = ""
) -> None:
    """HeronError with available and needed slots, if too few; `runs`: for a running topology;
    `asked`: requested size of executors."""
    if have >= need:
        return
    larger = master.with_slots(need)
    remedy = f"use --master '{larger}'" if larger else "add workers, ask for smaller containers"
    if runs and larger:
        remedy = f"kill the topology and submit it with --master '{larger}'"
    raise HeronError(
        f"{master.text} has {have} slot{'s' * (have != 1)}, and {need} are needed, one for each "
        f"container{asked and f' ({asked})'}: {remedy}, or pack into fewer containers"
        f" (-w {have or 1})"
    )


@dataclass(slots=True)
class RegistrationWait:
    """Watches executors register until there are enough, or no more are to be expected."""

    master: SparkMaster
    need: int
    since: float
    """Seconds of any clock that the caller goes on using."""
    have: int = 0
    runs: bool = False
    """Whether the topology is there already, and is to have more."""
    asked: str = ""
    """How large a slot is asked for, in words."""
    _changed: float = field(init=False)

    def __post_init__(self) -> None:
        self._changed = self.since

    def text(self, have: int) -> str:
        """What is missing, for the commands that wait."""
        size = f" ({self.asked})" if self.asked else ""
        return f"{self.master.text} has {have} of {self.need} slots for containers{size}"

    def enough(self, have: int, now: float) -> bool:
        """Whether there are enough slots now; HeronError when it is no use to wait longer."""
        if have != self.have:
            self.have, self._changed = have, now
        if have >= self.need:
            return True
        most = REGISTER_SECS_MAX.get(self.master.kind, REGISTER_SECS)
        no_news = NO_NEWS_SECS.get(self.master.kind, most)
        if now - self.since >= most or now - self._changed >= no_news:
            check_slots(self.master, have, self.need, runs=self.runs, asked=self.asked)
        return False
