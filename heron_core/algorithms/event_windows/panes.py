"""State of an operator: open windows and their accumulators, by key."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from heron_core.algorithms.event_windows.changes import Packed
from heron_core.algorithms.event_windows.values import TimeWindow


@dataclass(slots=True)
class Pane:
    """An open window of a key."""

    window: TimeWindow
    number: int
    """Sequence number of panes: the order among simultaneously due panes."""
    unseen: int = 0
    """Unemitted events that can cause a result."""
    firings: int = 0
    due_ms: int | None = None
    """Processing time to emit unemitted events."""
    is_shown: bool = False
    """The result on time was emitted by a more advanced operator: later events are late."""
    is_shown_so_far: bool = False
    """Emitted on idle input, without events since."""

    def packed(self, watermark_ms: int) -> Packed:
        """As plain data."""
        is_shown = self.is_shown or self.window.end_ms <= watermark_ms
        return [*self.window, self.number, self.unseen, self.firings, self.due_ms, is_shown]

    @staticmethod
    def unpacked(packed: Packed) -> "Pane":
        """Inverse of `packed`."""
        return Pane(TimeWindow(packed[0], packed[1]), *packed[2:])


@dataclass(slots=True)
class KeyState:
    """The open windows of one key; a cell that is missing has had no event, or was shown and
    discarded."""

    panes: dict[TimeWindow, Pane] = field(default_factory=dict)
    cells: dict[TimeWindow, Any] = field(default_factory=dict)


def hashable(key: Any) -> Hashable:
    """A key that went through a format that knows only lists: tuples again."""
    if isinstance(key, list):
        return tuple(map(hashable, key))
    made: Hashable = key
    return made
