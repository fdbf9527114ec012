"""The windowing examples of storm-starter, and TridentReach, in the tester."""

import json
from importlib import import_module
from typing import Any

import pytest

from heron_frontends.loading.load import load_topology
from heronpy_compat.testing import LocalDRPC, TopologyTester
from tests.unit.heronpy_compat.storm_starter_oracles import (
    EXAMPLES,
    PRINTED,
    REACH,
    VALUES,
    averages,
    join_bolt,
    stateful,
)
from tests.unit.heronpy_compat.trident.trident_oracles import ASKED, requested_counts


@pytest.fixture
def lines(fresh_imports: None, capsys: pytest.CaptureFixture[str]) -> Any:
    """What an example prints, line by line."""

    def run(name: str, spouts: int = 1_000, seconds: float = 0.0) -> list[str]:
        with TopologyTester(load_topology(str(EXAMPLES / f"{name}.py"))) as tester:
            for _ in range(-(-len(VALUES) // spouts)):
                tester.run_spouts(calls=spouts)
                tester.advance(seconds)
            tester.finish()
        return capsys.readouterr().out.splitlines()

    return run


@pytest.mark.parametrize("name", PRINTED)
def test_windows_have_the_sums_of_their_integers(lines: Any, name: str) -> None:
    assert lines(name) == PRINTED[name]


def test_each_sum_is_of_what_came_before(lines: Any) -> None:
    printed = lines("stateful")
    totals = [line for line in printed if line.startswith("total")]
    assert len(totals) == len(VALUES)
    assert sorted([*set(printed) - set(totals), totals[-1]]) == sorted(stateful())


def test_people_with_the_same_id_are_joined(lines: Any) -> None:
    assert sorted(lines("join_bolt")) == join_bolt()


def test_averages_of_the_last_ten_seconds(lines: Any) -> None:
    """Ten integers every second, and a window every two seconds; the first ten come as one ends."""
    windows = [VALUES[:end] for end in (10, 20, 40, 60, 80)]
    total, count = 0, 0
    expected = []
    for window in windows:
        total, count = total + sum(window), count + len(window)
        expected.append((round(total / count, 2), round(sum(window) / len(window), 2)))
    assert averages(lines("persistent_windowing", 10, 1.0))[: len(expected)] == expected


def test_requests_over_static_states(fresh_imports: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    module = import_module("trident_reach")
    with LocalDRPC() as drpc:
        topology = module.construct(drpc)
        with TopologyTester(topology.build("Reach"), drpc=drpc):
            assert {url: drpc.execute("reach", url) for url in REACH} == REACH


def test_requests_over_counted_words(fresh_imports: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    module = import_module("trident_word_count")
    with LocalDRPC() as drpc:
        topology = module.construct(drpc)
        with TopologyTester(topology.build("WordCount"), drpc=drpc) as tester:
            for _ in range(10):
                tester.run_spouts()
                tester.advance(1)
            assert sorted(json.loads(drpc.execute("words", ASKED))) == requested_counts()


def test_every_example_is_here() -> None:
    shared = {"integers", "sliding_sum"}
    others = {
        "stateful",
        "join_bolt",
        "persistent_windowing",
        "trident_reach",
        "trident_word_count",
    }
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*PRINTED, *shared, *others}
