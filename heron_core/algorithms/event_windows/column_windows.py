"""ColumnWindows: what WindowOperator does with events, with record batches; Arrow does the work.

Rows are aggregated by slice and key when they come, and the slices of a window by key when it is
complete. Nothing is done row by row or key by key, except for a checkpoint: what is saved of a key
is saved as by WindowOperator, so that instances can divide the keys among them.

What is kept: for each slice, tables with a row for each key (at most PARTS_MAX of them, then they
become one), until the watermark passes the end of its last window and the allowed lateness; at most
ROWS_MAX rows of all slices.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heron_core.algorithms.event_windows.assigners import Sliding, Tumbling, checked_ms
from heron_core.algorithms.event_windows.changes import OperatorChanges, Packed
from heron_core.algorithms.event_windows.column_aggregates import Aggregates, kept_columns
from heron_core.algorithms.event_windows.column_groups import (
    SLICE,
    by_slice,
    keys_of,
    merged,
    parts_of,
    slice_starts,
)
from heron_core.algorithms.event_windows.panes import hashable
from heron_core.algorithms.event_windows.timers import Timers
from heron_core.algorithms.event_windows.values import (
    END_OF_TIME,
    NO_WATERMARK,
    Dropped,
    Firing,
    Output,
    Result,
    TimeWindow,
)
from heron_core.errors import ComponentError

PARTS_MAX = 16
"""Tables per slice before a merge: frequent merges cost time, many tables memory."""
ROWS_MAX = 10_000_000
"""About 400 MB of three numbers each. More is a watermark that stands still, or a key that is
different for each event."""

_FIRE, _DROP = 0, 1
_Key = tuple[Any, ...]


@dataclass(slots=True)
class Slice:
    """The rows of one slice."""

    parts: list[pa.Table] = field(default_factory=list)
    retained: list[Any] = field(default_factory=list)
    """Batches released with the slice, which wait for their acks."""


class ColumnWindows:
    """Windows of one kind, for a WindowRunner; the value of a Result is (parts, retained
    batches)."""

    def __init__(
        self, assigner: Tumbling | Sliding, aggregates: Aggregates, *, lateness_ms: int = 0
    ) -> None:
        self._assigner = assigner
        self._kept = kept_columns(aggregates)
        self._lateness_ms = checked_ms("the allowed lateness", lateness_ms, 0)
        self._slices: dict[int, Slice] = {}
        self._timers = Timers()
        self._touched: list[pa.Table] | None = None
        """Parts whose keys have changed since `changes`; None: all have."""
        self._shown: dict[_Key, int] = {}
        """For keys migrated from another instance: the time up to which their windows were
        emitted, if after the watermark."""
        self._shown_so_far: set[TimeWindow] = set()
        """Windows emitted on idle input, without rows since."""
        self.rows = 0
        """Of the parts of all slices."""
        self.watermark_ms = NO_WATERMARK

    @property
    def columns(self) -> set[str]:
        """Columns of the aggregated rows."""
        return {each.column for each in self._kept if each.column is not None}

    @property
    def open_windows(self) -> int:
        """0 without open windows."""
        return len(self._slices)

    # --- rows -------------------------------------------------------------------------------------

    def starts(self, times: pa.Array) -> tuple[pa.Array, pa.Array | None]:
        """The slice of each row, and the late rows; None without late rows."""
        starts = slice_starts(self._assigner, times)
        late = [each for each in pc.unique(starts).to_pylist() if self._is_past(each)]
        return starts, pc.is_in(starts, value_set=pa.array(late, pa.int64())) if late else None

    def add(
        self,
        keys: Sequence[Any],
        values: Mapping[str, Any],
        starts: pa.Array,
        retained: Sequence[Any],
    ) -> list[Output]:
        """Add rows in time; `retained` is released after the last result of the rows."""
        columns = [(each, values.get(each.column or "")) for each in self._kept]
        late: dict[TimeWindow, list[pa.Table]] = {}
        for start, part in by_slice(parts_of(keys, columns, starts)):
            self._add_to_slice(start, part, retained)
            self._shown_so_far.difference_update(self._assigner.windows(start))
            for window in self._assigner.windows(start):
                if window.end_ms <= self.watermark_ms < self._drop_ms(window.end_ms):
                    late.setdefault(window, []).append(part)
                elif self._shown:
                    late.setdefault(window, []).append(self._of_shown(part, window.end_ms))
        outputs: list[Output] = []
        for window in sorted(late):
            keys_there = {key for part in late[window] for key in keys_of(part)}
            if keys_there:
                self._fire(window, outputs, keys_there)
        return outputs

    def _add_to_slice(self, start: int, part: pa.Table, retained: Sequence[Any]) -> None:
        if self.rows + part.num_rows > ROWS_MAX:
            raise ComponentError(
                f"{self.rows} rows of keys and windows are open, and {ROWS_MAX} are the limit: does"
                " the watermark advance, and do the keys repeat?"
            )
        if start not in self._slices:
            self._open(start)
        window_slice = self._slices[start]
        window_slice.parts.append(part)
        window_slice.retained.extend(retained)
        self.rows += part.num_rows
        self._touch(part)
        if len(window_slice.parts) >= PARTS_MAX:
            self._merge(window_slice)

    def _merge(self, window_slice: Slice) -> pa.Table:
        """The slice's parts, merged into one."""
        self.rows -= sum(each.num_rows for each in window_slice.parts)
        window_slice.parts = [merged(window_slice.parts, self._kept)]
        self.rows += window_slice.parts[0].num_rows
        return window_slice.parts[0]

    def _open(self, start: int) -> None:
        self._slices[start] = Slice()
        for window in self._assigner.windows(start):
            if window.end_ms > self.watermark_ms:
                self._timers.add(window.end_ms, (_FIRE, window))
        self._timers.add(self._last_drop_ms(start), (_DROP, start))

    def _is_past(self, start: int) -> bool:
        return self._last_drop_ms(start) <= self.watermark_ms

    def _last_drop_ms(self, start: int) -> int:
        """When a slice is dropped: with the last of its windows."""
        return self._drop_ms(self._assigner.last_end_ms(self._assigner.cell(start)))

    def _drop_ms(self, end_ms: int) -> int:
        return min(end_ms + self._lateness_ms, END_OF_TIME)

    # --- time -------------------------------------------------------------------------------------

    def advance_watermark(self, watermark_ms: int) -> list[Output]:
        """No row below `watermark_ms` is expected any more; a lower one is ignored."""
        outputs: list[Output] = []
        if watermark_ms > self.watermark_ms:
            self.watermark_ms = watermark_ms
            self._show_until(watermark_ms, outputs)
            if self._shown:
                shown = self._shown.items()
                self._shown = {key: end for key, end in shown if end > watermark_ms}
        return outputs

    def _show_until(self, end_ms: int, outputs: list[Output]) -> None:
        for _, due in self._timers.due(end_ms):
            for what, which in sorted(due):
                if what == _FIRE:
                    if which not in self._shown_so_far:
                        self._fire(which, outputs)
                    self._shown_so_far.discard(which)
                else:
                    outputs.append(self._drop(which))

    def advance_time(self, now_ms: int) -> list[Output]:
        """Empty: no timers in processing time."""
        return []

    def finish(self) -> list[Output]:
        """The end of the input: every window is complete."""
        return self.advance_watermark(END_OF_TIME)

    def show_open(self) -> list[Output]:
        """Like WindowOperator: a replay of failed rows opens their windows again."""
        outputs: list[Output] = []
        self._show_until(END_OF_TIME, outputs)
        return outputs

    def show_so_far(self) -> list[Output]:
        """As of WindowOperator."""
        outputs: list[Output] = []
        windows = {each for start in self._slices for each in self._assigner.windows(start)}
        for window in sorted(windows - self._shown_so_far):
            if window.end_ms > self.watermark_ms:
                self._fire(window, outputs)
                self._shown_so_far.add(window)
        return outputs

    def release(self) -> list[Any]:
        """Remove and return the retained batches, once per slice."""
        released = [retained for each in self._slices.values() for retained in each.retained]
        for each in self._slices.values():
            each.retained = []
        return released

    def drop_retained(self) -> list[Any]:
        """Drop the slices with retained batches, whose rows will be replayed; returns the
        batches, once per slice."""
        dropped: list[Any] = []
        for start in [start for start, each in self._slices.items() if each.retained]:
            self._timers.remove(self._last_drop_ms(start), (_DROP, start))
            _, retained = self._drop(start).accumulator
            dropped += retained
        return dropped

    def complete_open(self) -> list[Output]:
        """Complete the open windows; later rows for them are late."""
        last = self._timers.last_ms()
        return [] if last is None else self.advance_watermark(last)

    # --- results ----------------------------------------------------------------------------------

    def _fire(
        self, window: TimeWindow, outputs: list[Output], only: set[_Key] | None = None
    ) -> None:
        """The window's result, for all keys or for keys not emitted by another instance."""
        starts = [each for each in sorted(self._slices) if window.start_ms <= each < window.end_ms]
        if not starts:
            return
        tables = [part for each in starts for part in self._slices[each].parts]
        parts = merged(tables, self._kept)
        if only is not None:
            parts = _chosen(parts, [key in only for key in keys_of(parts)])
        elif self._shown:
            shown = [self._shown.get(key, NO_WATERMARK) for key in keys_of(parts)]
            parts = _chosen(parts, [each < window.end_ms for each in shown])
        if parts.num_rows:
            self._touch(parts)
            retained = [each for start in starts for each in self._slices[start].retained]
            firing = Firing.ON_TIME if only is None else Firing.LATE
            outputs.append(Result(None, window, (parts, retained), firing, 1))

    def _of_shown(self, part: pa.Table, end_ms: int) -> pa.Table:
        """The rows whose key's windows up to `end_ms` were shown by another instance."""
        shown = [self._shown.get(key, NO_WATERMARK) for key in keys_of(part)]
        return _chosen(part, [each >= end_ms for each in shown])

    def _drop(self, start: int) -> Dropped:
        found = self._slices.pop(start)
        for part in found.parts:
            self.rows -= part.num_rows
            self._touch(part)
        return Dropped((None, found.retained))

    # --- checkpoints ------------------------------------------------------------------------------

    def _touch(self, part: pa.Table) -> None:
        if self._touched is not None:
            self._touched.append(part)

    def changes(self) -> OperatorChanges:
        """What is kept of each key that has changed since the last call, the first time of all."""
        is_all = self._touched is None
        changed = {key for part in self._touched or () for key in keys_of(part)}
        packed: dict[Hashable, Packed | None] = dict.fromkeys(changed)
        for start, window_slice in self._slices.items():
            parts = self._merge(window_slice)
            for key, values in zip(keys_of(parts), _kept_of(parts), strict=True):
                if is_all or key in changed:
                    kept = packed.get(key)
                    if kept is None:
                        kept = packed[key] = [self._shown.get(key, self.watermark_ms), []]
                    kept[1].append([start, *values])
        self._touched = []
        return OperatorChanges(is_all, packed)

    def forget_changes(self) -> None:
        """A save of `changes` has failed: the next save is a full one."""
        self._touched = None

    def restore(self, watermark_ms: int, keys: Iterable[tuple[Hashable, Packed]]) -> None:
        """Restore the `changes` of one or several instances; `watermark_ms` is the lowest of
        their watermarks."""
        self._slices.clear()
        self._timers.clear()
        self._shown.clear()
        self.rows, self.watermark_ms = 0, watermark_ms
        rows: list[Any] = []
        for packed_key, (shown_ms, kept) in keys:
            key: Any = hashable(packed_key)
            if shown_ms > watermark_ms:
                self._shown[key] = shown_ms
            rows.extend([start, *key, *values] for start, *values in kept)
        if rows:
            self._restore_rows(rows)
        self._touched = []

    def _restore_rows(self, rows: list[Any]) -> None:
        columns = list(map(list, zip(*rows, strict=True)))
        keys = len(columns) - 1 - len(self._kept)
        names = [f"k{at}" for at in range(keys)] + [f"a{at}" for at in range(len(self._kept))]
        table = pa.table(dict(zip([SLICE, *names], columns, strict=True)))
        for start, part in by_slice(table):
            self._add_to_slice(start, part, ())


def _chosen(parts: pa.Table, which: list[bool]) -> pa.Table:
    return parts.filter(pa.array(which, pa.bool_()))


def _kept_of(parts: pa.Table) -> list[Any]:
    columns = [parts[each].to_pylist() for each in parts.column_names if each[0] == "a"]
    return list(zip(*columns, strict=True))
