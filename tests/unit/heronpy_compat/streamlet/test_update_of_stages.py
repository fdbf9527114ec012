"""Stages of a streamlet in an update at least once: what comes again, and what is saved."""

from heron_api.state.binding import may_fail_retained, saves_itself
from heron_core.algorithms.event_windows.interval_join import IntervalJoin, Pair
from heronpy_compat.streamlet.impl.intervaljoinbolt import IntervalJoinBolt
from heronpy_compat.streamlet.impl.processbolt import ProcessBolt


def test_process_saves_its_state_as_its_elements_do_not_come_again() -> None:
    assert saves_itself(ProcessBolt.__new__(ProcessBolt))
    assert not may_fail_retained(ProcessBolt.__new__(ProcessBolt))
    assert may_fail_retained(IntervalJoinBolt.__new__(IntervalJoinBolt))


def test_elements_that_wait_for_their_pairs_are_dropped_and_come_again() -> None:
    join = IntervalJoin(-10, 10)
    join.add("key", False, 100, "acked")
    join.add("key", False, 101, "held")
    assert join.drop_values(lambda value: value == "held") == ["held"]
    assert join.kept == 1
    assert join.add("key", True, 105, "right") == [Pair("key", 105, "acked", "right")]
    join.add("key", False, 101, "held")
    assert [each.accumulator for each in join.finish()] == ["acked", "held", "right"]
    assert join.kept == 0
