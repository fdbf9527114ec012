"""What has failed for good in the history that counts, whoever has counted it."""

from typing import Any

from heron_core.algorithms.covered_counts import CoveredCounts, ProcessCounts, numbers_of
from heron_core.algorithms.rollup import RollUp
from heron_core.instance_report import MeasureKind, SummedNumbers, measures_of
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.stats import ComponentStats
from heron_core.typed_json import from_json, to_json
from tests.unit.heron_core.algorithms.test_rollup import PACKED, TOPOLOGY, report

NOTHING = CoveredCounts()


def process(task: int, incarnation: int, **counted: int) -> ProcessCounts:
    """What a process had counted when it took its state."""
    return ProcessCounts(task, "bolt", incarnation, numbers_of(counted, {}))


def bolt_of(rollup: RollUp, covered: CoveredCounts) -> ComponentStats:
    """The bolt's row."""
    return rollup.components({}, None, covered)["bolt"]


def failed(rollup: RollUp, covered: CoveredCounts) -> int:
    """What the bolt's row calls failed for good."""
    return bolt_of(rollup, covered).failed_for_good


def told(rollup: RollUp, at: float, incarnation: int, **numbers: Any) -> None:
    """A process of task 2 reports."""
    rollup.update(2, report(at, incarnation, **numbers), at)


def test_a_tuple_that_ended_its_process_and_comes_again_has_not_failed() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    told(rollup, 1.0, 1, failed_for_good=1, failed=1, executed=5)
    told(rollup, 2.0, 2, executed=5)
    row = bolt_of(rollup, NOTHING)
    assert (row.failed_for_good, row.failed, row.executed) == (0, 1, 10)


def test_a_tuple_that_failed_in_a_completed_checkpoint_stays_failed_when_its_process_ends() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    told(rollup, 1.0, 1, failed_for_good=3)
    covered = NOTHING.followed_by([process(2, 1, failed_for_good=2)])
    assert failed(rollup, covered) == 3  # it lives
    told(rollup, 2.0, 2)
    assert failed(rollup, covered) == 2
    told(rollup, 3.0, 2, failed_for_good=1)
    assert failed(rollup, covered) == 3
    covered = covered.followed_by([process(2, 2, failed_for_good=1)])
    assert failed(rollup, covered) == 3
    told(rollup, 4.0, 3)
    assert failed(rollup, covered) == 3


def test_a_process_that_ends_before_it_has_reported_what_a_checkpoint_covers() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    told(rollup, 1.0, 1)
    covered = NOTHING.followed_by([process(2, 1, failed_for_good=2)])
    assert failed(rollup, covered) == 2
    told(rollup, 2.0, 2)
    assert failed(rollup, covered) == 2


def test_a_master_that_takes_over_knows_what_has_failed() -> None:
    covered = NOTHING.followed_by([process(2, 1, failed_for_good=2), process(3, 4, undeclared=5)])
    covered = covered.followed_by([process(3, 4, undeclared=5), process(2, 7, failed_for_good=1)])
    again = from_json(CoveredCounts, to_json(covered), "a checkpoint")
    row = bolt_of(RollUp(TOPOLOGY, PACKED), again)
    assert (row.failed_for_good, row.undeclared) == (3, 5)


def test_what_an_instance_had_abandoned_that_a_rescaling_ended_stays_abandoned() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    told(rollup, 1.0, 1, failed_for_good=2)
    rollup.update(3, report(1.0, 5, failed_for_good=1), 1.0)
    covered = NOTHING.followed_by(
        [process(2, 1, failed_for_good=2), process(3, 5, failed_for_good=1)]
    )
    nothing = Resource(0.0, 0, 0)
    kept = tuple(InstancePlan(task, name, 0, nothing) for task, name in ((1, "spout"), (2, "bolt")))
    rollup.apply_packing(PackingPlan("t", (ContainerPlan(1, kept, nothing),)))
    assert failed(rollup, covered) == 3
    covered = covered.followed_by([process(2, 1, failed_for_good=2)])
    assert failed(rollup, covered) == 3


def test_a_call_that_is_abandoned_and_succeeds_after_a_restore_is_no_error_of_the_run() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    told(rollup, 1.0, 1, callback_errors=3, calls_given_up=2, errors=3)
    told(rollup, 2.0, 2)
    row = bolt_of(rollup, NOTHING.followed_by([process(2, 1, calls_given_up=1)]))
    assert (row.callback_errors, row.calls_given_up, row.errors) == (2, 1, 3)


def test_late_tuples_of_an_ended_process_that_come_again_count_once() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    late = {"tuple_counts": {"late": 5.0}, "user_totals": {"late": 5, "other": 1}}
    told(rollup, 1.0, 1, **late)
    told(rollup, 2.0, 2, tuple_counts={"late": 2.0}, user_totals={"late": 2, "other": 1})
    covered = NOTHING.followed_by([ProcessCounts(2, "bolt", 1, numbers_of({}, {"late": 3.0}))])
    assert bolt_of(rollup, covered).user_totals == {"late": 5, "other": 2}
    # Without checkpoints nothing is undone.
    assert rollup.components({})["bolt"].user_totals == {"late": 7, "other": 2}


def test_a_number_that_a_restore_lets_fall_is_no_counter() -> None:
    """Prometheus takes a counter that falls for one that has started again, and adds all of it."""
    rollup = RollUp(TOPOLOGY, PACKED)
    measures = measures_of(SummedNumbers)
    told(rollup, 1.0, 1, **dict.fromkeys(measures, 5))
    before = bolt_of(rollup, NOTHING)
    told(rollup, 2.0, 2)
    after = bolt_of(rollup, NOTHING)
    fallen = {each for each in measures if getattr(after, each) < getattr(before, each)}
    assert fallen >= {"undeclared", "callback_errors", "calls_given_up", "failed_for_good"}
    assert {each for each in fallen if measures[each].kind is MeasureKind.COUNTER} == set()
