"""Positions in a log say nothing of the log of another server, or of one that was restored."""

import pytest

from heron_connectors.postgres.slot import ServerLog, SlotState

OURS = ServerLog("7", 2)
FACTS = SlotState(50, OURS, 100)


@pytest.mark.parametrize(
    ("log", "position", "problem"),
    [
        (None, 0, ""),
        (OURS, 100, ""),
        (ServerLog("7", 0), 100, ""),
        (ServerLog("8", 2), 60, "belongs to another server (system 8, this one is 7)"),
        (ServerLog("7", 1), 60, "(timeline 1, and now 2): changes before 0/3C may be others now"),
        (OURS, 101, "its state is at 0/65, and the server's log ends at 0/64: the server was"),
    ],
)
def test_what_keeps_a_state_from_being_read_on(
    log: ServerLog | None, position: int, problem: str
) -> None:
    found = FACTS.problem(log, position)
    assert problem in found
    assert bool(found) is bool(problem)
