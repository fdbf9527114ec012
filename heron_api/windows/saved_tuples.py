"""Saved state of bolts whose windows retain tuples of all keys: each tuple by its key, so that a
rescale can redistribute them; or, if keys do not determine the instance, one value with all
tuples.

After a rescale one instance may receive tuples of instances with different event times. The
instance continues from the lowest watermark, and records per tuple the time up to which windows
were emitted, so that each window is emitted once.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from heron_api.state.component_state import ComponentState
from heron_api.windows.saved_windows import (
    KeyOf,
    check_none_by_key,
    restore_windows,
    save_windows,
)
from heron_core.algorithms.event_windows.operator import WindowOperator
from heron_core.algorithms.event_windows.panes import Pane
from heron_core.algorithms.event_windows.storm import Position, RetainedItem, StormWindows
from heron_core.algorithms.event_windows.values import NO_WATERMARK, TimeWindow
from heron_core.errors import StateError
from heron_core.state.protocol import StateTable
from heron_core.state.saved_watermark import save_watermark, saved_watermark

SAVED_TUPLES = "tuples"
"""The key of the state for tuples that no key divides."""
OTHER_VERSION = (
    "its windows were saved by another version of heronpy: start the topology without its state"
)
_SUB = "tuples"
"""Value of a key in the table of windows."""
_TUPLE = 2
"""Index of the tuple in an event: [timestamp, number, tuple] and, after a restore, the time up
to which the tuple's windows were emitted."""


def _put_all(table: StateTable, values: Mapping[Hashable, Any]) -> None:
    """Deletes entries one by one: a cleared backend would have to save every entry again."""
    for key in table.all_keys():
        if key not in values:
            table.remove(key, _SUB)
    for key, kept in values.items():
        table.put(key, kept, _SUB)


def save_storm_windows(state: Any, windows: StormWindows, watermark_ms: int, key_of: KeyOf) -> None:
    """Write the tuples to the state, by key or as one value."""
    position, retained = windows.saved()
    kept = [[rank, each.item, [[*position], [*each[1:]]]] for rank, each in enumerate(retained)]
    if key_of is None or not isinstance(state, ComponentState):
        state.put(SAVED_TUPLES, [watermark_ms, [each[1:] for each in kept]])
        return
    state.delete(SAVED_TUPLES)
    by_key: dict[Hashable, list[Any]] = {}
    for ranked in kept:
        by_key.setdefault(key_of(ranked[1]), []).append(ranked)
    table, watermark = state.named.window_tables()
    _put_all(table, by_key)
    save_watermark(watermark, watermark_ms)


def restore_storm_windows(state: Any, windows: StormWindows, key_of: KeyOf) -> int:
    """Restore from the state and return the watermark. StateError for the format of a different
    version."""
    whole = state.get(SAVED_TUPLES)
    if whole is None and isinstance(state, ComponentState) and key_of is not None:
        table, watermark = state.named.window_tables()
        keys = table.all_keys()
        ranked = [each for key in keys for _, kept in table.items(key) for each in kept]
        items = [each[1:] for each in sorted(ranked, key=lambda each: each[0])]
        whole = saved_watermark(watermark), items
    elif whole is None:
        check_none_by_key(state)
        whole = NO_WATERMARK, []
    try:
        watermark_ms, items = whole
        windows.restore([_retained(item, about) for item, about in items])
    except (TypeError, ValueError):
        raise StateError(OTHER_VERSION) from None
    return int(watermark_ms)


def _retained(item: Any, about: Any) -> tuple[Position, RetainedItem]:
    position, rest = about
    since_window, next_end_ms, *_, latest_end_ms = (
        position  # the state was replaced between the saves
    )
    return Position(since_window, next_end_ms, latest_end_ms), RetainedItem(item, *rest)


# --- windows by event time, with a WindowOperator whose only key is None -------------------------


def save_event_windows(state: Any, operator: WindowOperator, key_of: KeyOf) -> None:
    """Write the tuples to the state, by key."""
    if key_of is None or not isinstance(state, ComponentState):
        save_windows(state, operator, None)
        return
    operator.forget_changes()
    panes, cells = operator.changes().keys.get(None) or ([], [])
    by_key: dict[Hashable, dict[tuple[int, int], list[Any]]] = {}
    for start, end, events in cells:
        for event in events:
            of_key = by_key.setdefault(key_of(event[_TUPLE]), {})
            of_key.setdefault((start, end), []).append(event)
    table, watermark = state.named.window_tables()
    kept = {
        key: [operator.watermark_ms, panes, [[*cell, events] for cell, events in of_key.items()]]
        for key, of_key in by_key.items()
    }
    _put_all(table, kept)
    save_watermark(watermark, operator.watermark_ms)


def restore_event_windows(state: Any, operator: WindowOperator, key_of: KeyOf) -> None:
    """Restore the open windows."""
    if key_of is None or not isinstance(state, ComponentState):
        restore_windows(state, operator, None)
        return
    table, watermark = state.named.window_tables()
    watermark_ms = saved_watermark(watermark)
    panes: dict[TimeWindow, Pane] = {}
    cells: dict[tuple[int, int], list[Any]] = {}
    for key in table.all_keys():
        for _, (shown_ms, packed, of_key) in table.items(key):
            _join_panes(panes, packed)
            for start, end, events in of_key:
                cell_events = cells.setdefault((start, end), [])
                cell_events.extend(_marked(each, shown_ms, watermark_ms) for each in events)
    kept = [
        [each.packed(watermark_ms) for each in panes.values()],
        [[*cell, events] for cell, events in cells.items()],
    ]
    operator.restore(watermark_ms, [(None, kept)] if cells else [])


def _join_panes(panes: dict[TimeWindow, Pane], packed: Iterable[Any]) -> None:
    for each in map(Pane.unpacked, packed):
        found = panes.setdefault(each.window, each)
        # A window emitted by one instance may be due in a second instance for its own tuples.
        found.is_shown = found.is_shown and each.is_shown


def _marked(event: list[Any], shown_ms: int, watermark_ms: int) -> list[Any]:
    shown_ms = max(shown_ms, _shown_ms(event))
    further = [shown_ms] if shown_ms > watermark_ms else []
    return [*event[: _TUPLE + 1], *further]


def tuples_to_show(events: Iterable[list[Any]], end_ms: int) -> list[Any]:
    """The tuples of a window's events, without tuples emitted in the window by a previous
    instance."""
    return [event[_TUPLE] for event in events if _shown_ms(event) < end_ms]


def _shown_ms(event: list[Any]) -> int:
    return event[_TUPLE + 1] if len(event) > _TUPLE + 1 else NO_WATERMARK
