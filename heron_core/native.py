"""Which hot path runs: the compiled one where `make native` has built it, or else the Python one.

HERONPY_NATIVE=0 turns the compiled one off. One that was built from another source than that of
this installation is left alone: the two would not understand each other.
"""

import os
import zlib
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from heron_core import hot_path

__all__ = [
    "HOT_PATH",
    "BufferRoom",
    "SharedAnchorState",
    "TupleBuffer",
    "bolt_emit",
    "each_its",
    "fold_acks",
    "fold_at_once",
    "fold_into_trees",
    "fold_runs",
    "made_rows",
    "own_anchors",
    "plain_packer",
    "run_anchors",
    "spout_emit",
    "whole_batch",
]

SWITCH = "HERONPY_NATIVE"
OFF = "0"
PYTHON, COMPILED = "Python", "compiled"
EXTENSION = "heron_core.hot_path_compiled"


def source_number() -> int:
    """A checksum of the source that the two have in common."""
    return zlib.crc32(Path(hot_path.__file__).read_bytes())


def _chosen() -> tuple[Any, str]:
    """The module that runs, and what `heronpy --version` says of it."""
    if os.environ.get(SWITCH) == OFF:
        return hot_path, PYTHON
    try:
        compiled: ModuleType = import_module(EXTENSION)
    except ImportError:
        return hot_path, PYTHON
    try:
        is_current = source_number() == compiled.SOURCE_NUMBER
    except OSError:  # nothing to compare it with, as in a zip file
        is_current = False
    if not is_current:
        return hot_path, f"{PYTHON}; the compiled one is of another version, build it again"
    return compiled, COMPILED


_module, HOT_PATH = _chosen()

if TYPE_CHECKING:
    from heron_core.hot_path import (
        BufferRoom,
        SharedAnchorState,
        TupleBuffer,
        bolt_emit,
        each_its,
        fold_acks,
        fold_at_once,
        fold_into_trees,
        fold_runs,
        made_rows,
        own_anchors,
        plain_packer,
        run_anchors,
        spout_emit,
        whole_batch,
    )
else:
    BufferRoom = _module.BufferRoom
    SharedAnchorState = _module.SharedAnchorState
    TupleBuffer = _module.TupleBuffer
    bolt_emit = _module.bolt_emit
    each_its = _module.each_its
    fold_acks = _module.fold_acks
    fold_at_once = _module.fold_at_once
    fold_into_trees = _module.fold_into_trees
    fold_runs = _module.fold_runs
    made_rows = _module.made_rows
    own_anchors = _module.own_anchors
    plain_packer = _module.plain_packer
    run_anchors = _module.run_anchors
    spout_emit = _module.spout_emit
    whole_batch = _module.whole_batch
