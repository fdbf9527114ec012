"""Interface of components that keep state (heronpy.api.state.stateful_component)."""

from typing import Any

from heron_api.state.state import State


class StatefulComponent:
    """Mixin for a spout or bolt with saved state.

    Under EFFECTIVELY_ONCE state is saved with each checkpoint and restored from the latest;
    under ATLEAST_ONCE each instance saves its state periodically, and a new process starts from
    the latest copy. Under ATMOST_ONCE state is in memory only, and a new process starts with
    empty state.
    """

    def init_state(self, stateful_state: State) -> Any:
        """Called once before `initialize` with the instance's state, empty or restored; keep a
        reference for writes."""

    def pre_save(self, checkpoint_id: Any) -> Any:
        """Called before the state is saved: write pending changes to the state."""


class TwoPhaseStatefulComponent(StatefulComponent):
    """A StatefulComponent with an external commit when a checkpoint is complete (Heron's
    ITwoPhaseStatefulComponent).

    Data prepared by `pre_save` for a checkpoint becomes valid with `post_save` of the
    checkpoint, and is discarded without the call.

    Example:

        from pathlib import Path

        from heronpy_compat import Bolt

        class Lines(Bolt, TwoPhaseStatefulComponent):
            def init_state(self, stateful_state):
                self.lines = []

            def process(self, tup):
                self.lines.append(tup.values[0])

            def pre_save(self, checkpoint_id):
                Path(f"{checkpoint_id}.part").write_text("\\n".join(self.lines))
                self.lines.clear()

            def post_save(self, checkpoint_id):
                part = Path(f"{checkpoint_id}.part")
                if part.exists():
                    part.rename(f"{checkpoint_id}.txt")

            def pre_restore(self, checkpoint_id):
                self.lines.clear()
    """

    def post_save(self, checkpoint_id: Any) -> Any:
        """Called when the checkpoint is complete: every instance's state of it is saved."""

    def pre_restore(self, checkpoint_id: Any) -> Any:
        """Called before the state of a checkpoint is restored: forget what was prepared
        later."""
