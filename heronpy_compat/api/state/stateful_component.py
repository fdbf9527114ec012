"""Interface of components that keep state (heronpy.api.state.stateful_component)."""

from typing import Any

from heronpy_compat.api.state.state import State


class StatefulComponent:
    """Mix it into a spout or bolt whose state is to be kept.

    Every instance starts with an empty state: checkpoints belong to EFFECTIVELY_ONCE, which is
    refused so far.
    """

    def init_state(self, stateful_state: State) -> None:
        """Called once before `initialize` with the instance's state; keep it to write to it."""

    def pre_save(self, checkpoint_id: Any) -> None:
        """Called before a checkpoint is taken: put into the state what is not in it yet."""
