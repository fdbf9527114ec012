"""Which keys of a stream are frequent, from little memory."""

import random

import pytest

from heron_core.algorithms.hashing import stable_hash
from heron_core.algorithms.hot_keys import COUNTERS, HALVED_SECS, HotKeys, are_hot_keys, joined


def filled(shares: dict[str, float], others: int, samples: int, seed: int = 1) -> HotKeys:
    """A sample of a stream: some keys with given shares, an even rest."""
    chance, keys = random.Random(seed), HotKeys(0.0)
    names, weights = list(shares), list(shares.values())
    for _ in range(samples):
        rest = f"other{chance.randrange(others)}"
        key = chance.choices([*names, rest], [*weights, 1 - sum(weights)])[0]
        keys.add(stable_hash([key]), repr(key), 10.0, 0.0)
    return keys


def test_frequent_keys_are_found_with_their_shares_among_many() -> None:
    keys = filled({"x": 0.43, "y": 0.1}, others=10_000, samples=3_000)
    (first, heavy), (second, lighter) = keys.top()[:2]
    assert (first, second) == ("'x'", "'y'")
    assert abs(heavy / keys.total - 0.43) < 0.04
    assert abs(lighter / keys.total - 0.1) < 0.04


def test_a_stream_without_a_frequent_key_has_none() -> None:
    # Space-saving alone would give each of its counters a 64th.
    keys = filled({}, others=10_000, samples=3_000)
    assert all(weight < 1.2 * keys.total / COUNTERS for _, weight in keys.top())
    assert filled({"x": 0.9}, others=10, samples=50).top() == []  # too few to say


@pytest.mark.parametrize("samples", [100, 300, 3_000])
@pytest.mark.parametrize("keys", [51, 101, 1_000])
def test_equally_frequent_keys_are_not_taken_for_hot_ones_by_chance(
    keys: int, samples: int
) -> None:
    # Of 101 keys the first one of 100 samples has 4 %, and `advise` called the keys skewed.
    assert all(filled({}, keys, samples, seed).top() == [] for seed in range(10))


def test_an_instance_with_an_old_snapshot_has_its_whole_share() -> None:
    """A run of half a second, four equally frequent keys, two at each instance: the newest snapshot
    of an instance has all of its input, of the other its first batch."""
    newest = {"total": 1500.0, "seen": 1500, "keys": [["'shop'", 750.0], ["'cart'", 750.0]]}
    first = {"total": 50.0, "seen": 50, "keys": []}
    assert joined([(newest, 1500), (first, 1500)]) == [("'shop'", 0.25), ("'cart'", 0.25)]


def test_a_sample_that_stands_for_many_tuples_is_no_better_known_than_another() -> None:
    keys = filled({}, others=50, samples=100)
    keys.add(stable_hash(["x"]), "'x'", 1_000.0, 0.0)
    assert keys.top() == [], "half of all, and one sample in a hundred"


def test_a_key_is_reported_as_soon_as_its_share_is_certain() -> None:
    assert filled({"x": 0.3}, others=1_000, samples=100).top()[0][0] == "'x'"
    assert filled({"x": 0.05}, others=1_000, samples=100).top() == []
    assert filled({"x": 0.05}, others=1_000, samples=2_000).top()[0][0] == "'x'"


def test_a_key_that_comes_no_more_is_forgotten() -> None:
    keys = filled({"x": 0.9}, others=100, samples=300)
    for step in range(300):
        keys.add(stable_hash(["y"]), "'y'", 10.0, HALVED_SECS * (1 + step / 50))
    assert keys.top()[0][0] == "'y'"
    assert keys.weight(stable_hash(["x"])) < 0.1 * keys.total


def test_a_stream_that_was_silent_for_long_has_no_hot_key() -> None:
    keys = filled({"x": 0.9}, others=100, samples=300)
    keys.add(stable_hash(["y"]), "'y'", 1e-300, HALVED_SECS * 3_000)
    assert keys.top() in ([], [("'y'", 1e-300)])


def test_instances_are_joined_to_a_component() -> None:
    one = {"total": 100.0, "keys": [["'x'", 60.0], ["'z'", 5.0]]}
    other = {"total": 100.0, "keys": [["'x'", 20.0]]}
    assert joined([(one, 100), (other, 100)]) == [("'x'", 0.4), ("'z'", 0.025)]
    assert joined([]) == []
    assert are_hot_keys(one)
    assert are_hot_keys(None)
    for wrong in (
        {"total": 1.0, "keys": [], "seen": "x"},
        {"total": 1.0, "keys": [], "seen": -1},
        {},
        {"total": "x", "keys": []},
        {"total": 1.0, "keys": [["x", "y"]]},
        3,
    ):
        assert not are_hot_keys(wrong)
