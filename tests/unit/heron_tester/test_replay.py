"""Replays of incidents: the same failure, a corrected class, and what cannot be repeated."""

from typing import Any

import pytest

from heron_core.errors import UsageError
from heron_core.incidents import DEMANDED
from heron_core.wire import messages
from heron_instance.events import ControlReceived, SendControl, Turn
from heron_tester.replay import Replay, ReplayHooks, recorded_topology, with_code_of
from tests.unit.heron_instance.instance_support import SOURCE
from tests.unit.heron_tester.recorded_support import (
    CorrectedTotals,
    Counter,
    RecordedRun,
    Totals,
    replayed,
    values,
    watermark,
)

ONCE, EXACT, MOST = "ATLEAST_ONCE", "EFFECTIVELY_ONCE", "ATMOST_ONCE"


def failing(mode: str) -> RecordedRun:
    run = RecordedRun(Totals, mode)
    run.receive(values(1, 2, 3))
    run.save(1)
    run.now += 1
    run.receive(values(4, 5), values(6))
    run.now += 1
    run.receive(values(7, -8, 9))
    return run


@pytest.mark.parametrize("mode", [MOST, ONCE, EXACT])
def test_the_same_code_fails_at_the_same_tuple(mode: str) -> None:
    result = replayed(failing(mode).incident())
    assert result.has_failed_again
    assert not result.differs
    (failure,) = result.failures
    assert failure.tuple_number == 5
    assert failure.failure.values == "[-8]"
    assert "-8 is below zero" in failure.failure.error
    assert result.output.missing == 0
    assert result.notes == []


@pytest.mark.parametrize("mode", [MOST, ONCE, EXACT])
def test_corrected_code_does_not_fail(mode: str) -> None:
    result = replayed(failing(mode).incident(), CorrectedTotals)
    assert not result.failures
    assert result.tuples == 6
    assert result.emitted == 5


def test_a_failure_before_the_last_one_is_no_end() -> None:
    run = RecordedRun(Totals, ONCE)
    run.receive(values(-1, 2))
    run.receive(values(3, -4))
    result = replayed(run.demanded())
    assert [each.tuple_number for each in result.failures] == [1, 4]
    assert [each.error for each in result.recorded] == [
        each.failure.error for each in result.failures
    ]
    assert run.recorder.statistics() == {"repeated": 1, "left_out": 0}


def test_another_failure_is_not_the_recorded_one() -> None:
    class_of_test = f"{Broken.__module__}.{Broken.__qualname__}"
    incident = failing(MOST).incident()
    topology = recorded_topology(incident).with_class("tested", class_of_test)
    result = Replay(incident, topology).run()
    assert result.differs
    assert not result.has_failed_again
    assert result.failures[0].tuple_number == 1


class Broken(Totals):
    def process(self, tup: object) -> None:
        raise KeyError("broken")


def test_a_tick_comes_between_the_same_two_tuples() -> None:
    run = RecordedRun(Totals, MOST, {"topology.tick.tuple.freq.secs": 5})
    run.receive(values(1))
    run.now += 6
    run.idle()
    run.receive(watermark(1000), values(2))
    result = replayed(run.demanded())
    assert (result.tuples, result.emitted) == (2, 3)
    assert (result.output.recorded, result.output.missing, result.output.further) == (3, 0, 0)


def test_a_killed_process_is_repeated_from_the_state_of_its_successor() -> None:
    run = RecordedRun(Totals, EXACT)
    run.receive(values(1, 2))
    state = run.save(1)
    run.receive(values(3))
    run.save(2)
    run.receive(values(4))
    result = replayed(run.killed(1, state, "was killed by signal 9 (SIGKILL)"))
    assert (result.tuples, result.output.missing, result.notes) == (2, 0, [])
    other = replayed(run.killed(7, None, "was killed by signal 9 (SIGKILL)"))
    assert "the records do not reach back to state 7" in other.notes[0]


def test_a_ring_that_is_too_small_says_so() -> None:
    run = RecordedRun(Totals, MOST, ring_bytes=2000)
    for number in range(200):
        run.receive(values(number))
    result = replayed(run.demanded())
    assert 0 < result.tuples < 200
    assert "the records do not reach back to state 0" in result.notes[0]
    run.receive(values(*range(1000)))
    assert "records were larger" in replayed(run.demanded()).notes[1]


def test_until_ends_in_front_of_a_tuple() -> None:
    incident = failing(MOST).incident()
    begun: list[int] = []
    hooks = ReplayHooks(begun.append, until=3)
    result = Replay(incident, recorded_topology(incident), hooks).run()
    assert begun == [1, 2]
    assert not result.failures


@pytest.mark.parametrize("mode", [MOST, ONCE])
def test_a_spout_emits_the_same_and_fails_at_the_same_call(mode: str) -> None:
    """Three tuples that fail are emitted again: their roots are others in the replay."""
    run = RecordedRun(Counter, mode)
    driver: Any = run.core.driver
    driver.some_calls(10, run.now)
    driver.flush()
    if mode == ONCE:
        run.fail(list(driver.collector.pending)[2:5])
    for _ in range(20):
        driver.some_calls(1, run.now)
    result = replayed(run.incident())
    assert result.has_failed_again
    assert result.output.missing == 0
    assert result.failures[0].tuple_number == Counter.RAISES_AT + 3 * (mode == ONCE)


def test_other_code_has_to_have_the_component() -> None:
    topology = recorded_topology(failing(MOST).incident())
    with pytest.raises(UsageError, match=r"has no component 'absent', .* it has other, readers"):
        with_code_of(topology, topology, "absent")


def answers_to_a_request(run: RecordedRun) -> list[messages.IncidentRecorded]:
    """Of the instance, between two tuples."""
    asked = messages.RecordIncident(7, (SOURCE,))
    handled = (ControlReceived(asked), Turn())
    out = [each for event in handled for each in run.core.handle(event, run.now)]
    sent = [each.message for each in out if isinstance(each, SendControl)]
    return [each for each in sent if isinstance(each, messages.IncidentRecorded)]


def test_an_instance_writes_an_incident_when_it_is_asked() -> None:
    run = RecordedRun(Totals, ONCE)
    run.receive(values(1, 2, 3))
    text = "incident recorded, run it again: heronpy replay some.incident"
    assert answers_to_a_request(run) == [messages.IncidentRecorded(SOURCE, 7, True, text)]
    assert run.kept[-1].cause == DEMANDED
    result = replayed(run.incident())
    assert (result.tuples, result.failures) == (3, [])


def test_an_instance_without_a_recorder_says_so() -> None:
    run = RecordedRun(Totals, ONCE)
    run.core.driver.recorder = None
    (answer,) = answers_to_a_request(run)
    assert not answer.is_written
    assert answer.text.startswith("topology.flight.recorder is off")


def test_a_recorder_on_demand_writes_nothing_when_user_code_raises() -> None:
    run = RecordedRun(Totals, ONCE, on_demand=True)
    run.receive(values(1, -2))
    assert run.kept == []
    (answer,) = answers_to_a_request(run)
    assert answer.is_written
    (failure,) = replayed(run.incident()).failures
    assert failure.tuple_number == 2
