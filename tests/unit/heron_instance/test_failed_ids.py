"""Which tuples of a spout have failed for good: those that were not acked after their last fail."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.topology import StreamSpec
from heron_core.wire.frames import FrameKind
from heron_core.wire.packets import encode_roots
from heron_instance.input import failed_ids
from heron_instance.input.failed_ids import FailedIds
from tests.unit.heron_instance.instance_support import (
    EPOCH,
    OTHER,
    SHUFFLE,
    SOURCE,
    Source,
    make,
    reads,
)


def test_a_tuple_that_is_replayed_and_acked_has_not_failed_for_good() -> None:
    failed = FailedIds()
    failed.add("a", 1, 2)
    failed.add("b", 2, 2)
    failed.add("a", 3, 3)  # its replay fails as well
    assert len(failed) == 2
    failed.acked("a", 4)
    failed.acked("never failed", 5)
    assert len(failed) == 1


def test_of_two_pending_tuples_of_one_id_the_one_that_fails_has_failed_for_good() -> None:
    """The other one was emitted before, so its ack is not that of a replay."""
    failed = FailedIds()
    failed.add("same", 1, 2)
    failed.acked("same", 2)
    assert len(failed) == 1
    failed.acked("same", 3)
    assert len(failed) == 0


def test_two_pending_tuples_of_one_id_that_fail_are_two() -> None:
    failed = FailedIds()
    failed.add("same", 1, 2)
    failed.add("same", 2, 3)  # its fail was told while the first one's replay was pending
    assert len(failed) == 2
    failed.acked("same", 3)
    failed.acked("same", 4)
    assert len(failed) == 0


def test_a_replay_without_a_root_is_that_of_the_latest_failure() -> None:
    failed = FailedIds()
    failed.add("same", 1, 2)
    failed.add("same", 2, 9)
    failed.acked_at_once("another")
    assert len(failed) == 2
    failed.acked_at_once("same")
    assert len(failed) == 1
    failed.acked("same", 3)
    assert len(failed) == 0


def test_a_replay_that_is_acked_at_once_clears_the_failure() -> None:
    """It is emitted on a stream that nothing reads."""
    streams = (StreamSpec("default", ("a", "b")), StreamSpec("side", ("a", "b")))
    made = make(Source, reads(SHUFFLE), outputs=streams)
    made.core.set_active(True)
    made.component.emit([0, 0], tup_id=0)
    (root,) = made.core.collector.pending
    made.core.deliver(encode_roots(FrameKind.FAILED, EPOCH, OTHER, SOURCE, [root]))
    assert made.core.statistics().failed_for_good == 1
    made.component.script = lambda: made.component.emit([0, 0], tup_id=0, stream="side")
    made.core.turn(made.now + 1)
    assert made.component.acked[:1] == [0]
    assert made.core.statistics().failed_for_good == 0


def test_a_tuple_that_became_a_dead_letter_has_not_failed() -> None:
    failed = FailedIds()
    failed.add("a", 1, 1)
    failed.abandoned("a")
    failed.abandoned("unknown")
    assert len(failed) == 0


def test_ids_that_cannot_be_told_apart_are_counted() -> None:
    """A list as tuple id: it cannot be looked up, so nobody knows that it was replayed."""
    failed = FailedIds()
    failed.add(["a"], 1, 1)
    failed.acked(["a"], 2)
    assert len(failed) == 1


def test_so_many_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_ids, "FAILED_IDS_MAX", 2)
    failed = FailedIds()
    for tup_id in (1, 2, 3):
        failed.add(tup_id, tup_id, tup_id)
    failed.acked(3, 4)
    failed.acked(1, 5)
    assert len(failed) == 2


@given(st.data())
def test_whatever_comes_of_tuples_with_few_ids_each_failure_without_a_replay_counts(
    data: Any,
) -> None:
    """A spout that emits each failed tuple again at once, under the same id, until it is acked."""
    ids = data.draw(st.lists(st.sampled_from("ab"), min_size=1, max_size=12))
    failed, pending = FailedIds(), dict(enumerate(ids))
    replays: set[int] = set()
    waiting = 0
    last = len(ids) - 1
    while pending:
        root = data.draw(st.sampled_from(sorted(pending)))
        tup_id, newest = pending.pop(root), max(pending, default=root)
        is_replay = root in replays
        if data.draw(st.booleans()) and last < 40:
            failed.add(tup_id, root, max(newest, root))
            last += 1
            pending[last] = tup_id
            replays.add(last)
            waiting += not is_replay
        else:
            failed.acked(tup_id, root)
            waiting -= is_replay
        assert len(failed) == waiting
    assert len(failed) == 0
