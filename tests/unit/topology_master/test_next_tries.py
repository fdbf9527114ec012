"""An instance that keeps ending shows when its next process starts."""

import pytest

from heron_engine.topology_master.next_tries import NextTries

TASK = 3


def test_a_process_that_could_not_start_has_a_next_one() -> None:
    tries = NextTries()
    tries.said(TASK, 6.4, 100.0)
    assert tries.secs(TASK, 101.0) == pytest.approx(5.4)
    assert tries.secs(TASK, 110.0) == 0.0, "it is due"
    assert tries.secs(4, 100.0) == 0.0
    tries.said(TASK, 12.8, 106.5)
    assert tries.secs(TASK, 106.5) == pytest.approx(12.8)


def test_one_that_ended_after_a_while_is_counted_from_its_last_word() -> None:
    tries = NextTries()
    tries.said(TASK, 25.6, 100.0)
    tries.heard_of(TASK, 103.0)
    assert tries.secs(TASK, 110.0) == pytest.approx(18.6)


def test_after_a_stable_run_the_next_process_starts_at_once() -> None:
    tries = NextTries()
    tries.said(TASK, 25.6, 100.0)
    tries.heard_of(TASK, 125.5)
    assert tries
    tries.heard_of(TASK, 125.7)
    assert not tries
    tries.said(TASK, 0.4, 200.0)
    tries.heard_of(TASK, 209.0)
    assert tries
    tries.heard_of(TASK, 210.0)
    assert not tries


def test_a_first_restart_waits_for_nothing_and_a_removed_task_is_forgotten() -> None:
    tries = NextTries()
    tries.said(TASK, 6.4, 100.0)
    tries.said(TASK, 0.0, 101.0)
    assert not tries
    tries.said(TASK, 6.4, 100.0)
    tries.keep({1, 2})
    assert not tries
