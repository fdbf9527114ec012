"""How long a checkpoint may take, and what is told of input that its barriers have overtaken."""

from heron_core.wire import messages
from heron_engine.topology_master.checkpoints import Checkpoints
from tests.unit.topology_master.test_checkpoints import OPTIONS, running
from tests.unit.topology_master.test_master_core import FIRST, LAST, SPOUT


def test_a_checkpoint_has_its_whole_time() -> None:
    checkpoints = Checkpoints(OPTIONS, {}, 0.0)
    checkpoints.begin({SPOUT}, 100.0)
    assert checkpoints.late(100.0 + OPTIONS.checkpoint_timeout_secs) is None
    assert checkpoints.late(100.5 + OPTIONS.checkpoint_timeout_secs) is checkpoints.pending


def test_the_input_that_barriers_have_overtaken_is_summed_over_the_tasks() -> None:
    made = running()
    made.wait(1.1)
    for task, number in ((SPOUT, 0), (FIRST, 3), (LAST, 4)):
        made.receive(messages.CheckpointStored(task, 1, 100, 0, number, 70 * number))
    made.wait()
    stats = made.core.stats(None, made.now).checkpoints
    assert stats is not None
    assert (stats.completed, stats.input_messages, stats.input_bytes) == (1, 7, 490)
