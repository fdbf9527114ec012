"""Rows of Arrow by key and slice: which slice a row is in, and aggregates of groups of rows.

A table of *parts* has a row for each group: columns `k0`, `k1`, … are the key, `a0`, `a1`, … what
is kept of the group's rows. Parts of the same group are merged by grouping them once more.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heron_core.algorithms.event_windows.assigners import Sliding, Tumbling
from heron_core.algorithms.event_windows.column_aggregates import (
    MERGED_BY,
    ROWS,
    Aggregates,
    KeptColumn,
)

SLICE = "slice"
"""The column with the beginning of a row's slice."""


def results(aggregates: Aggregates, parts: pa.Table) -> dict[str, Any]:
    """Result columns of complete parts."""
    kept = iter(parts.select(_names("a", parts)).columns)
    found: dict[str, Any] = {}
    for name, what in aggregates.items():
        if what == ROWS or what[1] != "mean":
            found[name] = next(kept)
        else:
            found[name] = pc.divide(next(kept).cast(pa.float64()), next(kept).cast(pa.float64()))
    return found


def parts_of(
    keys: Sequence[Any], kept: Sequence[tuple[KeptColumn, Any]], starts: pa.Array
) -> pa.Table:
    """Of rows, by slice and key; the slice's column comes first. `kept`: with their values."""
    columns = {SLICE: starts} | {f"k{at}": each for at, each in enumerate(keys)}
    by = list(columns)
    for at, (_, values) in enumerate(kept):
        columns[f"a{at}"] = starts if values is None else values
    functions = [each.function for each, _ in kept]
    return _grouped(pa.table(columns), by, functions)


def merged(tables: Sequence[pa.Table], kept: Sequence[KeptColumn]) -> pa.Table:
    """One row per key, merged from parts with several."""
    if len(tables) == 1:
        return tables[0]
    # A stream without types has columns as Arrow infers them, batch by batch.
    table = pa.concat_tables(tables, promote_options="permissive")
    return _grouped(table, _names("k", table), [MERGED_BY[each.function] for each in kept])


def _grouped(table: pa.Table, by: list[str], functions: Sequence[str]) -> pa.Table:
    wanted = [(f"a{at}", function) for at, function in enumerate(functions)]
    found = table.group_by(by, use_threads=False).aggregate(wanted)
    columns = {name: found[name] for name in by}
    return pa.table(columns | {name: found[f"{name}_{function}"] for name, function in wanted})


def by_slice(parts: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Start of each slice, and the slice's parts."""
    ordered, at = parts.sort_by(SLICE), 0
    for each in ordered[SLICE].value_counts().to_pylist():
        yield each["values"], ordered.slice(at, each["counts"]).drop_columns([SLICE])
        at += each["counts"]


def keys_of(parts: pa.Table) -> list[tuple[Any, ...]]:
    """The key of each row."""
    columns = [each.to_pylist() for each in parts.select(_names("k", parts)).columns]
    return list(zip(*columns, strict=True)) if columns else [()] * parts.num_rows


def slice_starts(assigner: Tumbling | Sliding, times: pa.Array) -> pa.Array:
    """Where the slice begins that the assigner has for each time."""
    if isinstance(assigner, Tumbling):
        return _rounded_down(times, assigner.length_ms, assigner.offset_ms)
    starts = _rounded_down(times, assigner.slide_ms, assigner.offset_ms)
    cuts = pc.add(starts, assigner.length_ms % assigner.slide_ms)
    return pc.if_else(pc.less(times, cuts), starts, cuts)


def _rounded_down(times: pa.Array, by: int, offset: int) -> pa.Array:
    moved = pc.subtract(times, offset)
    # Arrow divides towards zero, and times before 1970 are below it.
    rest = pc.subtract(moved, pc.multiply(pc.divide(moved, by), by))
    return pc.subtract(times, pc.if_else(pc.less(rest, 0), pc.add(rest, by), rest))


def _names(letter: str, parts: pa.Table) -> list[str]:
    return [each for each in parts.column_names if each[0] == letter]
