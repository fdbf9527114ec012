"""Result of a topology's end: success, or failure because of lost data. Pure."""

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
    """The end with a number of deliveries sent and not processed in time, after a number of
    instances replaced after a crash.

    After a crash the difference of counts is meaningless: events report the loss. If all
    instances are restored from a checkpoint, counts restart and every result must be exact, so a
    difference is a failure. With tracked tuples, losses were replayed.
    """
    is_known = options.checkpoints or not (crashes or options.tracked)
    reason = f"{lost} deliveries were sent and not processed in time" if lost and is_known else ""
    return End(last_state(lost, options), reason)


def last_state(lost: int, options: MasterOptions) -> str:
    """ENDED or FAILED."""
    return TopologyState.FAILED if lost and options.checkpoints else TopologyState.ENDED
