"""Sketches: partial ones merged are the sketch of all elements, whatever the division."""

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heron_api.state.sketches import CountMin, FrequentItems, HyperLogLog, Kll, Theta
from heron_core.errors import ComponentError, StateError
from heron_core.state.monoid import Monoid, loaded, stored

pytest.importorskip("datasketches")
EXACT = [HyperLogLog(), HyperLogLog(lg_k=7), Theta(lg_k=6), Theta(), CountMin(), FrequentItems()]
ELEMENTS = [f"user{random.Random(at).randrange(700)}" for at in range(3000)]


def of(monoid: Monoid[Any], elements: list[Any]) -> Any:
    value = monoid.zero()
    for element in elements:
        value = monoid.add(value, element)
    return value


def merged_of_four(monoid: Monoid[Any], elements: list[Any]) -> Any:
    """Four partial sketches, as they would come in messages."""
    parts = [stored(monoid, of(monoid, elements[at::4])) for at in range(4)]
    whole = monoid.zero()
    for part in parts:
        whole = monoid.merge(whole, loaded(monoid, part))
    return whole


@pytest.mark.parametrize("monoid", EXACT, ids=lambda monoid: monoid.label)
def test_the_merge_of_four_partial_sketches_is_the_sketch_of_the_union(monoid: Any) -> None:
    whole, merged = of(monoid, ELEMENTS), merged_of_four(monoid, ELEMENTS)
    assert monoid.estimate(merged) == monoid.estimate(whole)
    again = loaded(monoid, stored(monoid, merged))
    assert monoid.estimate(again) == monoid.estimate(whole)
    assert monoid.estimate(monoid.merge(monoid.zero(), again)) == monoid.estimate(whole)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 400).map(str), max_size=300), st.sampled_from(EXACT))
def test_the_same_of_any_elements(elements: list[str], monoid: Any) -> None:
    assert monoid.estimate(merged_of_four(monoid, elements)) == monoid.estimate(
        of(monoid, elements)
    )


def test_errors_are_within_what_is_stated() -> None:
    counts = Counter(ELEMENTS)
    for monoid in (HyperLogLog(), Theta()):
        assert monoid.estimate(of(monoid, ELEMENTS)) == pytest.approx(len(counts), rel=0.06)
    rough = of(CountMin(relative_error=0.01), ELEMENTS)
    for user, count in counts.items():
        assert count <= rough.get_estimate(user) <= count + 0.01 * len(ELEMENTS)
    few = ["a"] * 30 + ["b"] * 20 + ["c"]
    assert FrequentItems(top=2).estimate(of(FrequentItems(), few)) == [["a", 30], ["b", 20]]
    kll, numbers = Kll(quantiles=(0.5, 0.99)), [float(at) for at in range(20_000)]
    random.Random(1).shuffle(numbers)
    for value in (of(kll, numbers), merged_of_four(kll, numbers)):
        found = kll.estimate(value)
        assert found["p50"] == pytest.approx(10_000, abs=0.03 * 20_000)
        assert found["p99"] == pytest.approx(19_800, abs=0.03 * 20_000)
    assert kll.estimate(kll.zero()) == {}


def test_elements_and_parameters_that_cannot_be_are_named_with_a_cure() -> None:
    with pytest.raises(StateError, match=r"str, int, float .* not \('a', 1\): make a text of it"):
        HyperLogLog().add(HyperLogLog().zero(), ("a", 1))
    with pytest.raises(StateError, match="not 1180591620717411303424"):
        Theta().add(Theta().zero(), 2**70)
    with pytest.raises(StateError, match="NaN is none"):
        Kll().add(Kll().zero(), float("nan"))
    with pytest.raises(StateError, match="whole weight"):
        CountMin().add(CountMin().zero(), ("a", "b"))
    with pytest.raises(StateError, match="lg_k is a number from 7 to 21, not 40"):
        HyperLogLog(lg_k=40)
    with pytest.raises(StateError, match=r"saved by HyperLogLog\(lg_k=12\)"):
        loaded(HyperLogLog(lg_k=10), stored(HyperLogLog(), HyperLogLog().zero()))
    with pytest.raises(StateError, match=r"Theta\(lg_k=12\).from_bytes: "):
        loaded(Theta(), ["Theta(lg_k=12)", b"nonsense", None])


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "datasketches", None)
    with pytest.raises(ComponentError, match=r"pip install 'heronpy-topologies\[sketches\]'"):
        HyperLogLog()
