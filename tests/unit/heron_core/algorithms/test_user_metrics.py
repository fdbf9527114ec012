"""What user code registered, over all instances of its component."""

from typing import Any

import pytest

from heron_core.algorithms.user_metrics import WHOLE_MAX, added, are_user_metrics, rolled_up, summed


def test_counts_add_up_means_are_averaged_the_last_text_counts() -> None:
    one = {"seen": 3, "size": 2.0, "state": "old", "by_key": {"a": 1, "b": 2}, "none": None}
    two = {"seen": 4, "size": 5, "state": "new", "by_key": {"b": 10}, "none": None}
    assert rolled_up([one, two]) == {
        "seen": 7,
        "size": 3.5,
        "state": "new",
        "by_key": {"a": 1, "b": 12},
    }


@pytest.mark.parametrize(
    "nonsense", [[], {"a": []}, {"a": {"b": {}}}, {1: 2}, {"a": WHOLE_MAX}, {"a": {2: 3}}]
)
def test_nonsense_is_refused(nonsense: Any) -> None:
    assert not are_user_metrics(nonsense)


def test_an_absurd_sum_still_fits_a_message() -> None:
    assert rolled_up([{"n": WHOLE_MAX - 1}, {"n": WHOLE_MAX - 1}]) == {"n": WHOLE_MAX}


def test_totals_are_the_sums_of_the_buckets() -> None:
    """A rare counter reads 0 in most seconds: its total says what there was."""
    total: object = None
    for bucket in ({"a": 1, "mean": 0.5}, {"b": 2, "mean": 0.25}, {"a": 10, "b": 0}):
        total = added(total, bucket)
    assert total == {"a": 11, "b": 2}
    assert added(added(None, 3), 4) == 7
    assert added(None, 0.5) is None, "a mean has no total"
    assert summed([{"seen": 3, "by": {"a": 1}}, {"seen": 4, "by": {"b": 2}}]) == {
        "by": {"a": 1, "b": 2},
        "seen": 7,
    }
