"""Which failed tuples count, where the process that counted them has ended."""

from heron_core.instance_report import NOTHING_REPORTED, to_wire
from heron_core.wire import messages
from tests.unit.topology_master.test_checkpoints import Made, running
from tests.unit.topology_master.test_master_core import LAST


def heard(made: Made, task: int, incarnation: int, container: int, **numbers: int) -> None:
    """An instance's report comes with a heartbeat of its container."""
    zeros = {**to_wire(NOTHING_REPORTED), "at": made.now, "incarnation": incarnation, "pid": 7}
    beat = messages.Heartbeat(container, {"waiting_bytes": {}}, {task: {**zeros, **numbers}}, {})
    made.receive(beat)


def failed_for_good(made: Made) -> int:
    """Of the last bolt."""
    return made.core.stats(None, made.now).components["last"].failed_for_good


def test_what_failed_in_a_checkpoint_stays_failed_and_what_failed_after_it_does_not() -> None:
    made = running()
    container = made.core.packing.container_of[LAST]
    made.wait(1.1)
    heard(made, LAST, 70 + LAST, container, failed_for_good=2)
    assert failed_for_good(made) == 2
    made.receive(messages.TuplesAbandoned(LAST, 1, "last", True, {"failed_for_good": 2}))
    made.complete(1)
    made.wait()
    heard(made, LAST, 70 + LAST, container, failed_for_good=3)  # and it ends by that
    made.receive(messages.Restored(LAST, 99, 0))
    made.wait()
    heard(made, LAST, 99, container)
    assert failed_for_good(made) == 2

    after = Made(made)  # another master, without what this one has heard
    heard(after, LAST, 99, container)
    assert failed_for_good(after) == 2

    anew = Made(checkpoints=made.checkpoints)  # another run, which resumes from the checkpoint
    assert failed_for_good(anew) == 0
