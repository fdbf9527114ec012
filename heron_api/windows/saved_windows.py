"""Saved windows of a window bolt: by key, so that a rescale can redistribute the windows; or, if
no key divides them, one value per instance.

Keys of windows may differ from the keys of the input's grouping: windows by (user, page) may be
grouped by user. The grouping determines the instance, so its key comes first in the state.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from heron_api.state.component_state import ComponentState
from heron_core.algorithms.event_windows.changes import OperatorChanges, Packed
from heron_core.errors import StateError
from heron_core.state.keys import key_of
from heron_core.state.protocol import ABSENT, StateTable
from heron_core.state.saved_watermark import WATERMARK, save_watermark, saved_watermark

SAVED_WINDOWS = "windows"
"""State key of windows that no key divides."""
_ENDED = "sources have finished"
"""Stored with the watermark after the first end of the sources: 1."""

GroupingKey = Callable[[Any], Hashable]
"""The key of a window, or a tuple -> the key by which the input was grouped."""
KeyOf = GroupingKey | None
"""None: the state is not divided by keys."""


class Saved(Protocol):
    """A holder of windows: a WindowOperator, an IntervalJoin."""

    watermark_ms: int

    def changes(self) -> OperatorChanges:
        """State of each key changed since the last call."""

    def forget_changes(self) -> None:
        """The next call gives everything."""

    def restore(self, watermark_ms: int, keys: Iterable[tuple[Hashable, Packed]]) -> None:
        """Restore the output of `changes`."""


@dataclass(frozen=True, slots=True)
class PartsOfKey:
    """The GroupingKey of windows whose keys are tuples: some of the values."""

    positions: tuple[int, ...]

    def __call__(self, key: Any) -> Hashable:
        """The values at the positions."""
        found: Hashable = key_of([key[position] for position in self.positions])
        return found


def whole_key(key: Any) -> Hashable:
    """The GroupingKey if windows and input have equal keys."""
    found: Hashable = key_of([key])
    return found


def key_of_fields(state: Any, key_fields: Sequence[str]) -> KeyOf:
    """The GroupingKey of windows by the fields; None if the instance has only a part of a key's
    data, or windows of several grouping keys."""
    grouped = state.grouped_by if isinstance(state, ComponentState) else None
    if not grouped or any(not set(fields) <= set(key_fields) for fields in grouped.values()):
        return None
    first, *others = ([key_fields.index(name) for name in each] for each in grouped.values())
    return None if any(each != first for each in others) else PartsOfKey(tuple(first))


def save_windows(state: Any, windows: Saved, grouping_key: KeyOf) -> None:
    """Write to the state; after an error, the next call retries everything."""
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
    """Whether all sources of a bolt have finished for the first time. The engine's state keeps
    the flag: tuples after the first end (from a bolt's tick or `on_finish`) form windows of a
    later end, also after a restore, when sources report their end again."""

    def __init__(self, state: Any) -> None:
        """`state`: the bolt's state, or None."""
        self._state = state if isinstance(state, ComponentState) else None
        self._has_been = False
        """Fallback for a bolt without state."""

    def is_now(self) -> bool:
        """The sources have finished; returns whether for the first time."""
        if self._state is None:
            is_first, self._has_been = not self._has_been, True
            return is_first
        table = self._state.named.window_tables()[1]
        is_first = table.get(_ENDED) is ABSENT
        if is_first:
            table.put(_ENDED, 1)
        return is_first


def restore_windows(state: Any, windows: Saved, grouping_key: KeyOf) -> None:
    """Restore the open windows."""
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
