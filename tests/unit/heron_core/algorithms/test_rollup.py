"""Roll-up of reports: numbers never fall at a restart, rates are those of the moment."""

from typing import Any

import pytest

from heron_core.algorithms.histogram import bucket_of
from heron_core.algorithms.rollup import QueueNumbers, RollUp
from heron_core.instance_report import NOTHING_REPORTED, InstanceReport, report_of, to_wire
from heron_core.plans import ContainerPlan, InstancePlan, PackingPlan, Resource
from heron_core.records import replace
from heron_core.stats import ComponentStats, LatencyStats, RecentCounts
from heron_core.topology import ComponentSpec, TopologySpec

NOTHING = Resource(0.0, 0, 0)
TOPOLOGY = TopologySpec(
    "t", (ComponentSpec("spout", True, "m.S", 1), ComponentSpec("bolt", False, "m.B", 2))
)
PACKED = PackingPlan(
    "t",
    (
        ContainerPlan(
            1,
            (
                InstancePlan(1, "spout", 0, NOTHING),
                InstancePlan(2, "bolt", 0, NOTHING),
                InstancePlan(3, "bolt", 1, NOTHING),
            ),
            NOTHING,
        ),
    ),
)


def report(at: float, incarnation: int = 1, **numbers: Any) -> InstanceReport:
    """An instance's report; all zero but for `numbers`, by their names on the wire."""
    zeros = {**to_wire(NOTHING_REPORTED), "emitted": {"default": 0}, "pid": 7}
    return report_of({**zeros, "at": at, "incarnation": incarnation, **numbers})


def bolt_of(rollup: RollUp) -> ComponentStats:
    """The bolt's row."""
    queues = {
        2: QueueNumbers(10, 4, 0.1),
        3: QueueNumbers(5, 3, 0.3),
        1: QueueNumbers(99, 99, 99.0),
    }
    return rollup.components(queues)["bolt"]


def test_instances_add_up() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(2, report(1.0, executed=3, emitted={"a": 1, "b": 2}, pending=1), 1.0)
    rollup.update(3, report(1.0, executed=4, emitted={"a": 5}, last_error="boom"), 1.0)
    row = bolt_of(rollup)
    assert (row.executed, row.emitted, row.pending) == (7, 8, 1)
    assert (row.instances, row.up) == (2, 2)
    assert (row.queue_bytes, row.queue_tuples, row.queue_secs) == (15, 7, 0.3)
    assert row.last_error == "boom"
    assert row.type == "bolt"


def test_a_component_that_has_not_reported_is_there_with_zeros() -> None:
    row = bolt_of(RollUp(TOPOLOGY, PACKED))
    assert (row.instances, row.up, row.executed) == (2, 0, 0)
    assert row.latency.execute == LatencyStats(mean_ms=None, p50_ms=None, p99_ms=None)


def test_numbers_never_fall_when_an_instance_is_replaced() -> None:
    # Otherwise operators see a counter jump back to zero looks for a bug in vain.
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(2, report(1.0, 1, executed=100, emitted={"a": 50}, pending=9), 1.0)
    rollup.update(2, report(2.0, 2, executed=1, pending=1), 2.0)
    rollup.update(2, report(3.0, 3, executed=2, pending=2), 3.0)
    row = bolt_of(rollup)
    assert (row.executed, row.emitted, row.pending) == (103, 50, 2)
    assert row.emitted_by_stream == {"a": 50, "default": 0}
    assert rollup.instances("bolt", {})[0].restarts == 2


def test_a_report_that_comes_twice_counts_once() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    for _ in range(2):
        rollup.update(2, report(1.0, executed=5), 1.0)
    assert bolt_of(rollup).executed == 5


def test_streams_are_told_apart_over_all_instances_and_masters() -> None:
    """A new master continues the counts of its predecessor."""
    before, after = RollUp(TOPOLOGY, PACKED), RollUp(TOPOLOGY, PACKED)
    inputs = {"spout/default": 4, "spout/late": 1}
    before.update(2, report(1.0, 1, emitted={"a": 1, "b": 2}, inputs=inputs), 1.0)
    before.update(3, report(1.0, 1, emitted={"a": 5}, inputs={"spout/late": 2}), 1.0)
    after.remember(before.to_json())
    after.update(3, report(2.0, 2, emitted={"a": 1}), 2.0)
    for rollup, emitted in ((before, {"a": 6, "b": 2}), (after, {"a": 7, "b": 2})):
        row = bolt_of(rollup)
        assert row.emitted_by_stream == emitted
        assert row.executed_by_input == {"spout/default": 4, "spout/late": 3}
        assert sum(emitted.values()) == row.emitted


def test_rates_are_growth_over_the_instances_own_time() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(2, report(10.0, executed=0, busy_secs=0.0), 50.0)
    rollup.update(2, report(12.0, executed=100, emitted={"a": 40}, busy_secs=1.0), 59.0)
    row = bolt_of(rollup)
    assert (row.executed_per_sec, row.emitted_per_sec, row.capacity) == (50.0, 20.0, 0.5)


def test_waiting_for_back_pressure_is_not_work() -> None:
    """A batch with output held for half of its time keeps its instance half as busy."""
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(2, report(10.0, busy_secs=4.0, waited_secs=1.0), 0.0)
    rollup.update(2, report(12.0, busy_secs=6.0, waited_secs=2.0), 2.0)
    assert bolt_of(rollup).capacity == 0.5


def test_rates_survive_a_restart_and_a_clock_that_jumps_back() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(2, report(10.0, 1, executed=0), 0.0)
    rollup.update(2, report(11.0, 1, executed=100), 1.0)
    rollup.update(2, report(5.0, 2, executed=1), 2.0)
    assert bolt_of(rollup).executed_per_sec == 100.0
    rollup.update(2, report(6.0, 2, executed=11), 3.0)
    assert bolt_of(rollup).executed_per_sec == 10.0


def test_latencies_of_all_instances_are_one_histogram() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    fast = {"total_secs": 0.099, "number": 99, "histogram": {bucket_of(0.001): 99}}
    slow = {"total_secs": 1.0, "number": 1, "histogram": {bucket_of(1.0): 1}}
    rollup.update(2, report(1.0, execute=fast), 1.0)
    rollup.update(3, report(1.0, execute=slow), 1.0)
    latency = bolt_of(rollup).latency.execute
    assert latency.mean_ms == pytest.approx(10.99)
    assert latency.p50_ms == pytest.approx(1.0, rel=0.2)
    assert latency.p99_ms == pytest.approx(1.0, rel=0.2)


def test_rows_of_instances_name_place_and_process() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(3, report(1.0, executed=4), 1.0)
    missing, there = rollup.instances("bolt", {3: QueueNumbers(8, 2, 0.5)})
    assert (missing.task, missing.pid, missing.executed) == (2, None, 0)
    assert (there.task, there.pid, there.executed) == (3, 7, 4)
    assert (there.container, there.restarts) == (1, 0)
    assert (there.queue_bytes, there.queue_tuples, there.queue_secs) == (8, 2, 0.5)


def test_a_counter_that_an_older_engine_does_not_report_is_zero_there() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    older = {key: each for key, each in to_wire(report(1.0)).items() if key != "undeclared"}
    rollup.update(2, report(1.0, undeclared=3), 1.0)
    rollup.update(3, report_of(older), 1.0)
    assert [each.undeclared for each in rollup.instances("bolt", {})] == [3, 0]
    rollup.update(2, report(2.0, incarnation=2, undeclared=1), 2.0)
    assert bolt_of(rollup).undeclared == 4


def test_a_component_names_what_its_instances_cannot_save_and_what_restarts_have_lost() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    lost: dict[str, Any] = {"forgotten": 1, "forgotten_by_attribute": {"lines": 1}}
    rollup.update(2, report(1.0, **lost, unsaved=1, unsaved_attributes=("lines",)), 1.0)
    rollup.update(3, report(1.0, unsaved=2, unsaved_attributes=("lines", "lock")), 1.0)
    rollup.update(2, report(2.0, incarnation=2, **lost), 2.0)
    row = bolt_of(rollup)
    assert (row.unsaved, row.unsaved_attributes) == (2, ("lines", "lock"))
    assert (row.forgotten, row.forgotten_by_attribute) == (2, {"lines": 2})


def test_frequent_keys_of_all_instances_are_the_components() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    hot = {"total": 100.0, "keys": [["'x'", 86.0]]}
    rollup.update(2, report(1.0, hot_keys=hot, fixed_state=True, waited_secs=0.5), 1.0)
    rollup.update(3, report(1.0, hot_keys={"total": 100.0, "keys": []}, emitted={"a": 5}), 1.0)
    (key,) = bolt_of(rollup).hot_keys
    assert (key.key, key.share) == ("'x'", 0.43)
    one, other = rollup.instances("bolt", {})
    assert (one.fixed_state, one.waited_secs) == (True, 0.5)
    assert (other.fixed_state, other.emitted_by_stream) == (False, {"a": 5})


def spout_silence(rollup: RollUp, now: float) -> float | None:
    """Of the spout, at `now`."""
    return rollup.components({}, now=now)["spout"].silent_secs


def test_a_spout_is_silent_since_it_emitted_last_and_not_once_it_has_finished() -> None:
    """By the receiver's clock; a new process has not emitted yet."""
    rollup = RollUp(TOPOLOGY, PACKED)
    assert spout_silence(rollup, 5.0) is None, "nothing is known"
    rollup.update(1, report(0.0), 100.0)
    rollup.update(1, report(2.0, emitted={"default": 7}), 102.0)
    rollup.update(1, report(4.0, emitted={"default": 7}), 104.0)
    assert spout_silence(rollup, 110.0) == 8.0
    assert rollup.components({})["spout"].silent_secs is None, "Spark's batches are no clock"
    assert rollup.components({}, now=110.0)["bolt"].silent_secs is None
    rollup.update(1, report(1.0, incarnation=2), 112.0)
    assert spout_silence(rollup, 113.0) == 1.0
    assert rollup.components({})["spout"].processes == 2
    rollup.update(1, report(2.0, incarnation=2, finished=True), 114.0)
    assert spout_silence(rollup, 200.0) is None


def unsettled(rollup: RollUp, now: float) -> tuple[int, float]:
    """Tuples of the bolt, and the time since the last settled one."""
    numbers = rollup.components({}, now=now)["bolt"]
    return numbers.unsettled_tuples, numbers.unsettled_secs


def test_tuples_that_a_bolt_does_not_settle_are_counted_since_it_settled_one() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(2, report(0.0, executed=5, acked=4, failed=1), 100.0)
    assert unsettled(rollup, 130.0) == (0, 0.0)
    rollup.update(2, report(31.0, executed=9, acked=4, failed=1), 131.0)
    rollup.update(2, report(35.0, executed=20, acked=4, failed=1), 135.0)
    assert unsettled(rollup, 141.0) == (15, 41.0)
    rollup.update(2, report(42.0, executed=20, acked=4, failed=2), 142.0)
    assert unsettled(rollup, 143.0) == (14, 1.0), "it has failed one"
    rollup.update(2, report(1.0, incarnation=2, executed=3, acked=3), 144.0)
    assert unsettled(rollup, 190.0) == (0, 0.0), "the tuples of a process that ended are not its"


@pytest.mark.parametrize(("settle_secs_max", "secs"), [(0.0, 30.0), (10.0, 10.0), (60.0, 0.0)])
def test_a_bolt_that_acks_at_ticks_may_wait_for_the_next_but_one(
    settle_secs_max: float, secs: float
) -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    for at in (0.0, 10.0):
        made = report(at, executed=int(at), acked=0)
        rollup.update(2, replace(made, settle_secs_max=settle_secs_max), 100.0 + at)
    assert unsettled(rollup, 130.0) == (10, secs)


def test_metrics_that_a_restore_lowers_are_named() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(
        2, report(1.0, user_totals={"late": 3, "calls": 4}, tuple_counts={"late": 3}), 1.0
    )
    assert bolt_of(rollup).user_net == ("late",)


def recent_of(rollup: RollUp, now: float) -> RecentCounts:
    """The bolt's, at `now`."""
    found = rollup.components({}, now=now)["bolt"].recent
    assert found is not None
    return found


def test_a_failure_after_a_week_of_health_is_of_now_and_gone_ten_seconds_after_its_cure() -> None:
    """The share since the start would be a thousandth of it, and stay."""
    rollup, week_secs = RollUp(TOPOLOGY, PACKED), 7 * 86400.0
    good = {"executed": 10**9, "acked": 10**9}
    rollup.update(2, report(week_secs, **good), week_secs)
    rollup.components({}, now=week_secs + 60.0)
    at = week_secs + 60.0
    bad = {"executed": 10**9 + 100, "acked": 10**9 + 50, "failed": 50}
    rollup.update(2, report(at, **bad), at)
    assert (recent_of(rollup, at).executed, recent_of(rollup, at).failed) == (100, 50)
    cured = {**bad, "executed": 10**9 + 200}
    rollup.update(2, report(at + 10.0, **cured), at + 10.0)
    assert (recent_of(rollup, at + 10.0).executed, recent_of(rollup, at + 10.0).failed) == (100, 0)


def test_a_new_process_counts_from_zero_and_one_that_another_master_knew_is_not_news() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(2, report(1.0, failed=3), 1.0)
    rollup.update(2, report(1.0, incarnation=2, failed=2), 2.0)
    assert recent_of(rollup, 3.0).failed == 5
    successor = RollUp(TOPOLOGY, PACKED)
    successor.remember(rollup.to_json())
    successor.update(2, report(2.0, incarnation=2, failed=2), 4.0)
    assert recent_of(successor, 4.0).failed == 0
    successor.update(2, report(3.0, incarnation=2, failed=9), 5.0)
    assert recent_of(successor, 5.0).failed == 7


def test_tuples_that_are_not_acked_count_for_a_minute_as_they_end_together() -> None:
    rollup = RollUp(TOPOLOGY, PACKED)
    rollup.update(1, report(1.0, acked=10), 1.0)
    rollup.update(1, report(31.0, acked=20, expired=1000), 31.0)
    for now, expired in ((60.0, 1000), (92.0, 0)):
        found = rollup.components({}, now=now)["spout"].recent
        assert found is not None
        assert found.expired == expired


def test_percentiles_are_those_of_the_last_minute() -> None:
    """A slow first minute has no part in them; the mean and the histogram are of all."""
    rollup = RollUp(TOPOLOGY, PACKED)
    slow = {"total_secs": 100.0, "number": 100, "histogram": {bucket_of(1.0): 100}}
    both = {
        "total_secs": 100.1, "number": 200,
        "histogram": {bucket_of(1.0): 100, bucket_of(0.001): 100},
    }  # fmt: skip
    rollup.update(2, report(1.0, execute=slow), 1.0)
    rollup.update(2, report(70.0, execute=both), 70.0)
    execute = rollup.components({}, now=70.0)["bolt"].latency.execute
    assert execute.p99_ms == pytest.approx(1.0, rel=0.2)
    assert execute.mean_ms == pytest.approx(500.5)
    assert sum(execute.buckets.values()) == 200
    assert rollup.components({})["bolt"].latency.execute.p99_ms == pytest.approx(1000, rel=0.2)
