"""States in the memory of other containers, in a whole cluster from one seed: whatever dies, every
count is exact, and nothing is committed twice.

A failing seed is run again by HERON_SIM_SEEDS=123, as in test_cluster.py.
"""

import os

import pytest

from tests.sim.backup import BackedUp
from tests.sim.run import run_seed

SEEDS = 8


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@pytest.mark.parametrize("seed", _seeds())
def test_backup(seed: int) -> None:
    cluster = run_seed(seed, effectively_once=True, kind=BackedUp)
    assert isinstance(cluster, BackedUp)
