"""A whole cluster from one seed, with delays, full sockets, slow consumers and dying processes.

A failing seed is named by its test; `pytest "tests/sim/test_cluster.py::test_cluster[123]"` runs it
again, and HERON_SIM_SEEDS=1000:3000 chooses other seeds.
"""

import os
from random import Random

import pytest

from sim.checkers import Violation, require
from sim.cluster import Cluster
from sim.topologies import SimSpout

SEEDS = 500
CALM_ROUNDS_MAX = 6_000
"""A run takes some 400 rounds; one that is not done so long after the last fault never is."""
LAST_ROUNDS = 10
KILLS_MAX = 3


def _seeds() -> range:
    first, _, end = os.environ.get("HERON_SIM_SEEDS", f"0:{SEEDS}").partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


def _run(cluster: Cluster) -> None:
    chance = Random(f"faults {cluster.seed}")
    calm_at = chance.randint(20, 250)
    faults = _faults(cluster, chance, calm_at)
    restarts: dict[int, int] = {}
    late = chance.random() < 0.3 and bool(faults)
    at = 0
    for at in range(calm_at + CALM_ROUNDS_MAX):
        if at == calm_at:
            cluster.become_calm()
        if late and cluster.master.core.phase.value == "last words":
            late = False
            faults.setdefault(at, []).append(chance.randint(0, 1))
        for kind in faults.pop(at, ()):
            if not cluster.ended:
                _kill(cluster, chance, kind, at, restarts)
        for container in [each for each, when in restarts.items() if when <= at]:
            del restarts[container]
            cluster.start_manager(container)
        cluster.round()
        if cluster.ended and not restarts:
            break
    else:
        raise Violation(f"not quiet after {at} rounds: {cluster.master.core.phase}")
    cluster.become_calm()
    _check_end(cluster)


def _faults(cluster: Cluster, chance: Random, calm_at: int) -> dict[int, list[int]]:
    """round -> kills in it (0: an instance, 1: a stream manager); half of the runs have none."""
    found: dict[int, list[int]] = {}
    kind = cluster.seed % 4
    if kind >= 2:
        for _ in range(chance.randint(1, KILLS_MAX)):
            found.setdefault(chance.randint(1, calm_at), []).append(
                0 if kind == 2 else chance.randint(0, 1)
            )
    return found


def _kill(cluster: Cluster, chance: Random, kind: int, at: int, restarts: dict[int, int]) -> None:
    if kind == 0:
        cluster.kill_instance(chance.choice(list(cluster.instances)))
    elif cluster.managers:
        container = chance.choice(list(cluster.managers))
        cluster.kill_manager(container)
        restarts[container] = at + chance.randint(0, 30)


def _check_end(cluster: Cluster) -> None:
    journal = cluster.journal
    # A spout that was killed a moment before the end has begun anew and finishes as well.
    for at in range(CALM_ROUNDS_MAX):
        cluster.round()
        if at > LAST_ROUNDS and cluster.all_done:
            break
    cluster.rules.check_idle()
    journal.check_deliveries()
    spouts = [
        each.built.component
        for each in cluster.instances.values()
        if isinstance(each.built.component, SimSpout)
    ]
    journal.check_roots([each.emitter.process_id for each in spouts])
    if cluster.habits.tracked:
        for spout in spouts:
            journal.check_idents({spout.emitter.name: spout.all_idents})
    for manager in cluster.managers.values():
        numbers = manager.core.statistics()
        require(not numbers["malformed"] and not numbers["unroutable"], f"dropped: {numbers}")
        require(not numbers["causes"], f"a cause stands for ever: {numbers}")
        require(not any(numbers["waiting_bytes"].values()), f"something waits: {numbers}")
        require(not any(numbers["peer_bytes"].values()), f"something waits: {numbers}")
        if not journal.lossy:
            require(not numbers["trees"], f"trees are left: {numbers}")
    if not journal.lossy:
        require(cluster.master.core._waves.lost == 0, "the master misses deliveries")


@pytest.mark.parametrize("seed", _seeds())
def test_cluster(seed: int) -> None:
    # Anything that can go wrong in a night of production, in any order.
    cluster = Cluster(seed)
    try:
        _run(cluster)
    except BaseException as error:
        again = f"again: HERON_SIM_SEEDS={seed} pytest tests/sim"
        error.add_note("\n".join([*cluster.trace, again]))
        raise
