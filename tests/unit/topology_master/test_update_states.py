"""The table of an update's states, and its drawing in docs/ARCHITECTURE.md."""

from pathlib import Path

from heron_engine.topology_master.update.checkpointed import Checkpointed
from heron_engine.topology_master.update.draining import Draining
from heron_engine.topology_master.update.states import CANCELLABLE, ENDS, GOING_BACK, TRANSITIONS
from tests.diagrams import drawn, update_diagram

ARCHITECTURE = Path(__file__).parents[3] / "docs" / "ARCHITECTURE.md"


def test_each_state_but_an_end_is_of_a_strategy() -> None:
    strategies = (Draining(saves_states=True, held_up_secs=1.0), Checkpointed())
    assert {state for each in strategies for state in each.steps} == TRANSITIONS.keys()
    assert {to for after in TRANSITIONS.values() for to in after} >= ENDS


def test_an_update_that_is_given_up_has_changed_nothing_or_is_rolled_back() -> None:
    assert not CANCELLABLE & GOING_BACK
    for state in GOING_BACK:
        assert TRANSITIONS[state].keys() <= GOING_BACK | ENDS


def test_the_drawing_shows_the_table() -> None:
    """Else run `python -m tests.diagrams`."""
    assert drawn(ARCHITECTURE.read_text(), "update") == update_diagram()
