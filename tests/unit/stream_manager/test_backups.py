"""States that a stream manager holds in memory: whole ones only, and no more than the limit."""

from heron_core.state.backup import BackupRule
from heron_core.wire.messages import BackupFetched, BackupStored, FetchBackup, StoreBackup
from heron_engine.stream_manager.backups import NO_BACKUP, Backups

NUMBER, TASK = 7, 3


def made(bytes_max: int = 100) -> Backups:
    return Backups(2, BackupRule(10, bytes_max))


def hold(held: Backups, state: bytes, number: int = NUMBER, task: int = TASK) -> str:
    """Send a state in parts of four bytes; why it is not held."""
    for at in range(0, len(state), 4):
        part = state[at : at + 4]
        answer = held.answer(StoreBackup(at, number, task, at, len(state), part))
        held.validate()
        assert isinstance(answer, BackupStored)
        assert answer.question == at
        if answer.reason:
            return answer.reason
    return ""


def fetch(held: Backups, number: int = NUMBER, at: int = 0, most: int = 99) -> BackupFetched:
    answer = held.answer(FetchBackup(5, number, TASK, at, most))
    assert isinstance(answer, BackupFetched)
    assert answer.question == 5
    return answer


def test_a_state_comes_and_goes_in_parts() -> None:
    held = made()
    assert hold(held, b"a whole state") == ""
    assert held.total_bytes == 13
    assert fetch(held) == BackupFetched(5, 13, b"a whole state")
    assert fetch(held, at=8, most=3) == BackupFetched(5, 13, b"sta")
    assert fetch(held, number=8).total == -1


def test_half_a_state_is_not_given_away() -> None:
    held = made()
    held.answer(StoreBackup(1, NUMBER, TASK, 0, 8, b"half"))
    assert fetch(held).total == -1
    assert held.total_bytes == 8  # what is still to come counts


def test_a_part_out_of_order_ends_the_state() -> None:
    """Its instance was replaced amid a state, or this process was."""
    held = made()
    held.answer(StoreBackup(1, NUMBER, TASK, 0, 12, b"half"))
    for offset, part in ((8, b"late"), (4, b"much too long")):
        answer = held.answer(StoreBackup(2, NUMBER, TASK, offset, 12, part))
        assert answer == BackupStored(2, "container 2 has lost its beginning")
    assert held.total_bytes == 0


def test_a_state_above_the_limit_is_refused_with_both_numbers() -> None:
    held = made(bytes_max=20)
    assert hold(held, b"1234567890") == ""
    why = hold(held, b"12345678901", task=4)
    assert why == (
        "container 2 holds 10 bytes, and 11 more exceed topology.stateful.backup.bytes.max, 20"
    )
    assert (held.refused, held.total_bytes) == (1, 10)
    assert hold(held, b"0987654321") == ""  # in the place of the one before
    assert fetch(held).part == b"0987654321"


def test_a_completed_checkpoint_makes_room() -> None:
    held = made()
    for number in (5, 6, 7):
        hold(held, b"state", number=number)
    held.completed(6)
    assert [fetch(held, number=each).total for each in (5, 6, 7)] == [-1, 5, 5]
    assert hold(held, b"state", number=5) == "checkpoint 6 is complete already"
    held.completed(4)  # late
    assert held.total_bytes == 10


def test_without_a_backup_nothing_is_held() -> None:
    held = Backups(2, None)
    assert hold(held, b"state") == NO_BACKUP
