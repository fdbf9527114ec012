"""Coroutines in a whole cluster from one seed: whatever dies while calls are under way, every count
is exact.

A failing seed is run again by HERON_SIM_SEEDS=123, as in test_cluster.py.
"""

import os
from collections.abc import Iterator

import pytest

from heron_instance.in_flight import BoltInFlight
from tests.sim.coroutines import CallingCluster
from tests.sim.run import run_seed
from tests.sim.virtual_loop import abandon_all

SEEDS = 8
MUTATED = range(5, 55)
"""The first of them finds it."""


pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
"""A process may die between the call of a coroutine and its first step."""


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """Nothing of a run is left."""
    yield
    abandon_all()


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@pytest.mark.parametrize("seed", _seeds())
def test_coroutines(seed: int) -> None:
    run_seed(seed, effectively_once=True, kind=CallingCluster)


def test_a_checkpoint_that_forgets_what_is_in_flight_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BoltInFlight, "unfinished", lambda self: [])
    for seed in MUTATED:
        try:
            run_seed(seed, effectively_once=True, kind=CallingCluster)
        except BaseException:
            return
    raise AssertionError(f"{len(MUTATED)} seeds find nothing")
