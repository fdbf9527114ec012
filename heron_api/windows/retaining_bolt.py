"""What bolts have in common whose windows hold tuples: windows are saved and restored with the
bolt's state, and what is held can fail."""

from collections.abc import Iterable, Mapping
from typing import Any

from heron_api.state.component_state import ComponentState
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_api.windows.clocked_bolt import ClockedBolt
from heron_api.windows.saved_windows import FirstEnd, KeyOf
from heron_api.windows.window_runner import late_stream_problem
from heron_core import config as keys


class RetainingBolt(ClockedBolt, StatefulComponent):
    """A bolt whose `initialize` sets `time_runner`, then calls `restore_windows`. Call `init_state`
    and `pre_save` if you override them."""

    saved_at_least_once = False
    """The tuples of an open window are not acked: they come again."""
    saved_state: Any = None
    """Where the windows are saved, if anything is."""

    @classmethod
    def outputs_problem(cls, config: Mapping[str, Any], streams: Iterable[str]) -> str | None:
        """A late stream that is not declared, found when the topology is loaded."""
        return late_stream_problem(cls.with_settings(config).get(keys.LATE_STREAM), streams)

    def init_state(self, stateful_state: State) -> None:
        """Keep the state; the windows saved in it are open at the beginning."""
        self.saved_state = stateful_state

    def pre_save(self, checkpoint_id: Any) -> None:
        """Save the open windows."""
        if self.saved_state is not None:
            self.time_runner.save(self.saved_state, self.grouping_key())

    def restore_windows(self) -> None:
        """Open those that the state has; at the end of `initialize`."""
        if self.saved_state is not None:
            self.time_runner.restore(self.saved_state, self.grouping_key())
            self.time_runner.remember_end(FirstEnd(self.saved_state))

    def fail_retained(self) -> bool:
        """Every tuple of an open window fails: an update divides the keys again, or ends this
        instance, and the tuples come again. Whether keys tell which instance has what is left."""
        self.time_runner.fail_retained()
        return self.grouping_key() is not None

    def grouping_key(self) -> KeyOf:
        """How to find the key by which the input is grouped in what windows are saved by: the key
        of a window, or a tuple. None if it is not in it."""
        return None


class TupleWindowBolt(RetainingBolt):
    """A HoldingBolt whose windows have tuples of all keys."""

    def grouping_key(self) -> KeyOf:
        """Of a tuple; None if keys do not tell which instance has it."""
        state = self.saved_state
        return state.key_of_tuple() if isinstance(state, ComponentState) else None
