"""Common base of bolts whose windows retain tuples: windows are saved and restored with the
bolt's state, and retained tuples can be failed."""

from collections.abc import Iterable, Mapping
from typing import Any

from heron_api.state.component_state import ComponentState
from heron_api.state.state import State
from heron_api.state.stateful_component import StatefulComponent
from heron_api.tuple import ReadRow
from heron_api.windows.clocked_bolt import ClockedBolt
from heron_api.windows.saved_windows import FirstEnd, KeyOf
from heron_api.windows.window_runner import late_stream_problem
from heron_core import config as keys


class RetainingBolt(ClockedBolt[ReadRow], StatefulComponent):
    """A bolt whose `initialize` sets `time_runner`, then calls `restore_windows`. Overrides of
    `init_state` and `pre_save` have to call super."""

    saved_at_least_once = False
    """The tuples of an open window are not acked: they come again."""
    saved_state: Any = None
    """Storage of the windows, if state is saved."""

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
        """Restore the open windows; at the end of `initialize`."""
        if self.saved_state is not None:
            self.time_runner.restore(self.saved_state, self.grouping_key())
            self.time_runner.remember_end(FirstEnd(self.saved_state))

    def fail_retained(self) -> bool:
        """Fail every tuple of an open window: an update redistributes the keys or ends the
        instance, and the tuples are replayed. Returns whether keys determine the instance of the
        remaining state."""
        self.time_runner.fail_retained()
        return self.grouping_key() is not None

    def grouping_key(self) -> KeyOf:
        """Function from the key of a window or from a tuple to the key of the input's grouping;
        None if not derivable."""
        return None


class TupleWindowBolt(RetainingBolt[ReadRow]):
    """A RetainingBolt whose windows have tuples of all keys."""

    def grouping_key(self) -> KeyOf:
        """Grouping key of a tuple; None if keys do not determine the instance."""
        state = self.saved_state
        return state.key_of_tuple() if isinstance(state, ComponentState) else None
