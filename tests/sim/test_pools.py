"""Threads of user code in a whole cluster from one seed: whatever dies or is restored while they
work, every count is exact.

A failing seed is run again by HERON_SIM_SEEDS=123, as in test_cluster.py.
"""

import os

import pytest

from heron_instance.core import InstanceCore
from heron_instance.in_flight import BoltInFlight
from tests.sim import run
from tests.sim.checkers import Violation
from tests.sim.pools import PooledCluster
from tests.sim.run import run_seed

SEEDS = 6
FORGETTING = 9
STANDING_STILL = 27
"""Seeds that find these faults."""
ROUNDS_MAX = 3000
"""So many are enough to see that nothing goes on."""


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@pytest.mark.parametrize("seed", _seeds())
def test_pools(seed: int) -> None:
    run_seed(seed, effectively_once=True, kind=PooledCluster)


def test_a_checkpoint_that_forgets_what_is_in_flight_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BoltInFlight, "unfinished", lambda self: [])
    with pytest.raises(Violation, match="has counted"):
        run_seed(FORGETTING, effectively_once=True, kind=PooledCluster)


def test_a_report_that_waits_behind_a_thread_s_emit_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The restore waits for the report, and the emit for the restore."""
    monkeypatch.setattr(InstanceCore, "take_reports", lambda self: [])
    monkeypatch.setattr(run, "CALM_ROUNDS_MAX", ROUNDS_MAX)
    with pytest.raises(Violation, match="not quiet"):
        run_seed(STANDING_STILL, effectively_once=True, kind=PooledCluster)
