"""The coordinator of batches: order, attempts, replays, and what outlives its process."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from heronpy_compat.trident.execution.attempt import TransactionAttempt
from heronpy_compat.trident.execution.coordinator_core import (
    TRANSITIONS,
    AnnounceSuccess,
    BatchProgress,
    CoordinatorCore,
    EmitBatch,
    EmitCommit,
    Instruction,
    SaveProgress,
)
from tests.transitions_seen import arrows, transitions_seen


class Followed:
    """A coordinator, its open trees, and what became of its batches."""

    def __init__(self, batches_max: int = 3, commits: bool = True) -> None:
        self._settings = batches_max, commits
        self.saved = BatchProgress()
        self.writes = 0
        self.trees: list[tuple[TransactionAttempt, bool]] = []
        """Attempts, and whether it is the tree of a commit."""
        self.emitted: list[TransactionAttempt] = []
        self.committed: list[TransactionAttempt] = []
        self.core = CoordinatorCore(self.saved, *self._settings)

    def begin(self) -> None:
        for txid in list(self.core.due()):
            self._perform(self.core.begin(txid))

    def ack(self, attempt: TransactionAttempt, is_commit: bool = False) -> None:
        self.trees.remove((attempt, is_commit))
        self._perform(self.core.acked(attempt, is_commit))

    def fail(self, attempt: TransactionAttempt, is_commit: bool = False) -> bool:
        self.trees.remove((attempt, is_commit))
        is_valid = self.core.failed(attempt, is_commit)
        self.core.validate()
        return is_valid

    def die(self) -> None:
        """Trees die with their spout; a successor has what was saved."""
        self.trees.clear()
        self.core = CoordinatorCore(self.saved, *self._settings)

    def _perform(self, instructions: Iterable[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case SaveProgress(progress):
                    self.saved, self.writes = progress, self.writes + 1
                case EmitBatch(attempt):
                    assert self.saved.attempts[attempt.txid] >= attempt.attempt_id
                    self.emitted.append(attempt)
                    self.trees.append((attempt, False))
                case EmitCommit(attempt):
                    self.trees.append((attempt, True))
                case AnnounceSuccess(attempt):
                    self.committed.append(attempt)
        self.core.validate()


def attempt(txid: int, number: int = 0) -> TransactionAttempt:
    return TransactionAttempt(txid, number)


def test_batches_are_processed_side_by_side_and_committed_in_order() -> None:
    followed = Followed()
    followed.begin()
    assert followed.emitted == [attempt(1), attempt(2), attempt(3)]
    followed.ack(attempt(2))
    assert followed.trees == [(attempt(1), False), (attempt(3), False)]
    followed.ack(attempt(1))
    assert (attempt(1), True) in followed.trees
    assert (attempt(2), True) not in followed.trees
    followed.ack(attempt(1), is_commit=True)
    assert (attempt(2), True) in followed.trees
    assert followed.saved.current == 2
    assert list(followed.core.due()) == [4]


def test_a_batch_that_fails_comes_again_with_all_behind_it() -> None:
    followed = Followed()
    followed.begin()
    followed.ack(attempt(3))
    assert followed.fail(attempt(2))
    assert followed.core.active == [1]
    followed.begin()
    assert followed.emitted[3:] == [attempt(2, 1), attempt(3, 1)]
    followed.ack(attempt(1))
    followed.ack(attempt(1), is_commit=True)
    assert followed.committed == [attempt(1)]


def test_an_outdated_tree_changes_nothing() -> None:
    followed = Followed()
    followed.begin()
    followed.fail(attempt(1))
    followed.begin()
    assert not followed.fail(attempt(2))
    followed.ack(attempt(3))
    assert followed.core.active == [1, 2, 3]
    assert (attempt(1, 1), False) in followed.trees


def test_a_commit_that_fails_comes_again_as_a_whole() -> None:
    followed = Followed()
    followed.begin()
    followed.ack(attempt(1))
    followed.ack(attempt(2))
    assert followed.fail(attempt(1), is_commit=True)
    followed.begin()
    assert followed.emitted[3:] == [attempt(1, 1), attempt(2, 1), attempt(3, 1)]


def test_a_successor_repeats_what_was_not_committed_with_higher_attempts() -> None:
    followed = Followed()
    followed.begin()
    followed.ack(attempt(1))
    followed.ack(attempt(1), is_commit=True)
    followed.begin()
    followed.die()
    followed.begin()
    assert followed.emitted[4:] == [attempt(2, 1), attempt(3, 1), attempt(4, 1)]


def test_a_batch_that_nothing_fails_takes_one_write() -> None:
    """A commit waits for each of them."""
    followed = Followed()
    followed.begin()
    before = followed.writes
    for txid in range(1, 5):
        followed.ack(attempt(txid))
        followed.ack(attempt(txid), is_commit=True)
        followed.begin()
    assert followed.writes - before == 4
    followed.fail(attempt(5))
    followed.begin()
    assert followed.saved.attempts == {5: 1, 6: 1, 7: 1}


def test_a_batch_that_may_have_begun_begins_with_a_higher_attempt() -> None:
    followed = Followed()
    followed.begin()
    followed.ack(attempt(1))
    followed.ack(attempt(1), is_commit=True)
    followed.die()
    followed.begin()
    assert followed.emitted[3:] == [attempt(2, 1), attempt(3, 1), attempt(4, 1)]


def test_without_anything_that_commits_a_batch_is_done_when_it_is_processed() -> None:
    followed = Followed(commits=False)
    followed.begin()
    followed.ack(attempt(2))
    followed.ack(attempt(1))
    assert followed.committed == [attempt(1), attempt(2)]
    assert followed.saved == BatchProgress(3, {3: 0, 4: 0, 5: 0})


def test_each_arrow_of_the_drawing_is_taken() -> None:
    with transitions_seen() as seen:
        test_batches_are_processed_side_by_side_and_committed_in_order()
        test_a_batch_that_fails_comes_again_with_all_behind_it()
        test_a_commit_that_fails_comes_again_as_a_whole()
        test_without_anything_that_commits_a_batch_is_done_when_it_is_processed()
    assert {arrow for arrow in seen if arrow.machine == TRANSITIONS.name} == arrows(TRANSITIONS)


@given(
    st.lists(st.tuples(st.sampled_from(["begin", "ack", "ack", "fail", "die"]), st.integers(0, 9)))
)
def test_each_batch_is_committed_once_in_order_whatever_happens(
    steps: list[tuple[str, int]],
) -> None:
    """Trees settle in any order, and the coordinator dies at any time."""
    followed = Followed()
    for step, number in steps:
        if step == "begin":
            followed.begin()
        elif step == "die":
            followed.die()
        elif followed.trees:
            chosen = followed.trees[number % len(followed.trees)]
            (followed.ack if step == "ack" else followed.fail)(*chosen)
    committed = [each.txid for each in followed.committed]
    assert committed == list(range(1, len(committed) + 1))
    assert len(set(followed.emitted)) == len(followed.emitted)
    for txid in {each.txid for each in followed.emitted}:
        numbers = [each.attempt_id for each in followed.emitted if each.txid == txid]
        assert numbers == sorted(numbers)
