"""One sink of sixty instances is slow: what stands, what flows, and that nothing is lost."""

from heron_core.plans import MIB
from tests.sim.sixty import TARGET_SECS, Sixty

ROUNDS_MAX = 4_000
STANDING_ROUNDS = 60
"""In which the sources stand and the tickers are looked at."""
FLOWING_MIN = 50
"""Tuples of the other branch that are emitted meanwhile."""


def test_one_slow_sink_pauses_its_branch_and_no_other() -> None:
    cluster = Sixty(1)
    try:
        _until_all_sources_stand(cluster)
        _what_holds_while_they_stand(cluster)
        cluster.speed_up()
        for _ in range(ROUNDS_MAX):
            cluster.round()
            if cluster.ended:
                break
        assert cluster.is_done
        assert cluster.ended
        _nothing_is_lost_and_nothing_is_left(cluster)
    finally:
        cluster.close()


def _until_all_sources_stand(cluster: Sixty) -> None:
    """The slow sink's queue is named for the time it takes, far below the mark in bytes."""
    was_named = False
    for _ in range(ROUNDS_MAX):
        cluster.round()
        queue = cluster.slow_queue
        if not was_named and cluster.slow.task in cluster.causes:
            was_named = True
            assert queue.pending_secs(cluster.clock.now) > TARGET_SECS / 2
            assert queue.pending_bytes < MIB
        if was_named and all(each.paused for each in cluster.of("source")):
            return
    raise AssertionError("the sources never stood")


def _what_holds_while_they_stand(cluster: Sixty) -> None:
    left, others = cluster.left("source"), cluster.left("ticker")
    assert left > 0
    for _ in range(STANDING_ROUNDS):
        cluster.round()
        assert not any(each.paused for each in cluster.of("ticker"))
    assert cluster.left("source") >= left - len(cluster.of("source"))
    assert others - cluster.left("ticker") >= FLOWING_MIN


def _nothing_is_lost_and_nothing_is_left(cluster: Sixty) -> None:
    journal = cluster.journal
    journal.check_deliveries()
    spouts = [*cluster.of("source"), *cluster.of("ticker")]
    journal.check_roots([each.component.emitter.process_id for each in spouts])
    for each in spouts:
        component = each.component
        journal.check_idents({component.emitter.name: component.all_idents})
        assert not each.driver.statistics().failed
    for manager in cluster.managers.values():
        numbers = manager.core.statistics()
        assert not numbers["causes"]
        assert not numbers["trees"]
