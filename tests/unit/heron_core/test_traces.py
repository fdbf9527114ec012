"""Which roots are traced, and what is taken of a report."""

import pytest

from heron_core.errors import ProtocolError
from heron_core.traces import (
    ACKED,
    EXECUTED,
    NO_TASK,
    Execution,
    dated,
    executions_of,
    limit_of,
    report_of,
    sampled,
)

FIRST = (7 << 44) | 123_456
ONE = Execution(FIRST, NO_TASK, 1.0, 1.0, 3.0, 0.0, 1, ACKED)


def test_one_in_so_many_roots_is_traced_and_no_place_in_a_round_is_preferred() -> None:
    roots = range(FIRST, FIRST + 100_000)
    found = sampled(roots, limit_of(100))
    assert 950 <= len(found) <= 1050
    places = [sum(root % 4 == place for root in found) for place in range(4)]
    assert min(places) > 200
    assert sampled(roots, limit_of(1)) == set(roots)
    assert sampled((0, 0), limit_of(1)) == set(), "0 is no root"
    assert sampled(roots, limit_of(0)) == set()


def test_a_report_comes_back_in_the_time_of_the_calendar() -> None:
    other = ONE._replace(source=3, came=0.5, outcome=EXECUTED)
    first, second = executions_of(dated(report_of([ONE, other]), 1000.0))
    assert (first.began, first.ended, first.busy_secs) == (1001.0, 1003.0, 0.0)
    assert second.came == 1000.5


@pytest.mark.parametrize(
    "report",
    [
        {},
        {"calendar_secs": 0.0},
        {"calendar_secs": "x", "executions": []},
        {"calendar_secs": -1.0, "executions": []},
        {"calendar_secs": float("nan"), "executions": []},
        {"calendar_secs": 0.0, "executions": [[1, 2]]},
        {"calendar_secs": 0.0, "executions": [list(ONE._replace(root=-1))]},
        {"calendar_secs": 0.0, "executions": [list(ONE._replace(root=1 << 64))]},
        {"calendar_secs": 0.0, "executions": [list(ONE._replace(began=float("inf")))]},
        {"calendar_secs": 0.0, "executions": [list(ONE._replace(outcome="x" * 1000))]},
        {"calendar_secs": 0.0, "executions": [[*list(ONE)[:-1], ["x"]]]},
    ],
)
def test_a_report_that_makes_no_sense_is_refused(report: dict[str, object]) -> None:
    with pytest.raises(ProtocolError):
        executions_of(report)
