"""The choice of the hot path: compiled if installed or built, otherwise Python.

HERONPY_NATIVE=0 turns the compiled path off. Extensions built from other sources than the installed
sources are ignored, as both must agree. HOT_PATH names the chosen path, with the reason for Python.
"""

import os
import zlib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from heron_core import (
    hot_batches,
    hot_buffers,
    hot_columns,
    hot_emit,
    hot_messages,
    hot_path,
    hot_rows,
    hot_state,
    hot_tables,
    hot_trees,
)

__all__ = [
    "HOT_PATH",
    "BufferRoom",
    "ColumnKeys",
    "CurrentTuples",
    "FlatTable",
    "Forwarder",
    "KeyedState",
    "ListOfKey",
    "MapOfKey",
    "MemoryTable",
    "MessageQueue",
    "NestedTable",
    "OpenTrees",
    "ReducedOfKey",
    "RowCursor",
    "SharedAnchorState",
    "TimedTable",
    "TreeTable",
    "TupleBuffer",
    "TupleKey",
    "TupleKeys",
    "ValueOfKey",
    "anchored_emit",
    "are_empty",
    "are_plain_texts",
    "begun_frame",
    "bolt_emit",
    "bolt_emit_by_stream",
    "bolt_emit_to_several",
    "each_its",
    "edge_numbers",
    "fold_acks",
    "fold_at_once",
    "fold_runs",
    "join",
    "keep_memory",
    "keyed_process",
    "made_rows",
    "merged_data",
    "newest_root",
    "next_tuples",
    "own_anchors",
    "pending_ids",
    "plain_keys",
    "plain_packer",
    "put_tuple",
    "roots_item",
    "row_keys",
    "run_anchors",
    "settle_acked",
    "simple_tuples",
    "split_merged",
    "spout_emit",
    "spout_emit_by_stream",
    "spout_emit_to_several",
    "taken_batches",
    "time_root",
    "whole_batch",
    "whole_frame",
]

SWITCH = "HERONPY_NATIVE"
OFF = "0"
COMPILED = "compiled"
TURNED_OFF = f"Python: {SWITCH}={OFF} disables the compiled hot path"
NOT_BUILT = "Python: the extension is not built for this Python"
OF_ANOTHER_VERSION = "Python: the extension is of another version of the sources, build it again"
NOT_IMPORTED = "Python: the extension cannot be imported: "
MODULES: tuple[ModuleType, ...] = (
    hot_buffers, hot_path, hot_trees, hot_emit, hot_messages, hot_rows, hot_batches, hot_tables,
    hot_state, hot_columns,
)  # fmt: skip
"""Modules with an extension; an extension imports classes of earlier modules alone."""


def extension(module: ModuleType) -> str:
    """Name of the compiled form of one of MODULES."""
    return f"{module.__name__}_compiled"


def source_numbers() -> list[int]:
    """For each of MODULES a checksum of the module's source and of the compiler's other input."""
    sources = [Path(each.__file__ or "") for each in MODULES]
    declared = sorted(
        each for end in ("h", "pxd") for each in sources[0].parent.glob(f"hot_*.{end}")
    )
    shared = zlib.crc32(b"".join(each.read_bytes() for each in declared))
    return [zlib.crc32(each.read_bytes(), shared) for each in sources]


def _chosen() -> tuple[tuple[Any, ...], str]:
    """The chosen modules, and the text of HOT_PATH."""
    if os.environ.get(SWITCH) == OFF:
        return MODULES, TURNED_OFF
    try:
        compiled = tuple(import_module(extension(each)) for each in MODULES)
    # An extension of another compiler, library or Cython may raise any exception.
    except Exception as error:
        return MODULES, _import_failure(error)
    try:
        is_current = [each.SOURCE_NUMBER for each in compiled] == source_numbers()
    except OSError:  # without sources to compare, as in a zip file
        is_current = False
    return (compiled, COMPILED) if is_current else (MODULES, OF_ANOTHER_VERSION)


def _import_failure(error: Exception) -> str:
    names = set(map(extension, MODULES))
    if isinstance(error, ModuleNotFoundError) and error.name in names:
        return NOT_BUILT
    text = " ".join(str(error).split())
    return f"{NOT_IMPORTED}{text or type(error).__name__}"


(
    (_buffers, _path, _trees, _emit, _messages, _rows, _batches, _tables, _state, _columns),
    HOT_PATH,
) = _chosen()

if TYPE_CHECKING:
    from heron_core.hot_batches import join
    from heron_core.hot_buffers import (
        BufferRoom,
        TupleBuffer,
        are_empty,
        edge_numbers,
        plain_packer,
        put_tuple,
        simple_tuples,
        taken_batches,
    )
    from heron_core.hot_columns import ColumnKeys, are_plain_texts
    from heron_core.hot_emit import (
        anchored_emit,
        bolt_emit,
        bolt_emit_by_stream,
        bolt_emit_to_several,
        plain_keys,
        spout_emit,
        spout_emit_by_stream,
        spout_emit_to_several,
    )
    from heron_core.hot_messages import (
        Forwarder,
        MessageQueue,
        begun_frame,
        keep_memory,
        merged_data,
        split_merged,
        whole_frame,
    )
    from heron_core.hot_path import (
        SharedAnchorState,
        each_its,
        fold_acks,
        fold_at_once,
        fold_runs,
        made_rows,
        own_anchors,
        roots_item,
        run_anchors,
        whole_batch,
    )
    from heron_core.hot_rows import CurrentTuples, RowCursor, row_keys
    from heron_core.hot_state import (
        KeyedState,
        ListOfKey,
        MapOfKey,
        ReducedOfKey,
        TupleKey,
        TupleKeys,
        ValueOfKey,
        keyed_process,
    )
    from heron_core.hot_tables import FlatTable, MemoryTable, NestedTable, TimedTable
    from heron_core.hot_trees import (
        OpenTrees,
        TreeTable,
        newest_root,
        next_tuples,
        pending_ids,
        settle_acked,
        time_root,
    )
else:
    join = _batches.join
    ColumnKeys = _columns.ColumnKeys
    are_plain_texts = _columns.are_plain_texts
    BufferRoom = _buffers.BufferRoom
    TupleBuffer = _buffers.TupleBuffer
    anchored_emit = _emit.anchored_emit
    bolt_emit = _emit.bolt_emit
    bolt_emit_by_stream = _emit.bolt_emit_by_stream
    bolt_emit_to_several = _emit.bolt_emit_to_several
    plain_keys = _emit.plain_keys
    are_empty = _buffers.are_empty
    plain_packer = _buffers.plain_packer
    put_tuple = _buffers.put_tuple
    edge_numbers = _buffers.edge_numbers
    simple_tuples = _buffers.simple_tuples
    taken_batches = _buffers.taken_batches
    spout_emit = _emit.spout_emit
    spout_emit_by_stream = _emit.spout_emit_by_stream
    spout_emit_to_several = _emit.spout_emit_to_several
    Forwarder = _messages.Forwarder
    MessageQueue = _messages.MessageQueue
    OpenTrees = _trees.OpenTrees
    TreeTable = _trees.TreeTable
    newest_root = _trees.newest_root
    next_tuples = _trees.next_tuples
    pending_ids = _trees.pending_ids
    settle_acked = _trees.settle_acked
    time_root = _trees.time_root
    begun_frame = _messages.begun_frame
    keep_memory = _messages.keep_memory
    merged_data = _messages.merged_data
    split_merged = _messages.split_merged
    whole_frame = _messages.whole_frame
    SharedAnchorState = _path.SharedAnchorState
    each_its = _path.each_its
    fold_acks = _path.fold_acks
    fold_at_once = _path.fold_at_once
    fold_runs = _path.fold_runs
    made_rows = _path.made_rows
    own_anchors = _path.own_anchors
    roots_item = _path.roots_item
    run_anchors = _path.run_anchors
    whole_batch = _path.whole_batch
    CurrentTuples = _rows.CurrentTuples
    RowCursor = _rows.RowCursor
    row_keys = _rows.row_keys
    FlatTable = _tables.FlatTable
    MemoryTable = _tables.MemoryTable
    KeyedState = _state.KeyedState
    ListOfKey = _state.ListOfKey
    MapOfKey = _state.MapOfKey
    NestedTable = _tables.NestedTable
    TimedTable = _tables.TimedTable
    ReducedOfKey = _state.ReducedOfKey
    TupleKey = _state.TupleKey
    TupleKeys = _state.TupleKeys
    ValueOfKey = _state.ValueOfKey
    keyed_process = _state.keyed_process
