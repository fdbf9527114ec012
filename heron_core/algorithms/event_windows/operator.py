"""WindowOperator: events in, results of windows by key out, as watermark and clock go on.

Contents: one accumulator for each key and slice (or window), from its first event until the
watermark passes the window's end and the allowed lateness; at most WINDOWS_MAX windows of keys.
With an aggregate that adds up, an event costs nothing once it is added.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Protocol

from heron_core.algorithms.event_windows.aggregates import Aggregate
from heron_core.algorithms.event_windows.assigners import Assigner, Sliding, checked_ms
from heron_core.algorithms.event_windows.changes import Packed, SavedByKey
from heron_core.algorithms.event_windows.panes import KeyState, Pane, hashable
from heron_core.algorithms.event_windows.timers import Timers
from heron_core.algorithms.event_windows.triggers import AT_WATERMARK, Trigger
from heron_core.algorithms.event_windows.values import (
    END_OF_TIME,
    NO_WATERMARK,
    Dropped,
    Failed,
    Firing,
    Late,
    Output,
    Result,
    TimeWindow,
)
from heron_core.errors import ComponentError
from heron_core.records import replace

WINDOWS_MAX = 1_000_000
"""Open windows of all keys of one operator: about 400 MB of small accumulators. More is a watermark
that stands still, or a key that is different for each event."""

_FIRE, _DROP = 0, 1


class PackingAggregate(Aggregate, Protocol):
    """An aggregate whose accumulators can be in a checkpoint (AggregateBase has the defaults)."""

    def pack(self, accumulator: Any) -> Any:
        """As plain data."""

    def unpack(self, packed: Any) -> Any:
        """Of plain data."""


class WindowOperator(SavedByKey):
    """Windows of one kind with one aggregate; every call returns its results, in order."""

    def __init__(
        self,
        assigner: Assigner,
        aggregate: PackingAggregate,
        trigger: Trigger = AT_WATERMARK,
        *,
        lateness_ms: int = 0,
        windows_max: int = WINDOWS_MAX,
    ) -> None:
        self._lateness_ms = checked_ms("the allowed lateness", lateness_ms, 0)
        # Emitted and dropped at once: the window has no content to discard in between.
        self._discards = trigger.discarding and (trigger.is_early or lateness_ms > 0)
        if self._discards and isinstance(assigner, Sliding):
            assigner = replace(assigner, shares_slices=False)
        self._assigner = assigner
        self._aggregate = aggregate
        self._trigger = trigger
        self._windows_max = windows_max
        self._keys: dict[Hashable, KeyState] = {}
        self._event_timers = Timers()
        self._time_timers = Timers()
        self._opened = 0
        self._shows_so_far = False
        """Some windows were emitted early: further events are recorded."""
        self.open_windows = 0
        """Of all keys."""
        self.watermark_ms = NO_WATERMARK
        self._shown_until_ms = NO_WATERMARK
        """Upper bound of emitted window ends: the watermark, or the watermark of a more advanced
        operator whose windows were migrated here."""

    # --- events -------------------------------------------------------------------------------

    def add(self, key: Hashable, timestamp_ms: int, value: Any, now_ms: int) -> list[Output]:
        """An event; `now_ms` is the processing time."""
        if self._assigner.merges:
            return self._add_to_session(key, timestamp_ms, value, now_ms)
        cells: Sequence[TimeWindow]
        if self._assigner.is_sliced:
            cells = (self._assigner.cell(timestamp_ms),)
        else:
            cells = self._assigner.windows(timestamp_ms)
        live = [cell for cell in cells if not self._is_past(self._assigner.last_end_ms(cell))]
        if not live:
            return [Late(key, timestamp_ms, value)]
        state = self._state(key)
        for cell in live:
            self._add_to_cell(key, state, cell, value)
        if self._shows_so_far:
            self._note_new(state, self._assigner.windows(timestamp_ms))
        if not self._trigger.is_early and self._shown_until_ms <= timestamp_ms:
            return []  # all of its windows are open, and emitted when complete
        outputs: list[Output] = []
        for window in self._assigner.windows(timestamp_ms):
            if window in state.panes:
                self._count(key, state, state.panes[window], now_ms, outputs)
        return outputs

    def _add_to_cell(self, key: Hashable, state: KeyState, cell: TimeWindow, value: Any) -> None:
        if cell in state.cells:
            accumulator = state.cells[cell]
        else:
            sliced = self._assigner.is_sliced
            for window in self._assigner.windows(cell.start_ms) if sliced else (cell,):
                if window not in state.panes and not self._is_past(window.end_ms):
                    self._open(key, state, window)
            accumulator = self._aggregate.create()
        state.cells[cell] = self._aggregate.add(accumulator, value)

    def _add_to_session(
        self, key: Hashable, timestamp_ms: int, value: Any, now_ms: int
    ) -> list[Output]:
        (alone,) = self._assigner.windows(timestamp_ms)
        state = self._state(key)
        joined = sorted(
            pane for pane in state.panes
            if pane.start_ms < alone.end_ms and alone.start_ms < pane.end_ms
        )  # fmt: skip
        start = min(alone.start_ms, joined[0].start_ms) if joined else alone.start_ms
        end = max(alone.end_ms, joined[-1].end_ms) if joined else alone.end_ms
        if self._is_past(end):
            self._forget_empty(key, state)
            return [Late(key, timestamp_ms, value)]
        window = TimeWindow(start, end)
        if joined != [window]:
            self._merge(key, state, joined, window)
        accumulator = state.cells[window] if window in state.cells else self._aggregate.create()
        state.cells[window] = self._aggregate.add(accumulator, value)
        self._note_new(state, (window,))
        outputs: list[Output] = []
        self._count(key, state, state.panes[window], now_ms, outputs)
        return outputs

    def _note_new(self, state: KeyState, windows: Iterable[TimeWindow]) -> None:
        for window in windows:
            if window in state.panes:
                state.panes[window].is_shown_so_far = False

    def _merge(
        self, key: Hashable, state: KeyState, joined: list[TimeWindow], window: TimeWindow
    ) -> None:
        """Merge several sessions, or none, into one."""
        panes = [self._close(key, state, each) for each in joined]
        parts = [state.cells.pop(each) for each in joined if each in state.cells]
        merged = self._open(key, state, window)
        if panes:
            merged.number = min(each.number for each in panes)
            merged.unseen = sum(each.unseen for each in panes)
            merged.firings = max(each.firings for each in panes)
            dues = [each.due_ms for each in panes if each.due_ms is not None]
            if dues:
                self._show_at(key, merged, min(dues))
        if parts:
            state.cells[window] = self._merged(parts)

    def _count(
        self, key: Hashable, state: KeyState, pane: Pane, now_ms: int, outputs: list[Output]
    ) -> None:
        """An event has come into an open window: it may cause a result."""
        pane.unseen += 1
        firing = self._firing(pane)
        number, wait_ms = self._trigger.limits(firing is Firing.LATE)
        if number is not None and pane.unseen >= number:
            self._fire(key, state, pane, firing, outputs)
        elif wait_ms is not None and pane.due_ms is None:
            self._show_at(key, pane, now_ms + wait_ms)

    def _show_at(self, key: Hashable, pane: Pane, due_ms: int) -> None:
        pane.due_ms = due_ms
        self._time_timers.add(due_ms, (key, pane.window))

    def _firing(self, pane: Pane) -> Firing:
        is_late = pane.is_shown or pane.window.end_ms <= self.watermark_ms
        return Firing.LATE if is_late else Firing.EARLY

    # --- time ---------------------------------------------------------------------------------

    def advance_watermark(self, watermark_ms: int) -> list[Output]:
        """Advance the watermark: no event below `watermark_ms` is expected, according to a local
        generator or a received watermark. A lower value is ignored.
        """
        outputs: list[Output] = []
        if watermark_ms <= self.watermark_ms:
            return outputs
        self.watermark_ms = watermark_ms
        self._shown_until_ms = max(self._shown_until_ms, watermark_ms)
        self._show_until(watermark_ms, outputs)
        return outputs

    def _show_until(self, end_ms: int, outputs: list[Output]) -> None:
        for _, due in self._event_timers.due(end_ms):
            for what, key, pane in self._in_order(due):
                if what == _FIRE:
                    if not pane.is_shown_so_far:
                        self._fire(key, self._keys[key], pane, Firing.ON_TIME, outputs)
                else:
                    self._drop(key, pane, outputs)

    def _in_order(self, due: Iterable[Any]) -> list[tuple[int, Hashable, Pane]]:
        panes = [(what, key, self._pane(key, window)) for what, key, window in due]
        open_ones = [(what, key, pane) for what, key, pane in panes if pane is not None]
        return sorted(open_ones, key=lambda each: (each[0], each[2].window, each[2].number))

    def _pane(self, key: Hashable, window: TimeWindow) -> Pane | None:
        state = self._keys.get(key)
        return None if state is None else state.panes.get(window)

    def finish(self) -> list[Output]:
        """The end of the input: every window is complete."""
        return self.advance_watermark(END_OF_TIME)

    def show_open(self) -> list[Output]:
        """Fire and drop the open windows: the sources have finished, but may replay failed events,
        which open the windows again.
        """
        outputs: list[Output] = []
        self._show_until(END_OF_TIME, outputs)
        return outputs

    def show_so_far(self) -> list[Output]:
        """Idle input: emit early results of the open windows. They stay open, and are emitted
        again, complete, after further events."""
        outputs: list[Output] = []
        for key, state in list(self._keys.items()):
            for pane in sorted(state.panes.values(), key=lambda each: each.window):
                if pane.window.end_ms > self.watermark_ms and not pane.is_shown_so_far:
                    self._fire(key, state, pane, Firing.EARLY, outputs)
                    pane.is_shown_so_far = self._shows_so_far = True
        return outputs

    def accumulators(self) -> list[Any]:
        """Accumulators of all keys and cells."""
        return [each for state in self._keys.values() for each in state.cells.values()]

    def drop_cells(self, is_dropped: Callable[[Any], bool]) -> list[Any]:
        """Drop accumulators whose events will be replayed; returns the accumulators. The watermark
        stays, so events of later windows fire no window again.
        """
        dropped: list[Any] = []
        for key, state in list(self._keys.items()):
            cells = [each for each, accumulator in state.cells.items() if is_dropped(accumulator)]
            if cells:
                dropped += [state.cells.pop(each) for each in cells]
                self._close_empty(key, state)
        return dropped

    def _close_empty(self, key: Hashable, state: KeyState) -> None:
        if self._changed is not None:
            self._changed.add(key)
        for pane in list(state.panes.values()):
            if not self._cells_of(state, pane.window):
                pane.unseen = 0
                # A session stays: without it its first events would be late. A window that has
                # fired stays too, because its number of firings continues.
                if not (pane.firings or self._assigner.merges):
                    self._close(key, state, pane.window)
        self._forget_empty(key, state)

    def complete_open(self) -> list[Output]:
        """Complete the open windows, although input may continue: later events for them are
        late."""
        outputs: list[Output] = []
        panes = [(key, pane) for key, state in self._keys.items() for pane in state.panes.values()]
        for key, pane in panes:
            if pane.window.end_ms == END_OF_TIME:  # without end: the next event opens it again
                pane.unseen = 0
                self._fire(key, self._keys[key], pane, Firing.EARLY, outputs)
                self._drop(key, pane, outputs)
        ends = [self._drop_ms(pane.window.end_ms) for _, pane in panes]
        last = max((each for each in ends if each < END_OF_TIME), default=self.watermark_ms)
        return outputs + self.advance_watermark(last)

    def advance_time(self, now_ms: int) -> list[Output]:
        """Advance processing time to `now_ms`: emit due early results."""
        outputs: list[Output] = []
        for _, due in self._time_timers.due(now_ms):
            for key, window in due:
                pane = self._pane(key, window)
                if pane is not None and pane.due_ms is not None and pane.due_ms <= now_ms:
                    self._fire(key, self._keys[key], pane, self._firing(pane), outputs)
        return outputs

    def next_time_ms(self) -> int | None:
        """The processing time at which `advance_time` has something to do."""
        return self._time_timers.next_ms()

    # --- results ------------------------------------------------------------------------------

    def _fire(
        self, key: Hashable, state: KeyState, pane: Pane, firing: Firing, outputs: list[Output]
    ) -> None:
        pane.unseen = 0
        if self._changed is not None:
            self._changed.add(key)
        if pane.due_ms is not None:
            self._time_timers.remove(pane.due_ms, (key, pane.window))
            pane.due_ms = None
        cells = self._cells_of(state, pane.window)
        if not cells:
            return  # all of it was shown and discarded
        accumulators = [state.cells[each] for each in cells]
        try:
            merged = self._merged(accumulators, self._assigner.is_sliced)
            value = self._aggregate.result(merged)
        except Exception as error:  # user code: its window fails, all others continue
            failed = tuple(state.cells.pop(each) for each in cells)
            outputs.append(Failed(key, pane.window, error, failed))
            return
        pane.firings += 1
        outputs.append(Result(key, pane.window, value, firing, pane.firings))
        if self._discards:
            outputs.extend(Dropped(state.cells.pop(each)) for each in cells)

    def _cells_of(self, state: KeyState, window: TimeWindow) -> list[TimeWindow]:
        if not self._assigner.is_sliced:
            return [window] if window in state.cells else []
        start, end = window
        return sorted(each for each in state.cells if start <= each.start_ms < end)

    def _merged(self, parts: list[Any], are_shared: bool = False) -> Any:
        """Merge accumulators; a new accumulator if the first is still needed by others."""
        merged, rest = (self._aggregate.create(), parts) if are_shared else (parts[0], parts[1:])
        for each in rest:
            merged = self._aggregate.merge(merged, each)
        return merged

    def _drop(self, key: Hashable, pane: Pane, outputs: list[Output]) -> None:
        state = self._keys[key]
        if self._changed is not None:
            self._changed.add(key)
        if pane.unseen:
            self._fire(key, state, pane, Firing.LATE, outputs)
        self._close(key, state, pane.window)
        outputs.extend(
            Dropped(state.cells.pop(cell))
            for cell in self._cells_of(state, pane.window)
            if self._assigner.last_end_ms(cell) <= pane.window.end_ms
        )
        self._forget_empty(key, state)

    # --- windows ------------------------------------------------------------------------------

    def _is_past(self, end_ms: int) -> bool:
        return self._drop_ms(end_ms) <= self.watermark_ms

    def _drop_ms(self, end_ms: int) -> int:
        return min(end_ms + self._lateness_ms, END_OF_TIME)

    def _state(self, key: Hashable) -> KeyState:
        state = self._keys.get(key)
        if state is None:
            state = self._keys[key] = KeyState()
        if self._changed is not None:
            self._changed.add(key)
        return state

    def _forget_empty(self, key: Hashable, state: KeyState) -> None:
        if not state.panes and not state.cells:
            self._keys.pop(key, None)

    def _open(self, key: Hashable, state: KeyState, window: TimeWindow) -> Pane:
        if self.open_windows >= self._windows_max:
            self._forget_empty(key, state)
            raise ComponentError(
                f"{self.open_windows} windows of keys are open, the limit: does the watermark"
                " advance, and do the keys repeat?"
            )
        self._opened += 1
        pane = state.panes[window] = Pane(window, self._opened)
        self._register(key, pane)
        return pane

    def _register(self, key: Hashable, pane: Pane) -> None:
        window = pane.window
        self.open_windows += 1
        if window.end_ms > self.watermark_ms and not pane.is_shown:
            self._event_timers.add(window.end_ms, (_FIRE, key, window))
        self._event_timers.add(self._drop_ms(window.end_ms), (_DROP, key, window))

    def _close(self, key: Hashable, state: KeyState, window: TimeWindow) -> Pane:
        pane = state.panes.pop(window)
        self.open_windows -= 1
        self._event_timers.remove(window.end_ms, (_FIRE, key, window))
        self._event_timers.remove(self._drop_ms(window.end_ms), (_DROP, key, window))
        if pane.due_ms is not None:
            self._time_timers.remove(pane.due_ms, (key, window))
        return pane

    # --- checkpoints --------------------------------------------------------------------------

    def _packed(self, key: Hashable) -> Packed:
        state, pack = self._keys[key], self._aggregate.pack
        panes = [pane.packed(self.watermark_ms) for pane in state.panes.values()]
        cells = [[*cell, pack(accumulator)] for cell, accumulator in state.cells.items()]
        return [panes, cells]

    def restore(self, watermark_ms: int, keys: Iterable[tuple[Hashable, Packed]]) -> None:
        """Restore the `changes` of one or several operators with equal settings; `watermark_ms`
        is the lowest of their watermarks."""
        for timers in (self._event_timers, self._time_timers):
            timers.clear()
        self._keys.clear()
        self._changed = set()
        self.open_windows = 0
        self.watermark_ms = self._shown_until_ms = watermark_ms
        for key, (panes, cells) in keys:
            self._restore_key(hashable(key), map(Pane.unpacked, panes), cells)

    def _restore_key(self, key: Hashable, panes: Iterable[Pane], cells: Iterable[Any]) -> None:
        state = self._keys[key] = KeyState()
        for pane in panes:
            state.panes[pane.window] = pane
            self._opened = max(self._opened, pane.number)
            if pane.is_shown:
                self._shown_until_ms = max(self._shown_until_ms, pane.window.end_ms)
            self._register(key, pane)
            if pane.due_ms is not None:
                self._show_at(key, pane, pane.due_ms)
        for start, end, packed in cells:
            state.cells[TimeWindow(start, end)] = self._aggregate.unpack(packed)
