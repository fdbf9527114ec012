"""The faults of `heronpy chaos`: a seed draws them among the processes that are up."""

import json
from pathlib import Path

import pytest

from heron_cli.chaos.chaos_run import problem_of_end
from heron_cli.chaos.faults import (
    ACTIONS,
    BACK_SECS_MAX,
    KINDS,
    Action,
    FaultSchedule,
    HarmedProcess,
    Kind,
    chosen_actions,
    chosen_kinds,
)
from heron_cli.chaos.report import ChaosReport, Tuples, rows
from heron_engine.scheduler.user_folder import Home
from heron_io.state_store.opening import open_store

COUNT = HarmedProcess("instance", "count[0]", 11)
MANAGER = HarmedProcess("stream-manager", "stream manager 1", 12, frozenset({"count[0]"}))
MASTER = HarmedProcess("topology-master", "topology master", 13)
UP = (COUNT, MANAGER, MASTER)


def plan(
    seed: int = 1, kinds: tuple[Kind, ...] = KINDS, actions: tuple[Action, ...] = ACTIONS
) -> FaultSchedule:
    return FaultSchedule(seed, 1.0, kinds, actions)


def by_name(*processes: HarmedProcess) -> dict[str, HarmedProcess]:
    return {each.name: each for each in processes}


def drawn_of(seed: int) -> list[str]:
    """What 50 looks a fifth of a second apart harm, if everything is back at once."""
    made = plan(seed)
    for number in range(50):
        made.drawn(number / 5, UP)
        for fault in made.recovering():
            fault.back_secs = 0.0
    return [str(each) for each in made.faults]


def test_a_seed_draws_the_same_faults_again() -> None:
    assert drawn_of(7) == drawn_of(7) != drawn_of(8)
    assert 6 <= len(drawn_of(7)) <= 20


def test_only_what_is_chosen_is_harmed() -> None:
    made = plan(kinds=("topology-master",), actions=("kill",))
    assert made.drawn(2.0, (COUNT, MANAGER)) is None
    fault = made.drawn(2.0, UP)
    assert fault is not None
    assert (fault.process, fault.action, fault.harm_secs) == (MASTER, "kill", 0.0)
    assert made.drawn(9.0, UP) is None, "the master recovers"


def test_a_stream_manager_is_spared_while_its_instance_recovers() -> None:
    made = plan(kinds=("instance", "stream-manager"), actions=("kill",))
    assert made.drawn(2.0, (COUNT,)) is not None
    assert made.drawn(9.0, (MANAGER,)) is None


def test_a_killed_process_is_back_under_another_pid_and_with_what_needs_it() -> None:
    made = plan(kinds=("stream-manager",), actions=("kill",))
    fault = made.drawn(2.0, UP)
    assert fault is not None
    assert made.observe(2.1, by_name(*UP)) == [], "the topology master has not noticed"
    new = HarmedProcess("stream-manager", MANAGER.name, 22, MANAGER.needs)
    assert made.observe(2.5, by_name(new)) == [], "its instance is not connected"
    assert made.observe(3.0, by_name(new, COUNT)) == [fault]
    assert (fault.back_secs, fault.replaced) == (1.0, True)
    assert made.recovering() == []


def test_a_stopped_process_is_not_back_before_its_time_and_may_be_the_same() -> None:
    made = plan(kinds=("instance",), actions=("stop",))
    fault = made.drawn(2.0, UP)
    assert fault is not None
    assert made.observe(fault.over_at_secs - 0.1, by_name(COUNT)) == []
    assert made.observe(fault.over_at_secs + 0.1, by_name(COUNT)) == [fault]
    assert not fault.replaced


def test_a_process_that_does_not_come_back_is_lost_after_a_minute() -> None:
    made = plan(kinds=("instance",), actions=("kill",))
    fault = made.drawn(2.0, UP)
    assert made.lost(2.0 + BACK_SECS_MAX) == []
    assert made.lost(2.1 + BACK_SECS_MAX) == [fault]


@pytest.mark.parametrize(
    ("tuples", "problem", "code"),
    [
        (Tuples(acked=5, failed=2), "", 0),
        (Tuples(failed_for_good=1), "", 3),
        (Tuples(lost=1), "", 3),
        (Tuples(), "count[0] is not back", 1),
    ],
)
def test_the_exit_code_says_what_came_of_it(tuples: Tuples, problem: str, code: int) -> None:
    report = ChaosReport("words", 7, 60.0, (), tuples, problem)
    assert report.exit_code() == code
    assert problem in report.text()


@pytest.mark.parametrize(
    ("state", "problem"),
    [("ENDED", ""), ("KILLED", "words has ended (KILLED"), ("FAILED", "words has ended (FAILED")],
)
def test_only_the_regular_end_of_a_finite_topology_is_no_problem(
    state: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERONPY_HOME", str(tmp_path))
    file = Path(Home.of_user().outcome_file("words"))
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"state": state, "reason": ""}))
    with open_store(f"file://{tmp_path}/state") as store:
        found = problem_of_end(store, "words")
    assert bool(found) == bool(problem)
    assert found.startswith(problem)


def test_the_table_has_a_row_for_each_kind_and_action() -> None:
    made = plan(kinds=("instance",), actions=("kill",))
    for now_secs in (2.0, 9.0):
        made.drawn(now_secs, UP)
        made.observe(
            now_secs + 1, by_name(HarmedProcess("instance", COUNT.name, int(now_secs) + 90))
        )
    assert rows(made.faults) == [("instance", "kill", "2", "2", "1.0 s", "1.0 s")]


def test_choices_keep_their_order() -> None:
    assert chosen_kinds(()) == KINDS
    assert chosen_kinds({"container", "instance"}) == ("instance", "container")
    assert chosen_actions(["slow"]) == ("slow",)
