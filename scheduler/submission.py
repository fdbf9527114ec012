"""What is submitted: a topology with its packing plan, and where it is to be known and logged."""

import math

from msgspec import Struct, field

from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_engine.scheduler.previous_runs import PreviousRun
from heron_engine.scheduler.savepoints import Savepoint
from heron_engine.scheduler.user_folder import Home
from heron_io.security import Keys


class Submission(Struct, frozen=True):
    """A topology to run. Which back end runs it is said beside it."""

    topology: TopologySpec
    packing: PackingPlan
    store_url: str
    home: Home
    foreground: bool
    keys: Keys = field(default_factory=Keys.new)
    console: int | None = None
    """Pipe of a foreground command line that shows what components print."""
    remove_at_end: tuple[str, ...] = ()
    """Folders that are the run's own, such as an embedded ZooKeeper's data."""
    savepoint: Savepoint | None = None
    """With which state it begins."""
    previous: PreviousRun | None = None
    """What a run of its name has left and it resumes from."""
    was_up: bool = False
    """Whether the topology runs already, and containers are added to it, or its scheduler is
    another one: a process that cannot start does not end it then."""
    predecessor: str = ""
    """How the scheduler ended that this one replaces; empty for the first one."""
    waits_for_capacity: bool = False
    """`submit` goes on waiting where the cluster has no room."""

    @property
    def has_state(self) -> bool:
        """Whether it begins with the state of a checkpoint."""
        return self.savepoint is not None or (
            self.previous is not None and self.previous.checkpoint > 0
        )

    def ready_secs(self, usual_secs: float) -> float:
        """How long all instances may take to be up, where the back end's time is `usual_secs`."""
        return math.inf if self.waits_for_capacity else usual_secs
