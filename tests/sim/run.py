"""One run of a simulated cluster: until done, then every rule of the end."""

from collections.abc import Callable
from functools import cache

from heron_core.plans import Phase
from heron_instance.input.bolt import BoltDriver
from tests.sim.at_least_once import check_keyed_counts
from tests.sim.checkers import Violation, require
from tests.sim.cluster import Cluster
from tests.sim.effectively_once import check_counts
from tests.sim.faults import Faults
from tests.sim.instances import Instance
from tests.sim.topologies import SimSpout
from tests.transitions_seen import Arrow, transitions_seen

CALM_ROUNDS_MAX = 20_000
"""A run takes some 400 rounds; a run not done by then after the last fault never ends. Ten seconds:
work of a replaced process fails by its timeout, after six to eight."""
LAST_ROUNDS = 10
QUIET_SECS = 0.1
"""The time without work at the end: messages under way arrive in 0.01 s (seed 931503)."""
STORY_LINES = 30


def run_seed(
    seed: int, effectively_once: bool = False, kind: Callable[..., Cluster] = Cluster
) -> Cluster:
    """Run the cluster of a seed; Violation, or what our code raises, with the newest events."""
    cluster = kind(seed, effectively_once)
    try:
        _run(cluster)
    except BaseException as error:
        name = _test_of(cluster)
        again = f"again: HERON_SIM_SEEDS={seed} pytest tests/sim/test_{name}.py"
        error.add_note("\n".join([*cluster.trace, *_stories(cluster), again]))
        raise
    finally:
        cluster.close()
    return cluster


@cache
def arrows_taken(seed: int, effectively_once: bool, /) -> frozenset[Arrow]:
    """The transitions of state machines in the run of a seed, done once. By position:
    the same argument by its name or by default would be another entry of the cache."""
    with transitions_seen() as seen:
        run_seed(seed, effectively_once)
    return frozenset(seen)


def _test_of(cluster: Cluster) -> str:
    if type(cluster) is not Cluster:
        return type(cluster).__module__.rpartition(".")[2]
    return "effectively_once" if cluster.effectively_once else "cluster"


def _stories(cluster: Cluster) -> list[str]:
    """The newest events of all instances, oldest first."""
    entries = [
        (step.now, f"task {each.task} process {each.incarnation}: {step}")
        for each in (*cluster.instances.values(), *cluster.zombies)
        for step in each.core.transition_log().steps
    ]
    return [line[:300] for _, line in sorted(entries)[-STORY_LINES:]]


def _run(cluster: Cluster) -> None:
    faults = Faults(cluster)
    at = 0
    for at in range(faults.calm_at + CALM_ROUNDS_MAX):
        if at == faults.calm_at:
            cluster.become_calm()
        faults.step(at)
        cluster.round()
        if cluster.ended and faults.repaired and not cluster.zombies:
            break
    else:
        raise Violation(f"not quiet after {at} rounds: {cluster.phase}")
    cluster.become_calm()
    _check_end(cluster)


def _fenced(cluster: Cluster) -> int:
    managers: list[int] = [each.core.statistics()["fenced"] for each in cluster.managers.values()]
    return sum(managers) + sum(
        each.driver.statistics().fenced for each in cluster.instances.values()
    )


def _have_one_plan(cluster: Cluster) -> bool:
    """Whether all have the master's plan; a stream manager started a moment before the end gets it
    a little later."""
    assert cluster.master is not None
    epochs = {manager.core.epoch for manager in cluster.managers.values()}
    return epochs == {cluster.master.core.epoch}


def _began_amid_the_end(process: Instance) -> bool:
    """Whether the end was announced before the plan."""
    causes = [step.cause for step in process.core.transition_log().steps]
    plans = [at for at, cause in enumerate(causes) if cause.startswith("plan ")]
    ends = [at for at, cause in enumerate(causes) if cause.startswith("FinishBolts")]
    return bool(plans and ends) and ends[0] < plans[0]


def _begins_with_the_last_checkpoint(cluster: Cluster) -> bool:
    assert cluster.master is not None
    restore = cluster.master.core.plan_restore
    completed = cluster.stored_checkpoints.get("completed", ())
    at_end = {each["number"]: each.get("at_end") for each in completed}
    return restore is not None and at_end.get(restore.checkpoint) == Phase.COMMITTING


def _check_ends_of_sources(cluster: Cluster) -> None:
    """A window waits for each of its sources, silent ones as well. A process started amid the end
    gets the end first, and `finish` then tells its component of all. With the last checkpoint all
    bolts have finished, and spouts send nothing more (BackedUp's seed 81)."""
    if _begins_with_the_last_checkpoint(cluster):
        return
    for (_, task), each in cluster.instances.items():
        if isinstance(each.driver, BoltDriver) and not _began_amid_the_end(each):
            late = each.driver.source_watermarks.slowest()
            require(late is None, f"task {task} was not told that task {late} has finished")


def _check_end(cluster: Cluster) -> None:
    journal = cluster.journal
    # A spout that was killed a moment before the end has started again and finishes as well.
    done_at = cluster.clock.now
    for at in range(CALM_ROUNDS_MAX):
        cluster.round()
        if not (at > LAST_ROUNDS and cluster.all_done and _have_one_plan(cluster)):
            done_at = cluster.clock.now
        elif cluster.clock.now - done_at > QUIET_SECS:
            break
    cluster.rules.check_idle()
    _check_ends_of_sources(cluster)
    if cluster.effectively_once or (cluster.masters > 1 and _fenced(cluster)):
        # A dead master's first plan reached some processes only: a process with the next plan first
        # drops tuples of the dead plan. The tuples fail and are replayed, as checked by
        # check_idents.
        journal.killed = True
    if cluster.effectively_once:
        check_counts(cluster)
        return
    journal.check_deliveries()
    check_keyed_counts(cluster)
    spouts = [
        each.component
        for each in cluster.instances.values()
        if isinstance(each.component, SimSpout)
    ]
    journal.check_roots([each.emitter.process_id for each in spouts])
    if cluster.habits.tracked:
        for spout in spouts:
            journal.check_idents({spout.emitter.name: spout.all_idents})
    assert cluster.master is not None
    require(_have_one_plan(cluster), "plans differ")
    for manager in cluster.managers.values():
        numbers = manager.core.statistics()
        require(not numbers["malformed"], f"dropped: {numbers}")
        require(not numbers["causes"], f"a cause stands for ever: {numbers}")
        require(not any(numbers["waiting_bytes"].values()), f"something waits: {numbers}")
        require(not any(numbers["peer_bytes"].values()), f"something waits: {numbers}")
        if not journal.lossy:
            require(not numbers["trees"], f"trees are left: {numbers}")
    if not journal.lossy:
        require(cluster.master.core.lost == 0, "the master misses deliveries")
