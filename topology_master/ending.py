"""What a topology's end comes to: done, or failed because it lost what it may not lose. Pure."""

from msgspec import Struct

from heron_core.plans import TopologyState
from heron_engine.topology_master.options import MasterOptions


class End(Struct, frozen=True):
    """The last state of a topology, and why."""

    state: str
    reason: str

    @property
    def what(self) -> str:
        """For an event."""
        return f"the topology has {self.state.lower()}"


def end_of(lost: int, options: MasterOptions, crashes: int) -> End:
    """The end with so many deliveries that were sent and not processed in time, where so many
    instances were replaced after a crash.

    After a crash the difference of the counts says nothing: events tell what was taken along. Where
    all are restored from a checkpoint they count again then; there every result has to be exact, so
    it is a failure. Where tuples are tracked, what was lost was replayed.
    """
    is_known = options.checkpoints or not (crashes or options.tracked)
    reason = f"{lost} deliveries were sent and not processed in time" if lost and is_known else ""
    return End(last_state(lost, options), reason)


def last_state(lost: int, options: MasterOptions) -> str:
    """ENDED or FAILED."""
    return TopologyState.FAILED if lost and options.checkpoints else TopologyState.ENDED
