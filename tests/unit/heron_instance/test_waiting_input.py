"""The order of what a bolt has before it, and of which messages its stream manager is told."""

from heron_core.state.saved_input import SavedInput
from heron_instance.input.waiting_input import WaitingInput
from tests.unit.heron_instance.instance_support import batch

SAVED, HANDED = batch([1, "x"], [2, "x"]), batch([3, "x"])


def test_a_saved_message_that_was_cut_is_reported_to_nobody_when_its_rest_is_processed() -> None:
    """A report of it would count for a message that the stream manager has handed over, and which
    the bolt has not processed."""
    waiting = WaitingInput()
    waiting.extend([HANDED])
    waiting.restore(SavedInput((SAVED,)))
    assert waiting.take() == (SAVED, 0, False)
    waiting.put_back(SAVED, 1, is_handed=False)
    waiting.validate()
    assert waiting.take() == (SAVED, 1, False)
    assert waiting.take() == (HANDED, 0, True)


def test_the_next_restore_replaces_a_saved_message_that_was_cut() -> None:
    waiting = WaitingInput()
    waiting.restore(SavedInput((SAVED,)))
    waiting.put_back(waiting.take()[0], 1, is_handed=False)
    waiting.restore(SavedInput((HANDED,)))
    assert waiting.take() == (HANDED, 0, False)
    assert not waiting.messages
