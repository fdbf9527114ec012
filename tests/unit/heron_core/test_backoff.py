"""The restart policy: at once the first time, then ever later; never only by a limit."""

import pytest

from heron_core.algorithms.backoff import (
    PAUSE_SECS_MAX,
    STABLE_SECS,
    START_LIMIT,
    UNLIMITED,
    RestartPolicy,
)


def test_the_first_restart_is_at_once() -> None:
    # A single crash in a night should cost as little as possible.
    assert RestartPolicy(5).pause_secs(ran_secs=0.1) == 0.0


def test_pauses_grow_and_then_starts_end() -> None:
    # A bolt without a connection to its database: the database may return, but retries must not
    # burn the machine.
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


def test_a_policy_that_is_exhausted_stays_so_until_a_stable_run() -> None:
    policy = RestartPolicy(1)
    assert [policy.pause_secs(0.0) for _ in range(3)] == [0.0, None, None]
    assert policy.pause_secs(STABLE_SECS) == 0.0


def test_without_a_limit_it_never_abandons_what_was_up_once() -> None:
    policy = RestartPolicy(UNLIMITED, is_up=True)
    assert None not in [policy.pause_secs(0.0) for _ in range(3000)]


def test_without_a_limit_it_abandons_what_has_never_been_up() -> None:
    policy = RestartPolicy(UNLIMITED)
    pauses = [policy.pause_secs(0.0) for _ in range(START_LIMIT + 1)]
    assert pauses.index(None) == START_LIMIT
    assert sum(filter(None, pauses)) < 5.0, "a person waits for this"


def test_a_run_that_was_stable_is_one_that_was_up() -> None:
    """A process that runs without a report of its start."""
    policy = RestartPolicy(UNLIMITED)
    policy.pause_secs(STABLE_SECS)
    assert None not in [policy.pause_secs(0.0) for _ in range(100)]


def test_a_run_shorter_than_its_pause_wipes_no_slate() -> None:
    """Or a process that dies each 15 s would be restarted at once each time."""
    policy = RestartPolicy(UNLIMITED, is_up=True)
    for _ in range(20):
        policy.pause_secs(0.0)
    assert policy.pause_secs(STABLE_SECS + 5.0) == PAUSE_SECS_MAX
    assert policy.pause_secs(PAUSE_SECS_MAX) == 0.0


def test_pauses_are_apart_by_chance() -> None:
    """A thousand instances do not connect to a returned database at one moment."""

    def pause_of(chance: float) -> float | None:
        policy = RestartPolicy(UNLIMITED, lambda: chance, is_up=True, failures=2)
        return policy.pause_secs(0.0)

    assert pause_of(0.0) == pytest.approx(0.36)
    assert pause_of(1.0) == pytest.approx(0.44)


def test_the_outlook_is_for_people() -> None:
    policy = RestartPolicy(3)
    seen = []
    for _ in range(3):
        policy.pause_secs(0.0)
        seen.append(policy.outlook)
    times = "restarted {} times in a row, "
    assert seen == [
        "",
        times.format(2) + "next try in 0.4 s",
        times.format(3) + "for the last time",
    ]
