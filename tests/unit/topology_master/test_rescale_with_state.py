"""Scaling a topology with checkpoints: restored from a checkpoint by the new plan, or by the
old."""

import pytest

from heron_core.plans import (
    ContainerPlan,
    InstancePlan,
    PackingPlan,
    TopologyState,
    UpdateStage,
    packing_to_json,
    physical_from_json,
)
from heron_core.records import replace
from heron_core.wire import messages
from tests.unit.topology_master.test_checkpoints import Made, running, sent
from tests.unit.topology_master.test_master_core import FIRST, LAST, NOTHING, PACKED, SPOUT

NEW = 4
ONE, TWO = PACKED.containers
MORE = PackingPlan(
    "t",
    (ONE, replace(TWO, instances=(*TWO.instances, InstancePlan(NEW, "last", 1, NOTHING)))),
)
"""One more of `last`, in an existing container."""
FEWER = PackingPlan(
    "t", (ContainerPlan(1, (*ONE.instances, InstancePlan(LAST, "last", 0, NOTHING)), NOTHING),)
)
"""One container less."""
REASON = "last had 1 instances and has 2 now"


def ask(made: Made, packing: PackingPlan) -> messages.Reply:
    """The reply to an update."""
    made.receive(messages.Command("update", {"packing": packing_to_json(packing)}))
    found: messages.Reply = sent(made.out, messages.Reply)[-1]
    return found


def saved(packing: PackingPlan, number: int = 1) -> Made:
    """A topology under an update, its checkpoint complete and the plan switched."""
    made = running()
    assert ask(made, packing).ok
    made.complete(number)
    made.wait(0.1)
    return made


def test_the_spouts_pause_for_a_checkpoint_with_which_all_begin_by_the_new_plan() -> None:
    made = running()
    assert ask(made, MORE).ok
    out = made.wait(0.1)
    paused = sent(out, messages.Plan)[0].plan
    assert paused["state"] == TopologyState.PAUSED
    assert sent(out, messages.TriggerCheckpoint)[0] == messages.TriggerCheckpoint(1, 1)
    assert made.core.update_stage is UpdateStage.CHECKPOINT
    made.complete(1)
    made.wait(0.1)
    plan = physical_from_json(made.stored_plan)
    assert plan.packing == MORE
    assert plan.restore is not None
    assert (plan.restore.checkpoint, plan.restore.members) == (1, None)
    assert plan.restore.previous == {"last": (LAST,)}
    made.restored()
    made.wait(0.1)
    plan = physical_from_json(made.stored_plan)
    assert plan.state == TopologyState.RUNNING
    assert plan.restore is not None
    assert plan.restore.members is not None
    assert plan.restore.members.keys() == {SPOUT, FIRST, LAST, NEW}
    assert made.core.update_stage is None
    assert not any("is restored" in each for each in made.events)


def test_an_instance_that_is_removed_leaves_nothing_in_the_numbers() -> None:
    made = saved(MORE)
    made.restored()
    made.wait(0.1)
    assert ask(made, PACKED).ok
    made.wait(0.1)
    tasks = (SPOUT, FIRST, LAST, NEW)
    made.receive(*(messages.CheckpointStored(task, 2, 100, 5) for task in tasks))
    made.wait(0.1)
    assert made.restore.previous == {"last": (LAST, NEW)}
    found = made.core.stats(None, made.now).checkpoints
    assert found is not None
    assert found.alignment_ms == {"spout[0]": 5, "first[0]": 5, "last[0]": 5}
    made.receive(messages.Restored(NEW, 7, 0))  # of a process that is being ended
    made.restored()
    made.wait(0.1)
    assert made.core.update_stage is None
    assert made.core.counters["malformed"] == 0


def test_a_failure_after_an_update_divides_the_same_states_again() -> None:
    made = saved(MORE)
    made.restored()
    made.wait(0.1)
    made.receive(messages.Restored(FIRST, 99, 0))  # another process
    made.wait(0.1)
    assert (made.restore.checkpoint, made.restore.members) == (1, None)
    assert made.restore.previous == {"last": (LAST,)}
    again = Made(before=made, packing=MORE)  # and so does the next master
    again.restored()
    again.wait(0.1)
    assert again.restore.previous == {"last": (LAST,)}
    again.complete(2)
    again.wait(1.5)
    again.complete(2)
    again.wait(0.1)
    again.receive(messages.Restored(FIRST, 98, 0))
    again.wait(0.1)
    assert (again.restore.checkpoint, again.restore.previous) == (2, {})


@pytest.mark.parametrize("is_restore", [True, False], ids=["restore", "initialize"])
def test_an_instance_that_cannot_have_its_state_takes_all_back_to_the_old_plan(
    is_restore: bool,
) -> None:
    made = saved(MORE)
    epoch = made.core.epoch
    if is_restore:
        made.receive(messages.RestoreFailed(NEW, epoch, REASON))
    else:
        made.receive(messages.InstanceFailed(NEW, REASON))
    made.wait(0.1)
    plan = physical_from_json(made.stored_plan)
    assert plan.packing == PACKED
    assert plan.epoch > epoch
    assert plan.restore is not None
    assert (plan.restore.checkpoint, plan.restore.members) == (1, None)
    made.restored()
    made.wait(0.1)
    assert physical_from_json(made.stored_plan).state == TopologyState.RUNNING
    stats = made.core.stats(None, made.now).update
    assert stats is not None
    assert not stats.under_way
    assert REASON in stats.reason
    assert any(REASON in each for each in made.events)


def test_the_rollback_waits_for_a_container_that_was_removed() -> None:
    made = saved(FEWER)
    assert physical_from_json(made.stored_plan).packing == FEWER
    made.receive(messages.RestoreFailed(LAST, made.core.epoch, "the store is away"))
    made.wait(0.1)
    assert physical_from_json(made.stored_plan).packing == FEWER
    stats = made.core.stats(None, made.now).update
    assert stats is not None
    assert stats.waiting_for == ("container 2",)
    # A manager still alive gets no messages any more: hence its new registration.
    made.receive(messages.Heartbeat(2, {"waiting_bytes": {}}, {}, {}), sender=b"2")
    assert not sent(made.wait(), messages.HeartbeatAck)
    register = messages.RegisterStreamManager(
        container=2, incarnation=5, address="tcp://2b", host="host", pid=9, epoch=0
    )
    made.receive(register, sender=b"2")
    made.wait(0.1)
    assert physical_from_json(made.stored_plan).packing == PACKED


def cancel(made: Made) -> messages.Reply:
    """A person takes the update back."""
    made.receive(messages.Command("cancel", {"reason": "a mistake"}))
    found: messages.Reply = sent(made.out, messages.Reply)[-1]
    return found


def test_an_update_is_cancelled_while_all_wait_for_their_states() -> None:
    """After the switch: rolled back, with the update's checkpoint."""
    made = saved(MORE)
    assert cancel(made).ok
    assert "is being rolled back already: a mistake" in cancel(made).data["error"]
    made.wait(0.1)
    assert physical_from_json(made.stored_plan).packing == PACKED
    made.restored()
    made.wait(0.1)
    stats = made.core.stats(None, made.now).update
    assert stats is not None
    assert (stats.under_way, stats.reason) == (False, "a mistake")


def test_an_update_whose_tuples_flow_is_not_cancelled() -> None:
    made = saved(MORE)
    made.restored()
    assert "can no longer be cancelled" in cancel(made).data["error"]


def test_what_was_processed_after_all_is_saved_before_the_rollback() -> None:
    """The missing state returns while a removed container comes back."""
    made = saved(FEWER)
    made.receive(messages.RestoreFailed(LAST, made.core.epoch, "the store is away"))
    made.wait(0.1)
    made.restored()  # by the new plan
    register = messages.RegisterStreamManager(
        container=2, incarnation=5, address="tcp://2b", host="host", pid=9, epoch=0
    )
    made.receive(register, sender=b"2")
    made.wait(0.1)
    assert made.core.update_stage is UpdateStage.CHECKPOINT
    assert physical_from_json(made.stored_plan).state == TopologyState.PAUSED
    made.receive(messages.CheckpointFailed(LAST, 2, "no space is left"))
    made.wait(70.0)
    assert made.core.update_stage is UpdateStage.CHECKPOINT
    checkpoints = made.core.stats(None, made.now).checkpoints
    assert checkpoints is not None
    made.complete(checkpoints.latest)
    made.wait(0.1)
    assert physical_from_json(made.stored_plan).packing == PACKED


def test_a_checkpoint_that_fails_leaves_the_old_plan() -> None:
    made = running()
    ask(made, MORE)
    made.wait(0.1)
    made.receive(messages.CheckpointFailed(LAST, 1, "no space is left"))
    made.wait(0.1)
    assert made.core.update_stage is None
    assert physical_from_json(made.stored_plan).packing == PACKED
    assert physical_from_json(made.stored_plan).state == TopologyState.RUNNING
    stats = made.core.stats(None, made.now).update
    assert stats is not None
    assert stats.reason == "checkpoint 1 failed: last[0]: no space is left"


def test_a_process_that_dies_during_the_checkpoint_is_replaced_by_the_new_plan() -> None:
    made = running()
    made.wait(2)
    made.complete(1)
    made.wait(0.1)
    ask(made, MORE)
    made.wait(0.1)
    made.receive(messages.Restored(FIRST, 99, 0))
    made.wait(0.1)
    plan = physical_from_json(made.stored_plan)
    assert plan.packing == MORE
    assert plan.restore is not None
    assert (plan.restore.checkpoint, plan.restore.previous) == (1, {"last": (LAST,)})


def test_a_master_that_takes_over_knows_the_rollback() -> None:
    made = Made(before=saved(MORE), packing=MORE)
    assert made.core.packing == MORE
    made.receive(messages.RestoreFailed(NEW, made.core.epoch, REASON))
    made.wait(0.1)
    assert physical_from_json(made.stored_plan).packing == PACKED


def test_a_second_update_and_a_plan_that_is_none_are_refused() -> None:
    made = running()
    assert ask(made, MORE).ok
    reply = ask(made, FEWER)
    assert reply.data["error"] == "an update of t is under way: wait until it is done"


def test_an_update_that_comes_during_a_restore_needs_no_checkpoint_of_its_own() -> None:
    """All are about to take their states, also possible by the new plan."""
    made = running()
    made.receive(messages.Restored(FIRST, 99, 0))  # another process
    made.wait(0.1)
    assert made.restore.members is None
    assert ask(made, MORE).ok
    out = made.wait(0.1)
    assert physical_from_json(made.stored_plan).packing == MORE
    made.restored()
    out += made.wait(0.1)
    assert made.core.update_stage is None
    assert not sent(out, messages.TriggerCheckpoint)


def test_no_checkpoint_is_restored_by_a_command_during_an_update() -> None:
    made = running()
    made.wait(1.1)
    made.complete(1)
    made.wait()
    assert ask(made, MORE).ok
    made.receive(messages.Command("restore", {"checkpoint": 1}))
    reply: messages.Reply = sent(made.out, messages.Reply)[-1]
    assert reply.data["error"] == "an update of t is under way: wait until it is done"


def test_the_reason_of_an_update_that_was_aborted_is_not_the_next_ones() -> None:
    made = running()
    assert ask(made, MORE).ok
    made.receive(messages.Command("cancel", {"reason": "a mistake"}))
    made.wait(0.1)
    aborted = made.core.stats(None, made.now).update
    assert aborted is not None
    assert aborted.reason == "a mistake"

    assert ask(made, MORE).ok
    under_way = made.core.stats(None, made.now).update
    assert under_way is not None
    assert (under_way.number, under_way.reason) == (2, "")


def test_an_added_instance_stands_in_the_numbers() -> None:
    made = saved(MORE)
    made.restored()
    made.wait(0.1)
    assert made.core.stats(None, made.now).components["last"].instances == 2
