"""Drawn types, nulls, failing and late rows, zones, modes, coroutines, ticks: engines agree.

Values with types, refused, failed and late values and dead letters are compared exactly. By default
the tester and the Spark engine's hosts run a few seeds, processes one, and so does a Spark
(tests/cluster/test_drawn_on_spark.py). HERON_DRAWN_SEEDS=1000:1200 chooses other seeds for the
former, HERON_DRAWN_ALL=5:9 for the latter.
"""

from pathlib import Path
from random import Random

import pytest

from drawn_expected import expected
from drawn_rounds import FAST, NATIVE, ONE_SEED, Round, seeds_of
from drawn_topologies import BOLTS, KINDS, SPOUTS, STREAMS, TIME_ZONES, WINDOWS, drawn
from drawn_values import draw_misfit, draw_type, draw_value
from heron_core.field_types import fits_of

SEEDS = "1:3"


# Processes killed in the test leave their event loops open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("seed", seeds_of("HERON_DRAWN_SEEDS", SEEDS))
def test_the_tester_and_the_hosts_of_spark_give_what_plain_python_gives(
    seed: int, tmp_path: Path
) -> None:
    found = list(Round(seed, tmp_path, engines=FAST).complaints())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", seeds_of("HERON_DRAWN_ALL", ONE_SEED))
def test_processes_give_what_plain_python_gives(seed: int, tmp_path: Path) -> None:
    found = list(Round(seed, tmp_path, engines=[NATIVE]).complaints())
    assert not found, "\n".join(found)


def test_each_of_what_may_be_drawn_is_drawn() -> None:
    """In few seeds: else the rounds would prove less than they say."""
    givens = [drawn(seed) for seed in range(1, 30)]
    parts = [(given, part) for given in givens for part in given.parts]
    nodes = [(given.mode, node) for given, part in parts for node in part.nodes]
    types = {kind for _, part in parts for kind in part.types}
    wanted = [expected(part, given.letters) for given, part in parts]
    assert {given.letters for given in givens} == {"", "file:", "letters"}
    assert len({given.zone for given in givens}) == len(TIME_ZONES)
    assert {part.time for _, part in parts} == {"bigint", "naive", "aware"}
    assert {part.spout for _, part in parts} == set(SPOUTS)
    assert {node.kind for _, node in nodes} == {*BOLTS, *WINDOWS}
    assert {node.grouping for _, node in nodes} == set(KINDS)
    assert {node.side_grouping for _, node in nodes if node.kind in BOLTS} == set(KINDS)
    assert {part.spout_sends for _, part in parts} == {node.sends for _, node in nodes}
    assert {node.sends for _, node in nodes} == set(STREAMS)
    assert {part.is_typed for _, part in parts} == {True, False}
    assert {(node.capacity == 1, node.is_ordered) for _, node in nodes} == {
        (True, True), (True, False), (False, True), (False, False)
    }  # fmt: skip
    assert {node.how for _, node in nodes} == {"raises", "fails", "raises once", "never"}
    assert {node.on_exception for _, node in nodes} == {"fail", "restart", "stop", "exit"}
    assert {each.partition("<")[0] for each in types} >= {"array", "map", "struct", "float", "date"}
    assert all(
        any(getattr(each, name) for each in wanted)
        for name in ("seen", "refused", "letters", "failed", "late", "roots")
    )
    assert any(key[1] == "late" for each in wanted for key in each.seen)


def test_values_fit_the_types_that_they_are_drawn_for_and_misfits_do_not() -> None:
    random = Random(7)
    for _ in range(300):
        kind = draw_type(random)
        assert fits_of(kind)(draw_value(random, kind, nullable=False)), kind
        misfit = draw_misfit(random, kind)
        assert misfit is not None
        assert not fits_of(kind)(misfit), (kind, misfit)
