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
    """A topology to run, independent of the back end."""

    topology: TopologySpec
    packing: PackingPlan
    store_url: str
    home: Home
    foreground: bool
    keys: Keys = field(default_factory=Keys.new)
    console: int | None = None
    """Pipe of a foreground command that displays components' output."""
    remove_at_end: tuple[str, ...] = ()
    """Folders that are the run's own, such as an embedded ZooKeeper's data."""
    savepoint: Savepoint | None = None
    """Initial state."""
    previous: PreviousRun | None = None
    """State of a previous run to resume from."""
    was_up: bool = False
    """Whether the topology is running already, with added containers or a new scheduler: a
    process that cannot start then does not end the topology."""
    predecessor: str = ""
    """End of the replaced scheduler; empty for the first."""
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
