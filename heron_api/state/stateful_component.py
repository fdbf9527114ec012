"""Interface of components that keep state (heronpy.api.state.stateful_component)."""

from typing import Any

from heron_api.state.state import State


class StatefulComponent:
    """Mix it into a spout or bolt whose state is to be kept.

    Under EFFECTIVELY_ONCE the state is saved with each checkpoint and restored from the last one;
    under ATLEAST_ONCE each instance saves its own now and then, and a new process of it begins with
    the newest. Under ATMOST_ONCE it lives in memory, and a new process starts with an empty one.
    """

    def init_state(self, stateful_state: State) -> Any:
        """Called once before `initialize` with the instance's state, empty or restored; keep it to
        write to it."""

    def pre_save(self, checkpoint_id: Any) -> Any:
        """Called before the state is saved: put into it what is not in it yet."""


class TwoPhaseStatefulComponent(StatefulComponent):
    """A StatefulComponent that does something with the world when a checkpoint is complete (commits
    what it wrote since the last one), as Heron's ITwoPhaseStatefulComponent.

    What `pre_save` prepared for a checkpoint counts from `post_save` of the same one on, and not if
    that never comes.
    """

    def post_save(self, checkpoint_id: Any) -> Any:
        """Called when the checkpoint is complete: every instance's state of it is saved."""

    def pre_restore(self, checkpoint_id: Any) -> Any:
        """Called before the state of a checkpoint is restored: forget what was prepared
        later."""
