"""Backup of states in memory, the master's part: which checkpoints are durable, what is retained,
and a roll-back where a checkpoint is lost."""

from heron_core.records import replace
from heron_core.state.backup import BackupRule
from heron_core.stats import BackupStats, CheckpointStats
from heron_core.wire import messages
from heron_engine.topology_master import events
from heron_engine.topology_master.options import MasterOptions
from tests.unit.topology_master.test_checkpoints import OPTIONS, TASKS, Made, sent
from tests.unit.topology_master.test_master_core import LAST

BACKED_UP = replace(OPTIONS, backup=BackupRule(3, 1000))
"""Durable numbers: 1, 4, 7, …"""


def running(options: MasterOptions = BACKED_UP) -> Made:
    made = Made(options=options)
    made.wait()
    made.restored()
    made.wait()
    return made


def in_memory(made: Made, number: int, copies: int = 2, shortfall: str = "") -> list[object]:
    """All states of a checkpoint are in memory; the master's instructions."""
    made.receive(
        *(
            messages.CheckpointStored(
                task, number, 100, copies=copies, shortfall=shortfall, is_in_store=not copies
            )
            for task in TASKS
        )
    )
    return list(made.wait())


def durable(made: Made, number: int) -> None:
    """All states are in memory and in the store."""
    made.receive(*(messages.CheckpointStored(task, number, 100, copies=2) for task in TASKS))
    made.wait()


def triggered(made: Made, secs: float = 1.2) -> int:
    """Number of the next checkpoint."""
    return int(sent(made.wait(secs), messages.TriggerCheckpoint)[-1].checkpoint)


def stats(made: Made) -> CheckpointStats:
    found = made.core.stats(None, made.now).checkpoints
    assert found is not None
    return found


def backup(made: Made) -> BackupStats:
    found = stats(made).backup
    assert found is not None
    return found


def test_a_checkpoint_in_memory_is_complete_without_a_look_at_the_store() -> None:
    made = running()
    made.store_failure = "the disk is away"
    assert triggered(made) == 1
    made.store_failure = ""
    durable(made, 1)
    assert triggered(made) == 2
    made.store_failure = "the disk is away"
    out = in_memory(made, 2)
    assert not [each for each in out if isinstance(each, events.SeekStates)]
    assert not [each for each in out if isinstance(each, events.DescribeCheckpoint)]
    assert stats(made).completed == 2
    assert backup(made) == BackupStats(durable=1, copies=2)


def test_the_newest_in_memory_and_the_durable_ones_are_retained() -> None:
    made = running()
    completed, discarded = [], []
    for number in range(1, 9):
        assert triggered(made) == number
        if number % 3 == 1:
            durable(made, number)
        else:
            out = in_memory(made, number)
            discarded += [each for each in out if isinstance(each, events.DiscardCheckpoint)]
        completed.append([each["number"] for each in made.checkpoints["completed"]])
    assert completed == [[1], [2, 1], [3, 1], [4, 1], [5, 4], [6, 4], [7, 4], [8, 7]]
    assert [each.checkpoint for each in discarded] == [1, 4]  # those in memory have no files


def test_what_a_person_asks_for_is_durable() -> None:
    made = running()
    durable(made, triggered(made))
    in_memory(made, triggered(made))
    made.receive(messages.Command("checkpoint", {}))
    assert triggered(made, 0.2) == 4
    durable(made, 4)
    assert triggered(made) == 5


def test_two_follow_a_restore_at_once_and_the_second_is_durable() -> None:
    """The dead process has taken copies along, and a restored sink commits its transactions."""
    made = running()
    durable(made, triggered(made))
    in_memory(made, triggered(made))
    made.receive(messages.RestoreWanted(LAST, 1, "it raised"))
    made.wait()
    assert made.restore.checkpoint == 2
    made.restored()
    assert triggered(made, 0.1) == 3
    in_memory(made, 3)
    assert triggered(made, 0.2) == 4
    durable(made, 4)
    assert not sent(made.wait(0.5), messages.TriggerCheckpoint)


def lost(made: Made) -> list[str]:
    """A process is replaced, and no container has its state; returns the events."""
    made.receive(messages.RestoreWanted(LAST, made.core.epoch, "it raised"))
    made.wait()
    trouble = messages.RestoreTrouble.LOST.value
    reason = "the state of task 3 in checkpoint 2 was in memory alone"
    made.receive(messages.RestoreFailed(LAST, made.core.epoch, reason, trouble))
    made.wait()
    return made.events


def test_a_lost_checkpoint_is_rolled_back_to_the_one_in_the_store() -> None:
    made = running()
    durable(made, triggered(made))
    in_memory(made, triggered(made))
    told = lost(made)
    assert made.restore.checkpoint == 1
    assert backup(made).rolled_back == 1
    assert [each["number"] for each in made.checkpoints["completed"]] == [1]
    assert (
        "checkpoint 2 cannot be restored: the state of task 3 in checkpoint 2 was in memory alone; "
        "all are restored from checkpoint 1 of the store, and later input is processed again"
    ) in told
    rolled = "the checkpoint after it was in memory, and is lost"
    assert f"the topology is restored from checkpoint 1: {rolled}" in told


def test_without_a_checkpoint_in_the_store_all_begin_again() -> None:
    made = running()
    made.store_failure = "the disk is away"
    triggered(made)
    durable(made, 1)
    assert stats(made).failed == 1
    in_memory(made, triggered(made))
    assert any("restored from the initial state" in each for each in lost(made))
    assert made.restore.checkpoint == 0


def test_a_durable_checkpoint_is_never_given_up() -> None:
    """Sinks have committed it: all wait until a person has put its files back."""
    made = running()
    durable(made, triggered(made))
    lost(made)
    assert made.restore.checkpoint == 1
    assert backup(made).rolled_back == 0


def test_states_that_no_container_holds_are_looked_for_in_the_store_and_counted() -> None:
    made = running()
    durable(made, triggered(made))
    number = triggered(made)
    why = "container 2 holds 9 bytes, and 2 more exceed the limit"
    out = in_memory(made, number, copies=0, shortfall=why)
    assert backup(made) == BackupStats(durable=1, copies=0, spilled=3, shortfall=why)
    (told,) = [each for each in made.events if each.startswith("too few")]
    assert told.endswith(f"in memory: {why}")
    assert not [each for each in out if isinstance(each, events.DiscardCheckpoint)]
    out = in_memory(made, triggered(made))
    assert "other containers hold all states in memory again" in made.events
    assert [each for each in out if isinstance(each, events.DiscardCheckpoint)] == [
        events.DiscardCheckpoint(number)
    ]


def test_the_next_master_knows_what_is_in_memory() -> None:
    made = running()
    durable(made, triggered(made))
    in_memory(made, triggered(made))
    successor = Made(made, options=BACKED_UP)
    successor.wait()
    assert backup(successor).durable == 1
    lost(successor)
    assert successor.restore.checkpoint == 1


def test_without_a_backup_numbers_and_stats_are_as_before() -> None:
    made = running(OPTIONS)
    assert triggered(made) == 1
    durable(made, 1)
    assert stats(made).backup is None
    assert triggered(made) == 2
