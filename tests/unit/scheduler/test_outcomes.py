"""How a topology ended, as `list --all` finds it on the machine where it was submitted."""

import os
from pathlib import Path
from typing import Any

import pytest

from heron_engine.scheduler.outcomes import outcome_of, write_ended_outcome
from heron_engine.scheduler.stored_outcomes import LOST, end_of
from heron_engine.scheduler.user_folder import Home

PACKING = {"containers": [{"id": 1, "instances": [1, 2]}, {"id": 2, "instances": [3]}]}
STATE = {"state": "RUNNING", "reason": "", "submitted_at": "yesterday", "host": "vm", "user": "ada"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Where `words` was submitted, to a cluster that runs it by itself."""
    made = Home(str(tmp_path))
    made.clean_logs("words")
    return made


def killed(home: Home, was_alive: bool = True, **changed: Any) -> dict[str, Any]:
    state = {**STATE, **changed}
    ended = end_of(state, was_alive, "killed by bob on laptop")
    write_ended_outcome(home, "words", ended, state, PACKING)
    return outcome_of(home, "words")


def test_who_kills_a_topology_on_yarn_finds_it_in_the_list_of_all(home: Home) -> None:
    found = killed(home)
    assert (found["state"], found["reason"]) == ("KILLED", "killed by bob on laptop")
    assert (found["containers"], found["instances"], found["user"]) == (2, 3, "ada")


def test_one_that_had_ended_by_itself_was_not_killed(home: Home) -> None:
    found = killed(home, state="ENDED", reason="all is processed", ended_at="today")
    assert (found["state"], found["reason"]) == ("ENDED", "all is processed")
    assert found["ended_at"] == "today"


def test_one_whose_scheduler_was_killed_is_lost_here_as_in_the_state_store(home: Home) -> None:
    found = killed(home, was_alive=False)
    assert (found["state"], found["reason"]) == (LOST, "its scheduler was killed")


def test_another_machine_than_the_one_of_the_submission_keeps_nothing(tmp_path: Path) -> None:
    assert killed(Home(str(tmp_path))) == {}


def test_the_logs_of_a_run_survive_the_next_one(home: Home) -> None:
    assert not os.path.exists(home.previous_logs("words")), "nothing was written yet"
    for run in ("first", "second"):
        Path(home.logs("words"), "events.log").write_text(run, "utf-8")
        Path(home.outcome_file("words")).write_text("{}", "utf-8")
        home.clean_logs("words")
        assert os.listdir(home.logs("words")) == []
        assert outcome_of(home, "words") == {}
        assert Path(home.previous_logs("words"), "events.log").read_text("utf-8") == run
    home.clean_logs("words")
    assert Path(home.previous_logs("words"), "events.log").exists(), "a run without logs is none"
