"""Checkpoints in a whole cluster from one seed: whatever dies, every count is exact.

A failing seed is run again by HERON_SIM_SEEDS=123, as in test_cluster.py.
"""

import os

import pytest

from tests.sim.arrows import never_taken
from tests.sim.run import arrows_taken

SEEDS = 24


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@pytest.mark.parametrize("seed", _seeds())
def test_effectively_once(seed: int) -> None:
    # Instances, stream managers, masters and whole containers die while checkpoints are taken.
    arrows_taken(seed, True)


@pytest.mark.skipif("HERON_SIM_SEEDS" in os.environ, reason="about the default seeds together")
@pytest.mark.behind
@pytest.mark.timeout(900)
def test_the_default_seeds_take_the_arrows_of_the_drawings() -> None:
    """But for those that `arrows.RARE` lists. Alone it runs the seeds, else they have been run."""
    assert never_taken(range(SEEDS), True) == []
