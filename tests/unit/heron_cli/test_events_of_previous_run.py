"""`heronpy events --previous`: the events of a failed run, behind the next submit."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from heron_cli.main import heronpy
from heron_core.records import replace
from heron_core.topology_events import TopologyEvent
from heron_engine.scheduler.outcomes import record_failure
from heron_engine.scheduler.user_folder import Home
from heron_io.run_records import RunRecords
from tests.unit.heron_tracker.tracker_support import stats

SUBMIT = TopologyEvent(at=1.0, kind="action", what="submit")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """With the last numbers of a failed run."""
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    made = Home.of_user()
    logs = Path(made.logs("words"))
    logs.mkdir(parents=True)
    RunRecords(str(logs)).write_last_numbers(replace(stats(), events=(SUBMIT,)), {})
    outcome = {"state": "FAILED", "reason": "ValueError: poison"}
    Path(made.outcome_file("words")).write_text(json.dumps(outcome))
    return made


def test_the_failure_of_a_run_is_an_event_once_and_survives_the_next_submit(home: Home) -> None:
    record_failure(home, "words")
    record_failure(home, "words")
    assert Path(home.logs("words"), "events.log").read_text().count("ValueError: poison") == 1
    home.clean_logs("words")
    found = CliRunner().invoke(heronpy, ["events", "words", "--previous"])
    assert found.exit_code == 0, found.output
    submit, failed = found.output.splitlines()
    assert submit.endswith("action: submit")
    assert failed.endswith("state: the topology has failed: ValueError: poison")


def test_another_end_is_no_failure(home: Home) -> None:
    Path(home.outcome_file("words")).write_text(json.dumps({"state": "KILLED", "reason": ""}))
    record_failure(home, "words")
    assert not Path(home.logs("words"), "events.log").exists()


def test_without_a_previous_run_one_line_says_so(home: Home) -> None:
    found = CliRunner().invoke(heronpy, ["events", "words", "--previous"])
    assert "words had no previous run on this machine" in str(found.exception or found.output)
