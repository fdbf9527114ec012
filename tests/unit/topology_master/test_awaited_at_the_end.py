"""A finite run that does not end: its stats name the instances that the end waits for."""

from heron_core.wire import messages
from tests.unit.topology_master.test_master_core import FIRST, LAST, SPOUT, Made, finished, sent


def awaited(made: Made) -> list[str]:
    """As the command line is told."""
    ((_, reply),) = sent(messages.Reply, made.receive(messages.Command("stats", {}), b"cli"))
    found: list[str] = reply.data["waiting_for"]
    return found


def answer(made: Made, held: tuple[int, ...] = (), busy: tuple[int, ...] = ()) -> None:
    """One round of probes: five tuples from the spout, all of which the first bolt has taken."""
    made.wait(0.02)
    for task, counts in ((SPOUT, (5, 0)), (FIRST, (0, 5)), (LAST, (0, 0))):
        idle, holds = task not in (*held, *busy), task in held
        made.receive(
            messages.QuiescenceReport(
                task, made.core.probe_round, *counts, idle, 1, is_waiting=holds
            )
        )


def test_who_works_is_named_while_anything_moves() -> None:
    made = Made()
    assert awaited(made) == [], "it runs, and has no end to wait for"
    finished(made)
    answer(made, busy=(FIRST,))
    assert awaited(made) == ["first[0]"]


def test_the_bolt_that_keeps_its_tuples_is_named_and_not_the_spout_that_waits_for_it() -> None:
    made = Made()
    finished(made)
    for _ in range(3):
        answer(made, held=(SPOUT, FIRST))
    assert awaited(made) == ["first[0]"]


def test_a_spout_whose_tuples_are_with_nobody_is_named_itself() -> None:
    made = Made()
    finished(made)
    for _ in range(3):
        answer(made, held=(SPOUT,))
    assert awaited(made) == ["spout[0]"]


def test_the_bolts_of_the_level_that_finishes_are_named() -> None:
    made = Made()
    finished(made)
    for _ in range(2):
        answer(made)
    assert awaited(made) == ["first[0]"]
    made.receive(messages.BoltFinished(FIRST))
    for _ in range(2):
        answer(made)
    assert awaited(made) == ["last[0]"]
