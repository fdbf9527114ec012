"""How often an instance reports its numbers."""

from heron_core.instance_report import NOTHING_REPORTED, InstanceReport
from heron_core.records import replace
from heron_core.report_interval import IDLE_INTERVALS, REPORTS_PER_SEC_MAX
from heron_instance.runtime.report_pace import ReportPace


def pace(may_rest: bool = True) -> ReportPace:
    """A report each second."""
    return ReportPace(1.0, may_rest)


def report(executed: int, at: float) -> InstanceReport:
    """One of an instance that has executed so many tuples."""
    return replace(NOTHING_REPORTED, executed=executed, at=at)


def test_a_bolt_whose_numbers_stand_still_reports_less_often() -> None:
    found = pace()
    found.reported(report(3, 10.0), 10.0)
    assert found.due_at == 11.0
    found.reported(report(3, 11.0), 11.0)
    assert found.is_resting
    assert found.due_at == 11.0 + IDLE_INTERVALS


def test_user_code_that_hangs_is_not_at_rest() -> None:
    """Nothing is counted in a `pre_save` that waits for a server, and its time has to be heard of
    each second."""
    made = pace()
    for now in (10.0, 11.0):
        made.reported(report(3, now), now, is_waiting=False)
    assert (made.is_resting, made.due_at) == (False, 12.0)


def test_its_next_tuple_ends_that() -> None:
    found = pace()
    for now in (10.0, 11.0):
        found.reported(report(3, now), now)
    found.wake()
    assert found.due_at == 12.0
    found.reported(report(4, 13.0), 13.0)
    assert not found.is_resting
    assert found.due_at == 14.0


def test_a_spout_reports_at_the_same_pace_always() -> None:
    found = pace(may_rest=False)
    for now in (10.0, 11.0):
        found.reported(report(3, now), now)
    assert found.due_at == 12.0


def test_thousands_of_instances_share_what_a_master_takes() -> None:
    found = pace()
    found.follow_size(200)
    found.reported(report(1, 10.0), 10.0)
    assert found.due_at == 11.0
    found.follow_size(IDLE_INTERVALS * REPORTS_PER_SEC_MAX)
    found.reported(report(2, 11.0), 11.0)
    assert found.due_at == 11.0 + IDLE_INTERVALS
    found.reported(report(2, 30.0), 30.0)
    assert found.due_at == 30.0 + IDLE_INTERVALS, "which is seldom enough"
