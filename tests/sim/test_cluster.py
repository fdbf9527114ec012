"""A whole cluster from one seed: delays, full sockets, slow consumers, and the faults of faults.py.

A failing seed is named by its test; `pytest "tests/sim/test_cluster.py::test_cluster[123]"` runs it
again, and HERON_SIM_SEEDS=1000:3000 chooses other seeds.
"""

import os

import pytest

from tests.sim.arrows import never_taken
from tests.sim.run import arrows_taken

SEEDS = 40
"""Of the seeds run thousands of times: fresh ones run beside the suite, by the variable."""


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@pytest.mark.parametrize("seed", _seeds())
def test_cluster(seed: int) -> None:
    # All faults of a night of production, in any order.
    arrows_taken(seed, False)


@pytest.mark.skipif("HERON_SIM_SEEDS" in os.environ, reason="about the default seeds together")
@pytest.mark.behind
@pytest.mark.timeout(900)
def test_the_default_seeds_take_the_arrows_of_the_drawings() -> None:
    """Except the ones of `arrows.RARE`. Alone the test runs the seeds, else the seeds have been
    run."""
    assert never_taken(range(SEEDS), False) == []
