"""The tables of the states of an update and of a restore."""

from collections.abc import Callable
from typing import Any

import pytest

from heron_core.transitions import Transitions
from heron_engine.topology_master import recovery
from heron_engine.topology_master.update.checkpointed import Checkpointed
from heron_engine.topology_master.update.draining import Draining
from heron_engine.topology_master.update.states import (
    CANCELLABLE,
    ROLLING_BACK,
    TRANSITIONS,
)
from tests.transitions_seen import arrows, transitions_seen
from tests.unit.topology_master import (
    test_failing_restores,
    test_moved_states,
    test_rescale,
    test_rescale_with_state,
)

WAYS = (
    test_rescale.test_an_added_container_comes_up_while_data_flows_then_the_plan_is_switched,
    test_rescale.test_an_update_that_is_cancelled_while_containers_start_has_paused_no_spout,
    test_rescale.test_a_cancelled_update_lets_the_spouts_go_on,
    test_rescale.test_a_state_that_cannot_be_saved_leaves_the_old_plan,
    test_rescale.test_new_code_with_one_more_component_saves_no_state,
    test_moved_states.test_who_cannot_have_its_part_takes_all_back_to_what_they_had,
    test_rescale_with_state.test_a_checkpoint_that_fails_leaves_the_old_plan,
    test_rescale_with_state.test_an_update_is_cancelled_while_all_wait_for_their_states,
    test_rescale_with_state.test_what_was_processed_after_all_is_saved_before_the_rollback,
    test_rescale_with_state.test_an_update_that_comes_during_a_restore_needs_no_checkpoint_of_its_own,
)
"""Tests that together take each arrow: one that no code takes has no business in the drawing."""
RESTORES = (
    test_failing_restores.test_a_store_that_is_away_is_tried_less_and_less_often_until_it_is_back,
    test_failing_restores.test_an_instance_that_has_its_state_after_all_needs_no_other_try,
)


@pytest.mark.parametrize(
    ("machine", "ways"), [(TRANSITIONS, WAYS), (recovery.TRANSITIONS, RESTORES)]
)
def test_each_arrow_of_the_drawing_is_taken(
    machine: Transitions[Any], ways: tuple[Callable[[], None], ...]
) -> None:
    """A new arrow needs a test that takes it, here."""
    with transitions_seen() as seen:
        for way in ways:
            way()
    assert {each for each in seen if each.machine == machine.name} == arrows(machine)


def test_each_state_but_an_end_is_of_a_strategy() -> None:
    strategies = (Draining(blocked_secs=1.0), Checkpointed())
    assert {state for each in strategies for state in each.steps} == TRANSITIONS.after.keys()


def test_an_update_that_is_aborted_has_changed_nothing_or_is_rolled_back() -> None:
    assert not CANCELLABLE & ROLLING_BACK
    for state in ROLLING_BACK:
        assert TRANSITIONS.after[state].keys() <= ROLLING_BACK | TRANSITIONS.ends
