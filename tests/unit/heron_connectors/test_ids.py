"""Ids are a set, whatever order numbers come in, and numbers in a row cost one range."""

from hypothesis import given
from hypothesis import strategies as st

from heron_connectors.ids import Id, Ids

IDS = st.integers(-20, 20) | st.sampled_from(["a", "b", b"a"])


@given(st.lists(IDS))
def test_it_is_a_set(ids: list[Id]) -> None:
    found, model = Ids(ids), set(ids)
    assert len(found) == len(model)
    for value in (*range(-22, 23), "a", "b", "c", b"a", b"c"):
        assert (value in found) == (value in model)


@given(st.permutations(range(12)))
def test_numbers_in_a_row_are_one_range(numbers: list[int]) -> None:
    assert Ids(numbers).ranges == 1


def test_gaps_cost_ranges() -> None:
    assert Ids([1, 2, 4, 6, 7]).ranges == 3
