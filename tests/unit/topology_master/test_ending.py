"""The end of a topology in which something was lost: where all has to be exact it is a failure."""

from heron_core.plans import TopologyState
from heron_core.wire import messages
from tests.unit.topology_master.test_checkpoints import (
    TASKS,
    Made,
    all_input_is_processed,
    bolts_finish,
    drain,
    phase,
    sent,
)
from tests.unit.topology_master.test_master_core import FIRST, LAST


def lose(made: Made, missing: int) -> None:
    """Nothing moves any more, and so many deliveries never arrived."""
    for _ in range(4):
        made.wait(1.0)
        number, epoch = made.core.probe_round, made.core.epoch
        made.receive(
            *(
                messages.QuiescenceReport(
                    task, number, 5, 5 - missing * (task == LAST), True, epoch
                )
                for task in TASKS
            )
        )


def come_to_the_end(made: Made, missing: int) -> None:
    """After a loss before the last bolt has finished."""
    made.complete(2)
    made.wait(0.1)
    for bolt in (FIRST, LAST):
        drain(made)
        made.receive(messages.BoltFinished(bolt))
    lose(made, missing)
    made.complete(3)
    made.wait(0.1)
    lose(made, missing)


def test_a_delivery_that_was_lost_is_a_failure_where_all_has_to_be_exact() -> None:
    """A connection took eleven tuples along, and nobody saw it: the counts do."""
    made = all_input_is_processed()
    come_to_the_end(made, missing=11)
    reason = "11 deliveries were sent and not processed in time"
    assert (made.execution["state"], made.execution["reason"]) == (TopologyState.FAILED, reason)
    stats = made.core.stats(None, made.now)
    assert (stats.state, stats.lost) == (TopologyState.FAILED, 11)
    assert made.events[-1] == f"the topology has failed: {reason}"


def test_the_same_end_without_a_loss_is_no_failure() -> None:
    made = all_input_is_processed()
    come_to_the_end(made, missing=0)
    assert (made.execution["state"], made.execution["reason"]) == (TopologyState.ENDED, "")
    assert made.core.stats(None, made.now).lost == 0
    assert made.events[-1] == "the topology has ended"


def test_a_loss_before_a_restore_is_none_for_all_count_anew() -> None:
    """What a killed process had taken along is processed again."""
    made = all_input_is_processed()
    made.complete(2)
    made.wait(0.1)
    lose(made, missing=11)
    assert made.core.stats(None, made.now).lost == 11
    made.receive(messages.Restored(LAST, 55, 0))
    assert made.core.stats(None, made.now).lost == 0


def test_what_has_ended_stays_so_though_a_host_is_lost_before_all_processes_are_gone() -> None:
    made = all_input_is_processed()
    come_to_the_end(made, missing=11)
    made.receive(made.registration_elsewhere(2), sender=b"2-2")
    restored = made.wait(1)
    assert sent(restored, messages.Plan)[0].plan["state"] == TopologyState.PAUSED
    made.restored()
    assert not sent(made.wait(1.1), messages.TriggerCheckpoint)
    assert phase(made) == "ended"
    stats = made.core.stats(None, made.now)
    assert (stats.state, stats.lost) == (TopologyState.FAILED, 11)


def test_a_kill_waits_for_no_last_checkpoint_after_a_restore_either() -> None:
    made = all_input_is_processed()
    bolts_finish(made)
    made.wait(1.1)
    made.complete(3)
    made.receive(messages.Command("drain", {}), sender=b"cli")
    made.receive(messages.Restored(LAST, 55, 0))
    made.restored()
    made.wait(0.1)
    drain(made)
    drain(made)  # without ticks
    assert made.core.stats(None, made.now).drained
