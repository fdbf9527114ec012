"""A process that comes back to a topology that is over."""

import time

import pytest

from heron_core.ended_topology import RECENT_SECS, over_text

NOW = 1_800_000_000.0


def at(secs: float) -> str:
    """As a topology master writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+0000", time.gmtime(secs))


@pytest.mark.parametrize("state", ["ENDED", "FAILED", "KILLED"])
def test_nothing_of_a_topology_that_is_over_runs(state: str) -> None:
    ended_at = at(NOW - RECENT_SECS)
    found = over_text("words", {"state": state, "ended_at": ended_at}, NOW)
    assert found == f"words is {state} since {ended_at}: its processes must not run"
    assert over_text("words", {"state": state}, NOW).startswith(f"words is {state}: ")


@pytest.mark.parametrize(
    "execution",
    [
        {},
        {"state": "RUNNING"},
        {"state": "PAUSED", "ended_at": at(NOW - 3600)},
        {"state": "ENDED", "ended_at": at(NOW - 1)},
    ],
)
def test_one_that_runs_or_is_just_ending_goes_on(execution: dict[str, str]) -> None:
    assert over_text("words", execution, NOW) == ""
