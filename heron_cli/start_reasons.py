"""What a topology that starts waits for, by the scheduler's node, for the commands that wait."""

from dataclasses import dataclass

from heron_core.errors import StateStoreError
from heron_core.state_tree import scheduler_path
from heron_engine.scheduler.own_nodes import WAITING
from heron_io.state_store.protocol import StateStore

QUIET_SECS = 5.0
"""A start without a reason to wait takes less on an idle machine, and needs no words."""


@dataclass(slots=True)
class StartReasons:
    """The reasons of one start, each given once."""

    store: StateStore
    name: str
    last: str = ""
    """The newest reason; empty before `QUIET_SECS`, and if the scheduler gives none."""

    def changed(self, elapsed_secs: float) -> str:
        """A reason that was not given yet, else empty. `elapsed_secs`: since the start."""
        if elapsed_secs < QUIET_SECS:
            return ""
        try:
            node = self.store.get(scheduler_path(self.name))
        except StateStoreError:  # the topology starts without this command, and reports by itself
            return ""
        text = str(node.get(WAITING, "")) if isinstance(node, dict) else ""
        if text == self.last:
            return ""
        self.last = text
        return f"{self.name} is starting: {text}" if text else ""
