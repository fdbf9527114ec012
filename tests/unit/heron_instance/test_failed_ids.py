"""Which tuples of a spout have failed for good: those that were not acked after their last fail."""

import pytest

from heron_instance.input import spout
from heron_instance.input.spout import FailedIds


def test_a_tuple_that_is_replayed_and_acked_has_not_failed_for_good() -> None:
    failed = FailedIds()
    for tup_id in ("a", "b", "a"):
        failed.add(tup_id)
    assert len(failed) == 2
    failed.acked("a")
    failed.acked("never failed")
    assert len(failed) == 1


def test_ids_that_cannot_be_told_apart_are_counted() -> None:
    """A list as tuple id: it cannot be looked up, so nobody knows that it was replayed."""
    failed = FailedIds()
    failed.add(["a"])
    failed.acked(["a"])
    assert len(failed) == 1


def test_so_many_are_remembered_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spout, "FAILED_IDS_MAX", 2)
    failed = FailedIds()
    for tup_id in (1, 2, 3):
        failed.add(tup_id)
    failed.acked(3)
    failed.acked(1)
    assert len(failed) == 2
