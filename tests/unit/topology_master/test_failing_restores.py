"""Effectively once, the master's part: a restore with unreadable states."""

from typing import Any

import pytest

from heron_core.plans import Restore
from heron_core.wire import messages
from heron_engine.topology_master.recovery import Recovery, RestoreProgress
from tests.unit.topology_master.test_checkpoints import Made, restore_failure, running, sent
from tests.unit.topology_master.test_master_core import FIRST, LAST, SPOUT


def failing_to_restore(trouble: str, tries: int = 8) -> tuple[Made, list[int]]:
    """A master with two checkpoints, the newest with an unreadable state; and the tries so far."""
    made = running()
    for number in (1, 2):
        made.wait(1.1)
        made.complete(number)
    made.wait()
    made.receive(messages.Restored(FIRST, 99, 0))
    tried = []
    for _ in range(tries):
        made.wait()
        tried.append(made.restore.checkpoint)
        failed = messages.RestoreFailed(FIRST, made.core.epoch, "it is no good", trouble)
        made.receive(failed, failed)
        made.wait(5.1)
    return made, tried


@pytest.mark.parametrize("trouble", ["away", "damaged", "gone", "refused", "another word"])
def test_no_restore_goes_behind_a_checkpoint_that_sinks_have_committed(trouble: str) -> None:
    made, tried = failing_to_restore(trouble)
    assert tried == [2] * 8
    assert restore_failure(made) == "it is no good"
    made.restored(incarnation=80)
    assert made.restore.checkpoint == 2
    assert restore_failure(made) == ""
    assert [each["number"] for each in made.checkpoints["completed"]] == [2, 1]
    assert [each.partition(":")[0] for each in made.events] == [
        "the topology is restored from checkpoint 2",
        "checkpoint 2 cannot be restored",
        "checkpoint 2 is restored",
    ]


@pytest.mark.parametrize(
    ("trouble", "cure"),
    [
        ("away", "make the checkpoint store reachable"),
        (
            "damaged",
            "or restore an older checkpoint with `heronpy restore T --checkpoint 1`",
        ),
        ("gone", "sinks will repeat the output that they committed after checkpoint 1"),
        ("refused", "fix the code"),
    ],
)
def test_a_restore_that_fails_says_what_a_person_can_do(trouble: str, cure: str) -> None:
    made, _ = failing_to_restore(trouble, 3)
    stats = made.core.stats(None, made.now).checkpoints
    assert stats is not None
    cure = cure.replace(" T ", f" {made.core.packing.topology} ")
    assert cure in stats.restore_remedy
    assert cure in made.events[1]


def test_a_store_that_is_away_is_tried_less_and_less_often_until_it_is_back() -> None:
    recovery = Recovery(None)
    now, pauses = 0.0, []
    for epoch in range(1, 7):
        recovery.begin(2)
        recovery.take(messages.RestoreFailed(1, epoch, "away"), epoch, {1}, now)
        pause = next(each / 2 for each in range(100) if recovery.is_retry_due(now + each / 2))
        pauses.append(pause)
        now += pause
    assert pauses == [0.5, 1, 2, 4, 5, 5]
    recovery.begin(2)
    recovery.take(messages.Restored(1, 9, 7), 7, {1}, now)
    assert recovery.take_tries() == 6
    recovery.begin(2)
    failed = recovery.take(messages.RestoreFailed(1, 8, "away"), 8, {1}, now)
    assert failed is RestoreProgress.FAILED
    assert recovery.is_retry_due(now + 0.5)


def test_an_instance_that_has_its_state_after_all_needs_no_other_try() -> None:
    """Its process was replaced meanwhile, with a readable state."""
    recovery = Recovery(None)
    recovery.begin(2)
    recovery.take(messages.RestoreFailed(1, 1, "away"), 1, {1}, 0.0)
    assert recovery.take(messages.Restored(1, 9, 1), 1, {1}, 0.0) is RestoreProgress.RELEASED
    assert not recovery.is_retry_due(100.0)
    recovery.validate({1}, 2)


def test_another_reason_is_told_as_well() -> None:
    recovery = Recovery(None)
    tries = [("it is away", "away"), ("it is away", "away"), ("it is cut", "damaged")]
    progress = []
    for epoch, why in enumerate(tries, 1):
        recovery.begin(2)
        failed = messages.RestoreFailed(1, epoch, *why)
        progress.append(recovery.take(failed, epoch, {1}, epoch))
    assert progress == [RestoreProgress.FAILED, RestoreProgress.NOTHING, RestoreProgress.FAILED]


def test_a_process_that_fails_to_restore_when_data_flows_again_has_replaced_a_member() -> None:
    """The previous process had its state, and was killed while the rest waited for the store."""
    made = running()
    made.wait(1.1)
    made.complete(1)
    made.receive(messages.Restored(FIRST, 99, 0))
    epoch = made.core.epoch
    made.restored(incarnation=80)
    made.receive(messages.RestoreFailed(LAST, epoch - 1, "it is away"))  # of the restore before
    assert made.core.epoch == epoch
    made.receive(messages.RestoreFailed(LAST, epoch, "it is away"))
    assert made.core.epoch == epoch + 1
    assert made.restore == Restore(1)
    assert made.events[-1].endswith("another process serves last[0]")


def test_data_does_not_flow_while_the_process_that_serves_a_task_has_no_state() -> None:
    """The previous process had its state; another instance is restored after all."""
    recovery = Recovery(None)
    recovery.begin(2)
    said: list[messages.Restored | messages.RestoreFailed] = [
        messages.RestoreFailed(1, 1, "away"),
        messages.Restored(2, 20, 1),
        messages.RestoreFailed(2, 1, "away"),
        messages.Restored(1, 11, 1),
    ]
    assert RestoreProgress.RELEASED not in [recovery.take(each, 1, {1, 2}, 0.0) for each in said]
    assert recovery.take(messages.Restored(2, 21, 1), 1, {1, 2}, 0.0) is RestoreProgress.RELEASED
    assert recovery.restore.members == {1: 11, 2: 21}


def ask(made: Made, arguments: dict[str, Any]) -> messages.Reply:
    made.out.clear()
    made.receive(messages.Command("restore", arguments))
    (reply,) = sent(made.out, messages.Reply)
    assert isinstance(reply, messages.Reply)
    return reply


def test_a_person_may_have_an_older_checkpoint_restored() -> None:
    made, _ = failing_to_restore("damaged", 1)
    assert ask(made, {"checkpoint": 1}).ok
    made.wait()
    assert made.restore == Restore(1)
    made.restored(incarnation=80)
    assert made.restore.checkpoint == 1
    assert [each["number"] for each in made.checkpoints["completed"]] == [1]
    made.receive(messages.Restored(FIRST, 98, 0))
    assert made.restore == Restore(1)  # and no other failure leads to the newer one again


@pytest.mark.parametrize(
    ("arguments", "refusal"),
    [
        ({"checkpoint": 2}, "checkpoint 2 is not a retained older checkpoint (retained: 1)"),
        ({"checkpoint": 9}, "checkpoint 9 is not a retained older checkpoint (retained: 1)"),
        ({}, "restore: the number of a checkpoint is missing"),
        ({"checkpoint": "1"}, "restore: the number of a checkpoint is missing"),
    ],
)
def test_to_restore_what_is_not_retained_is_refused(
    arguments: dict[str, Any], refusal: str
) -> None:
    made, _ = failing_to_restore("damaged", 1)
    reply = ask(made, arguments)
    assert not reply.ok
    assert reply.data["error"] == refusal
    made.restored(incarnation=80)
    assert made.restore.checkpoint == 2


def test_what_is_in_flight_is_asked_anew_when_all_have_their_states() -> None:
    made = running()
    made.receive(messages.Restored(FIRST, 99, 0))
    made.receive(messages.Restored(SPOUT, 71, 2), messages.Restored(LAST, 73, 2))
    before = made.core.probe_round
    made.receive(messages.Restored(FIRST, 99, 2))
    assert made.core.probe_round == before + 1


def test_a_bolt_that_raised_before_all_went_back_takes_nobody_back_again() -> None:
    """Its message was on its way when another process caused the restore."""
    made = running()
    made.wait(1.1)
    made.complete(1)
    made.receive(messages.Restored(FIRST, 99, 0))
    epoch = made.core.epoch
    made.restored(incarnation=80)
    made.receive(messages.RestoreWanted(LAST, epoch - 1, "it raised"))
    assert made.core.epoch == epoch
    made.receive(messages.RestoreWanted(LAST, epoch, "it raised"))
    assert made.core.epoch == epoch + 1


def test_the_master_knows_whether_a_checkpoint_is_complete() -> None:
    """A run without a complete checkpoint leaves no state for the next."""
    made = running()
    assert not made.core.has_checkpoint
    made.wait(1.1)
    made.complete(1)
    made.wait()
    assert made.core.has_checkpoint


def test_a_state_of_no_task_is_malformed() -> None:
    made = running()
    made.receive(messages.CheckpointStored(77, 1, 100))
    assert made.core.counters["malformed"] == 1
