"""Checkpoints in the tester: after any crashes the state equals a run without crashes."""

from collections import Counter
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest

from heron_core.errors import UsageError
from heron_tester.tester import TopologyTester
from tests.unit.heron_tester.tested_state import (
    LINES,
    SPOUTS,
    Committed,
    CommittedWords,
    CountedLines,
    ForgetfulLines,
    RefusedLines,
    expected,
)
from tests.unit.heron_tester.tested_topologies import WordCount


def counts(tester: TopologyTester) -> Counter[str]:
    """Sum of the count bolts' states."""
    found: Counter[str] = Counter()
    for bolt in tester.component("count"):
        found.update(dict(bolt.count.all_items()))
    return found


def by_task(tester: TopologyTester) -> int:
    """The sum of the map states, with counts by the task of the split."""
    return sum(
        sum(tasks.values())
        for bolt in tester.component("count")
        for _, tasks in bolt.tasks.all_items()
    )


def test_a_crash_restores_the_last_checkpoint_and_nothing_counts_twice() -> None:
    with TopologyTester(CountedLines) as tester:
        tester.run_spouts(2)
        assert tester.checkpoint()
        at_checkpoint = counts(tester)
        assert tester.acked("lines") == [1, 2, 1, 2]
        tester.run_spouts(1)
        assert counts(tester) != at_checkpoint
        tester.crash("split", task=tester.tasks("split")[0])
        assert counts(tester) == at_checkpoint
        assert tester.failed("lines") == [3, 3]
        tester.run_spouts()
        assert counts(tester) == expected()
        assert by_task(tester) == sum(expected().values())
        tester.crash("lines")
        assert counts(tester) == at_checkpoint
        tester.run_spouts()
        assert counts(tester) == expected()
        assert tester.checkpoint()
        assert tester.component("lines")[0].acked == [3, 4, 5, 6]


def emitted_again(checkpoints: int) -> int:
    """How many tuples the spouts emit once more if a bolt dies after four lines of each."""
    with TopologyTester(CountedLines) as tester:
        for each in range(4):
            tester.run_spouts(1)
            if each < checkpoints:
                assert tester.checkpoint()
        tester.crash("count")
        tester.run_spouts()
        assert counts(tester) == expected()
        return len(tester.emitted("lines"))


def test_the_newer_the_checkpoint_the_less_is_processed_again() -> None:
    """Without one all of the source is."""
    again = [emitted_again(checkpoints) for checkpoints in range(5)]
    assert again == [again[0] - 2 * each for each in range(5)]


def test_without_a_checkpoint_all_begins_anew() -> None:
    with TopologyTester(CountedLines) as tester:
        tester.run_spouts()
        tester.crash("count")
        assert counts(tester) == Counter()
        # A surviving spout restarts from its state as well.
        tester.run_spouts()
        assert counts(tester) == expected()


def test_what_a_bolt_keeps_in_attributes_is_gone_after_a_crash() -> None:
    """A user's test of a forgotten state has to fail."""
    with TopologyTester(ForgetfulLines) as tester:
        tester.run_spouts(3)
        tester.checkpoint()
        tester.crash("split")
        tester.run_spouts()
        bolts = tester.component("count")
        found: Counter[str] = sum((bolt.counts for bolt in bolts), Counter())
        assert found != expected()


def test_a_tuple_that_the_test_fed_is_settled_by_a_checkpoint_or_by_a_crash() -> None:
    with TopologyTester(CountedLines) as tester:
        tester.feed("lines", ["storm"], tup_id="first")
        tester.run()
        assert tester.acked("lines") == []
        tester.checkpoint()
        assert tester.acked("lines") == ["first"]
        tester.feed("lines", ["heron"], tup_id="second", replays=1)
        tester.feed("lines", ["flink"], tup_id="third")
        tester.run()
        tester.crash("lines")
        tester.run()
        assert sorted(tester.failed("lines")) == ["second", "third"]
        assert counts(tester) == Counter(storm=1, heron=1)


def test_a_spout_gets_no_ack_for_a_tuple_that_a_bolt_abandoned() -> None:
    """Neither for neighbours, perhaps the abandoned tuple."""
    with TopologyTester(RefusedLines) as tester:
        tester.run_spouts(calls=1)
        assert tester.checkpoint()
        assert [each.acked for each in tester.component("lines")] == [[1]] * SPOUTS
        tester.run_spouts()
        assert tester.checkpoint()
        for spout in tester.component("lines"):
            assert 4 not in spout.acked
        (other,) = tester.component("others")
        assert sorted(other.acked) == list(range(1, len(LINES) + 1))
        (told, _) = tester.errors("lines")
        assert "refusing abandoned tuples that checkpoint 2 covers" in told.text


def test_a_crash_in_the_middle_of_a_checkpoint_leaves_the_one_before() -> None:
    with TopologyTester(CountedLines) as tester:
        tester.run_spouts(1)
        assert tester.checkpoint()
        tester.feed("lines", ["last"])
        tester.crash("count", when=lambda tup: tup.word == "last")
        assert not tester.checkpoint()
        tester.run_spouts()
        assert counts(tester) == expected()
        assert tester.checkpoint()


def test_a_two_phase_sink_writes_each_word_once() -> None:
    Committed.world.clear()
    Committed.calls.clear()
    with TopologyTester(CommittedWords) as tester:
        tester.run_spouts(2)
        assert Committed.world == {}
        assert tester.checkpoint()
        tester.run_spouts(1)
        tester.crash("split")
        tester.run_spouts()
        assert tester.checkpoint()
    assert Committed.calls == [
        ("pre_save", "1"), ("post_save", "1"), ("pre_restore", "1"),
        ("pre_save", "2"), ("post_save", "2"),
    ]  # fmt: skip
    assert Counter(chain.from_iterable(Committed.world.values())) == expected()


def test_a_checkpoint_needs_a_topology_that_takes_some() -> None:
    with TopologyTester(WordCount) as tester, pytest.raises(UsageError, match="EFFECTIVELY_ONCE"):
        tester.checkpoint()


def test_state_in_rocksdb_is_restored_just_as_well(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    config = {"topology.state.backend": "rocksdb", "topology.state.folder": str(tmp_path)}
    with TopologyTester(CountedLines, config=config) as tester:
        tester.run_spouts(2)
        assert tester.checkpoint()
        at_checkpoint = counts(tester)
        databases = len(list(tmp_path.glob("*/db-*")))
        for _ in range(2):
            tester.run_spouts(2)
            tester.crash("count")
            assert counts(tester) == at_checkpoint
            # A kill does not clean up, a restore does.
            databases += len(tester.tasks("count"))
            assert len(list(tmp_path.glob("*/db-*"))) <= databases
        tester.run_spouts()
        assert counts(tester) == expected()


@pytest.mark.parametrize("seed", range(12))
def test_random_crashes_end_in_the_same_state(seed: int) -> None:
    rng = Random(seed)
    order = rng.choice(["fifo", "random"])
    with TopologyTester(CountedLines, order=order, seed=seed) as tester:
        for _ in range(rng.randint(1, 12)):
            _random_step(rng, tester)
        tester.run_spouts()
        assert counts(tester) == expected()
        assert by_task(tester) == sum(expected().values())


def _random_step(rng: Random, tester: TopologyTester) -> None:
    component: Any = rng.choice(["lines", "split", "count"])
    task = rng.choice([None, *tester.tasks(component)])
    match rng.randrange(4):
        case 0:
            tester.checkpoint()
        case 1:
            tester.crash(component, task)
        case 2:
            # In the middle of the data, and with luck in the middle of a checkpoint.
            skipped = iter(range(rng.randint(1, 8)))
            victim = rng.choice(["split", "count"])
            tester.crash(victim, when=lambda tup: next(skipped, None) is None)
        case _:
            tester.run_spouts(rng.randint(1, 3))


def test_a_bolt_that_raises_fails_its_tuple_at_once_for_the_test_to_see() -> None:
    with TopologyTester(CountedLines) as tester:
        tester.feed("lines", [None], tup_id=1)
        tester.run()
        assert tester.errors("split")
        tester.feed("lines", ["storm"], tup_id=2)
        tester.run()
        assert tester.emitted("split")
