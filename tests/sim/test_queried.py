"""Questions about states in a whole cluster from one seed: each has one reply in time, and no
answer is of half a tuple, or of a history that does not count.

A failing seed is run again by HERON_SIM_SEEDS=123, as in test_cluster.py.
"""

import os

import pytest

from heron_core.wire.messages import StateAnswered
from heron_engine.topology_master.queries import Queries
from tests.sim.checkers import Violation
from tests.sim.queried import QueriedCluster
from tests.sim.run import run_seed

SEEDS = 8
MUTATED = range(5)


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


@pytest.mark.parametrize("seed", _seeds())
def test_queried(seed: int) -> None:
    cluster = run_seed(seed, effectively_once=True, kind=QueriedCluster)
    assert isinstance(cluster, QueriedCluster)
    cluster.check_answers()
    assert cluster.outcomes.get("answered", 0) > 10, cluster.outcomes


def test_a_question_that_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Queries.take

    def forgetting(self: Queries, message: StateAnswered, *rest: object) -> None:
        if message.query % 7:
            take(self, message, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Queries, "take", forgetting)
    monkeypatch.setattr(Queries, "expire", lambda *_: None)
    found = f"{len(MUTATED)} seeds find nothing"
    for seed in MUTATED:
        try:
            run_seed(seed, effectively_once=True, kind=QueriedCluster)
        except Violation as error:
            found = str(error)
            break
    assert "has no reply" in found, found
