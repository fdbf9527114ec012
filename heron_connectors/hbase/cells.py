"""Rows of HBase: the key and the cells of a tuple, as bytes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.errors import problem_with

KEY_BYTES_MAX = 32_767
"""HBase's own limit (HConstants.MAX_ROW_LENGTH): a longer key would block its whole commit."""
CELL_BYTES_MAX = 10 * 1024 * 1024
"""HBase's default of hbase.client.keyvalue.maxsize and hbase.server.keyvalue.maxsize, key
included."""
CELL_OVERHEAD_BYTES = 64
"""Lengths, timestamp and type of a cell, included in the limit."""

Cells = dict[bytes, bytes]
"""family:qualifier -> value."""
Row = tuple[bytes, Cells]


def cell_bytes(value: Any) -> bytes:
    """Text as UTF-8, bytes unchanged, the rest as JSON. ValueError for a value without JSON."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    try:
        return json.dumps(value, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"no JSON: {error}") from None


def row_key(values: Mapping[str, Any], fields: Sequence[str], separator: str) -> bytes:
    """The values of the fields, joined by the separator. ValueError for an empty key, and for an
    ambiguous key."""
    parts = []
    for at, name in enumerate(fields):
        value = values[name]
        if value is None:
            raise ValueError(problem_with(name, value, "a row's key needs a value"))
        part = cell_bytes(value)
        if at < len(fields) - 1 and separator.encode() in part:
            raise ValueError(problem_with(name, value, f"the key's separator is {separator!r}"))
        parts.append(part)
    key = separator.encode().join(parts)
    if not 0 < len(key) <= KEY_BYTES_MAX:
        raise ValueError(f"a row's key of {len(key)} bytes, not of 1 to {KEY_BYTES_MAX}")
    return key


def cells_of(values: Mapping[str, Any], family: str, key: bytes) -> Cells:
    """A cell for each value except None. ValueError for a value outside of HBase's limits, or for a
    tuple without cells."""
    cells = {}
    for name, value in values.items():
        if value is None:
            continue
        column, data = f"{family}:{name}".encode(), cell_bytes(value)
        if len(key) + len(column) + len(data) + CELL_OVERHEAD_BYTES > CELL_BYTES_MAX:
            why = f"a cell of {len(data)} bytes; HBase takes {CELL_BYTES_MAX}"
            raise ValueError(problem_with(name, data[:20], why))
        cells[column] = data
    if not cells:
        raise ValueError("a row without a value besides its key")
    return cells


def merged(rows: Sequence[Row]) -> dict[bytes, Cells]:
    """One row for each key, with its last cells: cells of one timestamp have no order."""
    found: dict[bytes, Cells] = {}
    for key, cells in rows:
        found.setdefault(key, {}).update(cells)
    return found
