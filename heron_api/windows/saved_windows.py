"""Where a window bolt's windows are saved: by key in its state, so that they can be divided among
another number of instances; or, where no key divides them, as one value of the instance.

Keys of windows are not always those by which the bolt's input is grouped: windows by (user, page)
may be grouped by user. The latter decides which instance has them; so they stand in the state by
the key of the grouping first.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from heron_api.state.component_state import ComponentState
from heron_core.algorithms.event_windows.changes import OperatorChanges, Packed
from heron_core.algorithms.event_windows.values import NO_WATERMARK
from heron_core.errors import StateError
from heron_core.state.keys import key_of
from heron_core.state.protocol import ABSENT, StateTable

SAVED_WINDOWS = "windows"
"""The key of the state under which windows are saved that no key divides."""
WATERMARK = "watermark_ms"
_ENDED = "sources have finished"
"""Beside the watermark, once they have: 1."""

GroupingKey = Callable[[Any], Hashable]
"""The key of a window, or a tuple -> the key by which the input was grouped."""
KeyOf = GroupingKey | None
"""None: what is kept is not divided by keys."""


class Saved(Protocol):
    """What has windows: a WindowOperator, an IntervalJoin."""

    watermark_ms: int

    def changes(self) -> OperatorChanges:
        """What is kept of each key that has changed since the last call."""

    def forget_changes(self) -> None:
        """The next call gives everything."""

    def restore(self, watermark_ms: int, keys: Iterable[tuple[Hashable, Packed]]) -> None:
        """Keep what `changes` gave."""


@dataclass(frozen=True, slots=True)
class PartsOfKey:
    """The GroupingKey of windows whose keys are tuples: some of the values."""

    positions: tuple[int, ...]

    def __call__(self, key: Any) -> Hashable:
        """The values at those positions."""
        found: Hashable = key_of([key[position] for position in self.positions])
        return found


def whole_key(key: Any) -> Hashable:
    """The GroupingKey of windows whose key is the one by which the input is grouped."""
    found: Hashable = key_of([key])
    return found


def key_of_fields(state: Any, key_fields: Sequence[str]) -> KeyOf:
    """The GroupingKey of windows by these fields; None if what an instance has of a key is not all
    of it, or an instance has windows of several."""
    grouped = state.grouped_by if isinstance(state, ComponentState) else None
    if not grouped or any(not set(fields) <= set(key_fields) for fields in grouped.values()):
        return None
    first, *others = ([key_fields.index(name) for name in each] for each in grouped.values())
    return None if any(each != first for each in others) else PartsOfKey(tuple(first))


def save_windows(state: Any, windows: Saved, grouping_key: KeyOf) -> None:
    """Put them into the state; what fails is tried again as a whole the next time."""
    try:
        if grouping_key is None or not isinstance(state, ComponentState):
            _save_whole(state, windows)
        else:
            state.delete(SAVED_WINDOWS)
            _save_by_key(*state.named.window_tables(), windows, grouping_key)
    except Exception:
        windows.forget_changes()
        raise


def _save_whole(state: Any, windows: Saved) -> None:
    windows.forget_changes()
    keys = [[key, kept] for key, kept in windows.changes().keys.items()]
    state.put(SAVED_WINDOWS, {WATERMARK: windows.watermark_ms, "keys": keys})


def _save_by_key(
    table: StateTable, watermark: StateTable, windows: Saved, grouping_key: GroupingKey
) -> None:
    changes = windows.changes()
    if changes.is_all:
        table.clear()
    for key, kept in changes.keys.items():
        if kept is None:
            table.remove(grouping_key(key), key)
        else:
            table.put(grouping_key(key), kept, key)
    save_watermark(watermark, windows.watermark_ms)


class FirstEnd:
    """Whether all sources of a bolt have finished for the first time. A state of this engine keeps
    it: tuples that come behind the first end, of a bolt's tick or `on_finish`, are windows of
    their own end, also after a restore, at which the sources say once more that they have
    finished."""

    def __init__(self, state: Any) -> None:
        """`state`: the bolt's; None for none."""
        self._state = state if isinstance(state, ComponentState) else None
        self._has_been = False
        """Of a bolt without such a state."""

    def is_now(self) -> bool:
        """They have finished; whether that is the first time."""
        if self._state is None:
            is_first, self._has_been = not self._has_been, True
            return is_first
        table = self._state.named.window_tables()[1]
        is_first = table.get(_ENDED) is ABSENT
        if is_first:
            table.put(_ENDED, 1)
        return is_first


def save_watermark(table: StateTable, watermark_ms: int) -> None:
    """Put it into the table of watermarks, unless it is there."""
    if table.get(WATERMARK) != watermark_ms:
        table.put(WATERMARK, watermark_ms)


def saved_watermark(table: StateTable) -> int:
    """The watermark that was saved, of several instances' the least."""
    found = table.get(WATERMARK)
    return NO_WATERMARK if found is ABSENT else int(found)


def restore_windows(state: Any, windows: Saved, grouping_key: KeyOf) -> None:
    """Have open what the state has."""
    whole = state.get(SAVED_WINDOWS)
    if whole is not None:
        windows.restore(whole[WATERMARK], whole["keys"])
        windows.forget_changes()
        return
    if grouping_key is None or not isinstance(state, ComponentState):
        check_none_by_key(state)
        return
    table, watermark = state.named.window_tables()
    saved = [(key, kept) for group in table.all_keys() for key, kept in table.items(group)]
    windows.restore(saved_watermark(watermark), saved)


def check_none_by_key(state: Any) -> None:
    """Windows that were saved by key are not left out without a word."""
    if isinstance(state, ComponentState) and list(state.named.window_tables()[0].all_keys()):
        component = state.named.current.component
        raise StateError(
            f"{component}: its windows were saved with the key of its grouping, but its grouping "
            "is now not by fields of the key: restore the grouping, or start without the state"
        )
