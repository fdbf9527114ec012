"""Which instances start, by the reports of their processes."""

import pytest

from heron_engine.topology_master.awaited_reports import FirstReports, OverdueReports

REGISTERED = {1: 100.0, 2: 100.0}
"""Task -> when its stream manager registered."""


def test_a_process_starts_until_its_first_report() -> None:
    reports = FirstReports()
    assert reports.missing(REGISTERED, 103.0) == {1: 3.0, 2: 3.0}, "from the registration on"
    reports.heard_of(1)
    assert reports.missing(REGISTERED, 104.0) == {2: 4.0}


def test_a_process_in_place_of_another_starts_again() -> None:
    reports = FirstReports()
    for task in REGISTERED:
        reports.heard_of(task)
    reports.expected((2,), 200.0)
    assert reports.missing(REGISTERED, 205.0) == {2: 5.0}
    assert reports.missing({1: 100.0}, 205.0) == {}, "only the tasks in question"
    reports.heard_of(2)
    assert reports.missing(REGISTERED, 206.0) == {}


def test_a_process_with_tuples_and_without_reports_is_overdue() -> None:
    reports = OverdueReports()
    reports.queues({1: 5, 2: 0}, 100.0)
    assert reports.secs(1.5, 101.0) == {}
    reports.queues({1: 9, 2: 1}, 101.0)
    assert reports.secs(1.5, 102.0) == {1: 2.0}
    reports.heard_of(1)
    reports.queues({1: 9, 2: 0}, 102.0)
    assert reports.secs(1.5, 103.6) == {1: pytest.approx(1.6)}, "from the next look on"
    reports.keep({2})
    assert reports.secs(1.5, 200.0) == {}, "the queue of the other was empty again"


def test_a_task_that_was_removed_and_comes_again_is_expected_again() -> None:
    reports = FirstReports()
    for task in REGISTERED:
        reports.heard_of(task)
    reports.expected((2,), 200.0)
    reports.keep({1})
    assert reports.missing(REGISTERED, 300.0) == {2: 200.0}
