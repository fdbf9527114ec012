"""Latency histograms: percentiles to a fifth, and sums over many instances."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.algorithms.histogram import (
    LEAST_SECS,
    bucket_of,
    merged,
    percentile_secs,
    upper_secs,
)

durations = st.floats(1e-9, 1e5)


@given(durations)
def test_a_bucket_holds_its_durations(duration: float) -> None:
    # What the screen shows is never less than what was measured, and at most 19 % more.
    upper = upper_secs(bucket_of(duration))
    assert upper >= max(duration, LEAST_SECS) * (1 - 1e-9)
    assert upper <= max(duration, LEAST_SECS) * 2**0.25 * (1 + 1e-9)


@given(st.lists(durations, min_size=1, max_size=50), st.sampled_from([0.01, 0.5, 0.99, 1.0]))
def test_percentile_is_near_the_exact_one(samples: list[float], share: float) -> None:
    histogram = merged({bucket_of(each): 1} for each in samples)
    exact = max(LEAST_SECS, sorted(samples)[math.ceil(len(samples) * share) - 1])
    found = percentile_secs(histogram, share)
    assert found is not None
    assert exact * (1 - 1e-9) <= found <= exact * 2**0.25 * (1 + 1e-9)


def test_percentiles_of_many_instances_are_those_of_all_samples() -> None:
    fast, slow = {bucket_of(0.001): 99}, {bucket_of(1.0): 1}
    both = merged([fast, slow])
    assert percentile_secs(both, 0.5) == pytest.approx(0.001, rel=0.2)
    assert percentile_secs(both, 0.99) == pytest.approx(0.001, rel=0.2)
    assert percentile_secs(both, 1.0) == pytest.approx(1.0, rel=0.2)
    assert fast == {bucket_of(0.001): 99}


def test_no_samples_no_percentile() -> None:
    assert percentile_secs({}, 0.5) is None
    assert merged([]) == {}


@pytest.mark.parametrize("duration", [0.0, -1.0, LEAST_SECS])
def test_a_clock_that_stands_still_counts_as_least(duration: float) -> None:
    assert bucket_of(duration) == 0
