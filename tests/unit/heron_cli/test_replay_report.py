"""What `heronpy replay` says, and its exit code."""

from pathlib import Path

import pytest

from heron_cli.replaying.report import ReplayReport
from heron_cli.replaying.run_replay import ReplayEnd, ReplayRequest, run_replay
from heron_core.errors import HeronError
from heron_core.incidents import KILLED, Incident
from heron_core.records import replace
from heron_io.incident_files import read_incident, write_incident
from tests.unit.heron_tester.recorded_support import CorrectedTotals, RecordedRun, Totals, values

HOW = "was killed by signal 9 (SIGKILL)"


def failing() -> Incident:
    run = RecordedRun(Totals, "ATMOST_ONCE")
    run.receive(values(1, 2))
    run.receive(values(3, -4))
    return run.incident()


def report(incident: Incident, until: int | None = None) -> ReplayReport:
    request = ReplayRequest(incident, until=until)
    return ReplayReport(incident.summary, run_replay(request), request.until)


def test_the_same_failure_has_code_3() -> None:
    made = report(failing())
    assert made.exit_code() == 3
    assert "the same failure at tuple 4 of [-4]: ValueError: -4 is below zero" in made.lines()[1]
    assert made.as_json()["failures"][0]["tuple"] == 4


def test_corrected_code_has_code_0() -> None:
    incident = failing()
    name = f"{CorrectedTotals.__module__}.{CorrectedTotals.__qualname__}"
    text = incident.topology.decode().replace(f"{Totals.__module__}.{Totals.__qualname__}", name)
    made = report(replace(incident, topology=text.encode()))
    assert (made.exit_code(), made.lines()[1]) == (0, "no failure: 4 tuples, 3 emitted")


def test_until_stops_and_has_code_0() -> None:
    made = report(failing(), until=2)
    assert made.exit_code() == 0
    assert made.lines()[1] == "stopped in front of tuple 2: 1 emitted"


def test_a_process_that_ends_as_recorded_has_code_3_and_otherwise_4() -> None:
    summary = replace(failing().summary, cause=KILLED, how=HOW)
    same = ReplayReport(summary, ReplayEnd(None, HOW, 7), None)
    assert same.exit_code() == 3
    assert same.lines()[1] == f"the same failure at tuple 7: the process {HOW}"
    other = ReplayReport(summary, ReplayEnd(None, "ended with exit code 5", 7), None)
    assert other.exit_code() == 4


def test_code_that_lost_the_class_is_one_line() -> None:
    incident = failing()
    gone = incident.topology.decode().replace("recorded_support.Totals", "recorded_support.Gone")
    with pytest.raises(HeronError, match="has no class 'Gone'") as raised:
        report(replace(incident, topology=gone.encode()))
    assert "\n" not in str(raised.value)


def test_damaged_records_are_one_line(tmp_path: Path) -> None:
    path = str(tmp_path / "a.incident")
    incident = failing()
    write_incident(path, replace(incident, records=incident.records[:-3]))
    with pytest.raises(HeronError, match="the records are cut after"):
        report(read_incident(path))
