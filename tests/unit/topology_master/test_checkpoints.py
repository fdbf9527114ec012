"""Effectively once, the master's part: numbers, completion, restores, and reports to users."""

from typing import Any

from heron_core import config as keys
from heron_core.plans import PackingPlan, Restore, TopologyState, physical_from_json
from heron_core.records import replace
from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.checkpoints import Checkpoints
from heron_engine.topology_master.core import TopologyMaster
from heron_engine.topology_master.options import MasterOptions
from tests.unit.topology_master.test_master_core import FIRST, LAST, PACKED, SPOUT, TOPOLOGY

TASKS = (SPOUT, FIRST, LAST)
EXACT = TOPOLOGY.with_config({keys.RELIABILITY_MODE: keys.EFFECTIVELY_ONCE})
OPTIONS = replace(
    MasterOptions.of(EXACT.config),
    checkpoint_interval_secs=1.0,
    checkpoint_timeout_secs=3.0,
    checkpoints_retained=2,
    silent_secs=600.0,
)


class Made:
    """A master, its clock, and its nodes in the state store."""

    def __init__(
        self,
        before: "Made | None" = None,
        options: MasterOptions = OPTIONS,
        checkpoints: dict[str, Any] | None = None,
        packing: PackingPlan = PACKED,
        containers: tuple[int, ...] = (1, 2),
    ) -> None:
        self.stored_plan: dict[str, Any] = before.stored_plan if before else {}
        self.checkpoints: dict[str, Any] = before.checkpoints if before else checkpoints or {}
        self.execution: dict[str, Any] = before.execution if before else {}
        previous = physical_from_json(self.stored_plan) if self.stored_plan else None
        self.core = TopologyMaster(
            EXACT,
            packing,
            options,
            previous,
            self.execution,
            checkpoints=self.checkpoints,
            wall_clock_secs=1e6,
        )
        self.now, self.store_failure = 100.0, ""
        self.unseen: set[int] = set()
        """The tasks with states missing in the store of the master's host."""
        self.answers = True
        """Whether the checkpoint store does, when the master looks for states."""
        self.out: list[events.Instruction] = []
        self.receive(*(self._registration(container) for container in containers))

    def register(self, container: int) -> None:
        self.receive(self._registration(container))

    def _registration(self, container: int, address: str = "") -> messages.RegisterStreamManager:
        where = address or f"tcp://{container}"
        epoch = self.stored_plan.get("epoch", 0)
        return messages.RegisterStreamManager(
            container=container, incarnation=1, address=where, host="host", pid=7, epoch=epoch
        )

    def registration_elsewhere(self, container: int) -> messages.RegisterStreamManager:
        return self._registration(container, "tcp://other")

    def receive(self, *received: Any, sender: bytes = b"1") -> None:
        for message in received:
            self._handle(events.MasterReceived(sender, message))

    def _handle(self, event: events.Event) -> None:
        out = self.core.handle(event, self.now)
        self.core.validate()
        for each in out:
            if isinstance(each, events.StorePlan):
                self.stored_plan = each.plan
            elif isinstance(each, events.StoreCheckpoints):
                self.checkpoints = each.checkpoints
            elif isinstance(each, events.StoreState):
                self.execution = {
                    "state": each.state, "reason": each.reason, "update": each.update
                }  # fmt: skip
        self.out += out
        seeks = [each for each in out if isinstance(each, events.SeekStates)]
        for seek in seeks if self.answers else ():
            missing = tuple(sorted(self.unseen & set(seek.tasks)))
            self._handle(
                events.StatesSought(seek.checkpoint, "/disk/store", missing, self.store_failure)
            )

    def answer(self, sought: events.StatesSought) -> None:
        """The checkpoint store answers."""
        self._handle(sought)

    def wait(self, secs: float = 0.0, stored: bool = True) -> list[events.Instruction]:
        """Time passes; returns the decisions since the last wait."""
        for _ in range(int(secs / 0.02) + 1):
            self.now += 0.02
            self._handle(events.MasterTimer(stored))
        out, self.out = self.out, []
        return out

    def restored(self, incarnation: int = 70, epoch: int | None = None) -> None:
        epoch = self.core.epoch if epoch is None else epoch
        tasks = sorted(self.core.packing.instances)
        self.receive(*(messages.Restored(task, incarnation + task, epoch) for task in tasks))

    def complete(self, number: int) -> None:
        self.wait(0.02)  # it begins, and is triggered
        tasks = sorted(self.core.packing.instances)
        self.receive(*(messages.CheckpointStored(task, number, 100) for task in tasks))

    @property
    def restore(self) -> Restore:
        restore = physical_from_json(self.stored_plan).restore
        assert restore is not None
        return restore

    @property
    def events(self) -> list[str]:
        newest = self.core.stats(None, self.now).events
        return [f"{each.what}: {each.why}".removesuffix(": ") for each in newest]


def sent(out: list[events.Instruction], kind: type) -> list[Any]:
    return [
        each.message
        for each in out
        if isinstance(each, events.Send) and isinstance(each.message, kind)
    ]


def running() -> Made:
    """A master whose instances all run by epoch 1."""
    made = Made()
    made.wait()
    made.restored()
    made.wait()
    return made


def test_nobody_goes_on_before_all_have_their_state() -> None:
    made = Made()
    assert not sent(made.wait(stored=False), messages.Plan)  # not before the plan is stored
    (first, _) = sent(made.wait(), messages.Plan)
    assert first.plan["restore"] == {"checkpoint": 0, "members": None}
    made.receive(messages.Restored(SPOUT, 71, 1), messages.Restored(FIRST, 72, 1))
    assert not sent(made.wait(3), messages.Plan)
    made.receive(messages.Restored(LAST, 73, 1))
    (released, _) = sent(made.wait(), messages.Plan)
    assert released.plan["epoch"] == 1
    assert released.plan["restore"]["members"] == {"1": 71, "2": 72, "3": 73}


def test_a_checkpoint_is_stored_before_it_is_triggered_and_before_it_counts() -> None:
    made = running()
    out = made.wait(1.1, stored=False)
    assert made.checkpoints == {"latest": 1, "completed": []}
    assert not sent(out, messages.TriggerCheckpoint)
    assert sent(made.wait(), messages.TriggerCheckpoint) == [messages.TriggerCheckpoint(1, 1)] * 2
    made.receive(*(messages.CheckpointStored(task, 1, 100, 40 * (task == LAST)) for task in TASKS))
    out = made.wait(stored=False)
    assert [each["number"] for each in made.checkpoints["completed"]] == [1]
    assert not sent(out, messages.CheckpointCompleted)
    assert (
        sent(made.wait(), messages.CheckpointCompleted) == [messages.CheckpointCompleted(1, 1)] * 2
    )
    stats = made.core.stats(None, made.now).checkpoints
    assert stats is not None
    assert (stats.completed, stats.size_bytes, stats.failed) == (1, 300, 0)
    assert list(stats.alignment_ms.values()) == [40]


def test_all_are_told_which_bolts_abandoned_tuples_also_by_the_next_master() -> None:
    made = running()
    made.wait(1.1)
    last = messages.TuplesAbandoned(LAST, 1, "last")
    made.receive(messages.TuplesAbandoned(LAST, 7, "first"), last, last)  # 7 is not under way
    made.complete(1)
    told = messages.CheckpointCompleted(1, 1, ("last",))
    assert sent(made.wait(), messages.CheckpointCompleted) == [told] * 2
    assert [each["gave_up"] for each in made.checkpoints["completed"]] == [["last"]]

    made.receive(messages.Restored(FIRST, 99, 0))  # it has not heard of it when all are restored
    (held, _) = sent(made.wait(), messages.Plan)
    assert held.plan["restore"] == {"checkpoint": 1, "members": None, "gave_up": ["last"]}
    assert made.restore.abandoning == ("last",)

    left = {"latest": 1, "completed": made.checkpoints["completed"]}
    after = Checkpoints(made.core.options, left, 0.0)
    assert after.completed_message(1, 2) == messages.CheckpointCompleted(1, 2, ("last",))


def test_old_checkpoints_are_discarded_when_newer_ones_are_complete() -> None:
    made = running()
    for number in (1, 2, 3):
        made.wait(1.1)
        made.complete(number)
    out = made.wait()
    assert [each.checkpoint for each in out if isinstance(each, events.DiscardCheckpoint)] == [1]


def test_a_failed_checkpoint_leaves_the_one_before_and_its_reason_is_told_once() -> None:
    made = running()
    made.wait(1.1)
    made.complete(1)
    for number in (2, 3):
        made.wait(1.1)
        made.receive(messages.CheckpointFailed(LAST, number, "no space is left"))
    assert [each["number"] for each in made.checkpoints["completed"]] == [1]
    assert made.events == ["checkpoint 2 failed: last[0]: no space is left"]
    made.wait(1.1)
    made.complete(4)
    assert made.events[-1] == "checkpoints work again"
    out = made.wait()
    assert [each.checkpoint for each in out if isinstance(each, events.DiscardCheckpoint)] == [2, 3]


def test_a_checkpoint_that_takes_too_long_names_who_is_late() -> None:
    made = running()
    made.wait(1.1)
    made.receive(messages.CheckpointStored(SPOUT, 1, 100))
    made.wait(3)
    assert made.events == ["checkpoint 1 failed: not stored in time by first[0], last[0]"]
    made.receive(*(messages.CheckpointStored(task, 1, 100) for task in TASKS))
    assert made.checkpoints["completed"] == []


def test_a_process_that_comes_later_has_all_restored() -> None:
    made = running()
    made.wait(1.1)
    made.complete(1)
    made.wait()
    made.receive(messages.Restored(FIRST, 99, 0))
    (held, _) = sent(made.wait(), messages.Plan)
    assert (held.plan["epoch"], held.plan["restore"]) == (2, {"checkpoint": 1, "members": None})
    made.receive(messages.Restored(SPOUT, 71, 1))  # of the epoch before: late
    made.receive(messages.Restored(SPOUT, 71, 2), messages.Restored(LAST, 73, 2))
    assert made.restore.members is None
    made.receive(messages.Restored(FIRST, 99, 2))
    assert made.restore == Restore(1, {1: 71, 2: 99, 3: 73})
    made.receive(messages.Restored(FIRST, 99, 2))  # said again
    assert made.core.epoch == 2
    assert made.events == [
        "the topology is restored from checkpoint 1: another process serves first[0]"
    ]


def test_a_bolt_that_raised_has_all_restored_once() -> None:
    made = running()
    made.wait(1.1)
    made.complete(1)
    made.wait()
    wanted = messages.RestoreWanted(LAST, 1, "process: ConnectionRefusedError: it is away")
    made.receive(wanted, wanted)  # said again
    made.receive(messages.RestoreWanted(FIRST, 1, "it raised too"))  # all go back already
    assert (made.core.epoch, made.restore) == (2, Restore(1))
    why = "last[0]: process: ConnectionRefusedError: it is away"
    assert made.events == [f"the topology is restored from checkpoint 1: {why}"]


def test_a_new_stream_manager_has_all_restored_and_what_was_under_way_is_aborted() -> None:
    made = running()
    made.wait(1.1)
    made.receive(made.registration_elsewhere(2), sender=b"2-2")
    made.wait(1)  # the one before does not answer
    assert made.restore == Restore(0)
    made.receive(*(messages.CheckpointStored(task, 1, 100) for task in TASKS))
    assert made.checkpoints["completed"] == []


def test_a_new_stream_manager_at_the_same_address_is_noticed() -> None:
    made = running()
    made.receive(replace(made._registration(2), incarnation=2, epoch=0), sender=b"2-2")
    made.wait(1)
    assert made.core.epoch == 2
    assert made.restore.members is None
    made.receive(
        replace(made._registration(2), incarnation=2, epoch=0), sender=b"2-2"
    )  # said again
    assert made.core.epoch == 2


def test_what_is_complete_and_not_yet_told_is_restored() -> None:
    made = running()
    made.wait(1.1)
    made.complete(1)
    made.receive(messages.Restored(FIRST, 99, 0))
    assert made.restore == Restore(1)
    assert [each["number"] for each in made.checkpoints["completed"]] == [1]


def test_a_master_that_takes_over_goes_on_where_the_other_was() -> None:
    before = running()
    before.wait(1.1)
    before.complete(1)
    before.wait(1.1)  # number 2 is triggered, and nobody will hear what becomes of it
    made = Made(before)
    made.restored(epoch=1)  # the stream managers say again what they know
    made.wait()
    assert made.core.epoch == 1
    assert made.restore.members == {1: 71, 2: 72, 3: 73}
    made.wait(1.1)
    assert made.checkpoints["latest"] == 3
    # An instance that died while there was no master.
    made.receive(messages.Restored(LAST, 55, 0))
    assert made.core.epoch == 2
    assert made.restore == Restore(1)


def test_a_master_that_takes_over_triggers_none_that_some_spouts_would_not_hear_of() -> None:
    # Such a checkpoint would fail by its timeout, and block the next until then.
    before = running()
    made = Made(before, containers=(2,))
    made.wait(2)
    assert not made.checkpoints.get("latest")
    made.register(1)
    assert len(sent(made.wait(1.1), messages.TriggerCheckpoint)) == 2


def restore_failure(made: Made) -> str:
    stats = made.core.stats(None, made.now).checkpoints
    assert stats is not None
    return stats.restore_failure


def phase(made: Made) -> str:
    return made.core.phase.value


def drain(made: Made) -> None:
    """Nothing is in flight: by two rounds of probes."""
    for _ in range(2):
        made.wait(0.02)
        number, epoch = made.core.probe_round, made.core.epoch
        reports = [messages.QuiescenceReport(task, number, 5, 5, True, epoch) for task in TASKS]
        made.receive(*reports)


def all_input_is_processed() -> Made:
    """A master with checkpoint 1 done, and the checkpoint at the end of the input triggered."""
    made = running()
    made.wait(1.1)
    made.complete(1)
    made.receive(messages.SpoutFinished(SPOUT, True))
    drain(made)
    assert phase(made) == "saving"
    assert sent(made.wait(1.1), messages.TriggerCheckpoint)[0].checkpoint == 2
    return made


def bolts_finish(made: Made) -> None:
    """The checkpoint is complete, and level by level the bolts run on_finish."""
    made.complete(2)
    assert not sent(made.wait(0.1), messages.FinishBolts)  # what components do about it comes first
    for bolt in (FIRST, LAST):
        drain(made)
        assert sent(made.out, messages.FinishBolts)[-1].tasks == (bolt,)
        made.receive(messages.BoltFinished(bolt))
    drain(made)


def test_the_end_is_saved_before_bolts_finish_and_after_it() -> None:
    made = all_input_is_processed()
    drain(made)
    assert not sent(made.out, messages.FinishBolts)  # not before it is complete
    bolts_finish(made)
    assert phase(made) == "committing"
    assert sent(made.wait(1.1), messages.TriggerCheckpoint)[0].checkpoint == 3
    assert phase(made) == "committing"
    made.complete(3)
    made.wait(0.1)
    drain(made)
    assert phase(made) == "ended"


def test_a_failure_while_bolts_finish_leads_back_to_the_end_of_the_input() -> None:
    made = all_input_is_processed()
    made.complete(2)
    made.wait(0.1)
    drain(made)
    assert phase(made) == "finishing"
    made.wait(3)
    assert made.checkpoints["latest"] == 2  # none while some bolts have finished and others not
    made.receive(messages.Restored(LAST, 55, 0))
    assert phase(made) == "running"
    assert made.restore == Restore(2)


def test_a_failure_after_bolts_have_finished_does_not_let_them_finish_again() -> None:
    made = all_input_is_processed()
    bolts_finish(made)
    made.wait(0.1)
    made.complete(3)
    made.receive(messages.Restored(LAST, 55, 0))
    made.restored()
    made.out.clear()
    triggered = made.wait(0.1)
    (released, *_) = sent(triggered, messages.Plan)
    assert released.plan["restore"]["checkpoint"] == 3
    assert released.plan["state"] == TopologyState.PAUSED  # no spout emits anything more
    # One more checkpoint, for data prepared in the last.
    assert sent(triggered, messages.TriggerCheckpoint)[0].checkpoint == 4
    made.complete(4)
    made.wait(0.1)
    drain(made)
    assert phase(made) == "ended"
    assert not sent(made.out, messages.FinishBolts)


def test_a_last_checkpoint_that_fails_is_tried_again_for_the_end_waits_for_it() -> None:
    made = all_input_is_processed()
    made.receive(messages.CheckpointFailed(LAST, 2, "no space is left"))
    drain(made)
    assert phase(made) == "saving"
    assert sent(made.wait(1.1), messages.TriggerCheckpoint)[0].checkpoint == 3


def test_a_master_that_does_not_know_which_bolts_have_finished_has_all_restored() -> None:
    made = all_input_is_processed()
    made.complete(2)
    made.wait(0.1)
    drain(made)
    successor = Made(made)
    successor.wait(0.1)
    assert successor.restore == Restore(2)
    successor.restored()
    # The next master knows about the missing finish.
    third = Made(successor)
    third.wait(0.1)
    assert third.core.epoch == successor.core.epoch


def test_a_topology_that_is_killed_waits_for_no_last_checkpoint() -> None:
    made = all_input_is_processed()
    made.receive(messages.Command("drain", {}), sender=b"cli")
    drain(made)
    drain(made)  # without ticks
    assert made.core.stats(None, made.now).drained


def test_a_checkpoint_can_be_asked_for() -> None:
    made = Made(options=replace(OPTIONS, checkpoint_interval_secs=600))
    made.wait()
    made.restored()
    made.wait()
    made.receive(messages.Command("checkpoint", {}), sender=b"cli")
    (reply,) = sent(made.wait(0.1), messages.Reply)
    assert reply == messages.Reply(True, {"number": 1})
    assert made.checkpoints["latest"] == 1


def test_a_paused_topology_takes_none() -> None:
    made = running()
    made.receive(messages.Command("deactivate", {}))
    made.wait(3)
    assert made.core.state == TopologyState.PAUSED
    assert made.checkpoints == {}


def test_a_paused_topology_takes_one_that_is_asked_for() -> None:
    made = running()
    made.receive(messages.Command("deactivate", {}), messages.Command("checkpoint", {}))
    made.wait(0.1)
    made.complete(1)
    made.wait(3)
    assert made.checkpoints["latest"] == 1


def test_after_the_checkpoint_of_a_savepoint_none_follows_for_a_while() -> None:
    made = running()
    made.receive(messages.Command("checkpoint", {"hold_secs": 20}), sender=b"cli")
    made.wait(0.1)
    made.complete(1)
    made.wait(10)
    assert made.checkpoints["latest"] == 1
    made.wait(11)
    assert made.checkpoints["latest"] == 2
    made.complete(2)
    made.wait(1.1)
    assert made.checkpoints["latest"] == 3, "it was for that one"


def test_why_a_savepoint_cannot_be_restored_is_told_after_some_tries() -> None:
    savepoint = {"number": 4, "at": 1.0, "secs": 0.0, "size_bytes": 9}
    made = Made(checkpoints={"latest": 4, "completed": [savepoint]})
    made.wait()
    assert made.restore == Restore(4)
    for _ in range(3):
        assert restore_failure(made) == ""
        made.receive(messages.RestoreFailed(LAST, made.core.epoch, "last: it was a list"))
        made.wait(1.1)
    assert restore_failure(made) == "last: it was a list"
    made.restored()
    assert restore_failure(made) == ""
