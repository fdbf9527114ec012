"""The restart policy: at once the first time, then ever later, then never."""

import pytest

from heron_core.algorithms.backoff import PAUSE_SECS_MAX, STABLE_SECS, RestartPolicy


def test_the_first_restart_is_at_once() -> None:
    # A single crash in a night should cost as little as possible.
    assert RestartPolicy(5).pause_secs(ran_secs=0.1) == 0.0


def test_pauses_grow_and_then_it_gives_up() -> None:
    # A bolt that cannot connect to its database: it may come back, but must not burn the machine.
    policy = RestartPolicy(5)
    assert [policy.pause_secs(0.1) for _ in range(6)] == [0.0, 0.2, 0.4, 0.8, 1.6, None]
    assert policy.failures == 6


def test_pauses_do_not_grow_for_ever() -> None:
    policy = RestartPolicy(100)
    pauses = [policy.pause_secs(0.0) for _ in range(100)]
    assert None not in pauses
    assert pauses[-1] == PAUSE_SECS_MAX


@pytest.mark.parametrize(("ran_secs", "pause"), [(STABLE_SECS, 0.0), (STABLE_SECS - 0.1, 0.8)])
def test_a_stable_run_wipes_the_slate(ran_secs: float, pause: float) -> None:
    policy = RestartPolicy(5)
    for _ in range(3):
        policy.pause_secs(0.1)
    assert policy.pause_secs(ran_secs) == pause


def test_limit_zero_never_restarts() -> None:
    assert RestartPolicy(0).pause_secs(STABLE_SECS * 2) is None


def test_a_policy_that_gave_up_stays_so_until_a_stable_run() -> None:
    policy = RestartPolicy(1)
    assert [policy.pause_secs(0.0) for _ in range(3)] == [0.0, None, None]
    assert policy.pause_secs(STABLE_SECS) == 0.0
