"""Patterns of events: the matches are those of a definition by brute force."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heron_api.topology import TopologyBuilder
from heron_core.algorithms import patterns
from heron_core.algorithms.patterns import Pattern, sequence
from heron_core.errors import TopologyError
from heronpy_compat.streamlet.builder import Builder
from heronpy_compat.streamlet.errors import StreamletError
from heronpy_compat.testing import TopologyTester
from tests.unit.heronpy_compat.streamlet.streamlet_support import given as source_of
from tests.unit.heronpy_compat.streamlet.streamlet_support import nothing

Event = tuple[str, str, int]
"""(key, kind, ms)"""
EVENTS = st.lists(
    st.tuples(st.sampled_from("xy"), st.sampled_from("abcd"), st.integers(0, 12)), max_size=25
)
STEPS = st.lists(st.sampled_from(["a", "b", "ab", "c"]), min_size=1, max_size=3)


def kind_in(kinds: str) -> Any:
    return lambda event: event[1] in kinds


def pattern_of(steps: list[str], excluded: str, within_ms: int) -> Pattern:
    return sequence(*map(kind_in, steps)).within(within_ms / 1000).not_(kind_in(excluded))


def by_definition(
    events: list[Event], steps: list[str], excluded: str, within_ms: int
) -> list[list[Event]]:
    """Of each beginning: the first later event that fits, step by step; then the limits."""
    ordered, found = sorted(events, key=lambda event: event[2]), []
    for first, event in enumerate(ordered):
        chosen = [first] if event[1] in steps[0] else []
        for step in steps[1:]:
            after = range(chosen[-1] + 1 if chosen else len(ordered), len(ordered))
            later = [at for at in after if ordered[at][1] in step]
            chosen = [*chosen, later[0]] if later else []
        if not chosen or ordered[chosen[-1]][2] - event[2] > within_ms:
            continue
        between = set(range(chosen[0], chosen[-1])) - set(chosen)
        if not any(ordered[at][1] in excluded for at in between):
            found.append([ordered[at] for at in chosen])
    return found


@settings(max_examples=300, derandomize=True, deadline=None)
@given(EVENTS, STEPS, st.sampled_from(["", "c", "d", "bd"]), st.integers(1, 12))
def test_matches_are_those_of_the_definition(
    events: list[Event], steps: list[str], excluded: str, within_ms: int
) -> None:
    pattern = pattern_of(steps, excluded, within_ms)
    runs: list[Any] = []
    matches: list[Any] = []
    for event in sorted(events, key=lambda event: event[2]):
        runs, completed = pattern.advanced(runs, event, event[2])
        matches += completed
    assert sorted(matches) == sorted(by_definition(events, steps, excluded, within_ms))


@settings(max_examples=8, derandomize=True, deadline=None)
@given(EVENTS, STEPS)
def test_a_streamlet_matches_by_key_whatever_the_disorder(
    events: list[Event], steps: list[str]
) -> None:
    builder, topology = Builder(), TopologyBuilder("Patterns")
    timed = builder.new_source(source_of(events)).with_event_time(lambda event: event[2], lag_ms=20)
    keyed = timed.key_by(lambda event: event[0])
    keyed.match(pattern_of(steps, "d", 5)).consume(nothing)
    builder.build(topology)
    config = {"topology.reliability.mode": "EFFECTIVELY_ONCE"}
    with TopologyTester(topology, config=config) as tester:
        tester.run_spouts(len(events) // 2)
        tester.checkpoint()
        tester.crash("match-1")
        tester.run_spouts()
        tester.finish()
        matches = [values[0] for values in tester.values("match-1", "output")]
    for key in "xy":
        own = [event for event in events if event[0] == key]
        assert sorted(found for at, found in matches if at == key) == sorted(
            by_definition(own, steps, "d", 5)
        )


def test_patterns_that_cannot_be_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TopologyError, match="at least one step"):
        sequence()
    with pytest.raises(TopologyError, match="functions of an event, not 'a'"):
        sequence("a")  # type: ignore[arg-type]
    with pytest.raises(TopologyError, match="positive number of seconds, not 0"):
        sequence(bool).within(0)
    keyed = Builder().new_source(source_of([])).key_by(str)
    with pytest.raises(StreamletError, match=r"needs within\(secs\)"):
        keyed.match(sequence(bool))
    monkeypatch.setattr(patterns, "RUNS_MAX", 3)
    pattern = sequence(bool, str.isdigit).within(1)
    with pytest.raises(TopologyError, match="more than 3 open runs"):
        pattern.advanced([[0, ["x"]]] * 3, "x", 0)
