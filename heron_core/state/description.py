"""Description of the folder of a checkpoint or a savepoint, and of the contents of one state.

A description names the tasks of each component, so a restore needs no running topology; the
description of a savepoint also names the states. Nothing here opens a value: no user code is
needed.
"""

from collections.abc import Mapping
from typing import Any

import msgpack
from msgspec import Struct

from heron_core import config as keys
from heron_core.errors import ProtocolError, StateError
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.state.file_snapshot import FileSnapshot
from heron_core.state.keys import KEY_GROUPS
from heron_core.state.memory import MEMORY
from heron_core.state.protocol import StateKind, TableId
from heron_core.state.saved_input import decode_input, input_size
from heron_core.state.snapshot import decode_any
from heron_core.topology import TopologySpec
from heron_core.typed_json import from_json
from heron_core.wire.values import unpacker

FORMAT = 1
"""Format of descriptions; a description with a higher one was written by a later version."""


_UNPACK_PLAIN = unpacker(pickles=False)
"""Unpacks values as an instance does when it reads a state, but raises for pickles."""
_NOT_SHOWN = (StateKind.DEADLINES, StateKind.WATERMARK)
"""Kinds of tables with data of other states."""


class SavedState(Struct, frozen=True):
    """Name and kind of a state."""

    name: str
    """Name of the state; empty for the entries of Heron's put(key, value)."""
    kind: str


class SavedComponent(Struct, frozen=True):
    """Tasks and states of a component at the time of the checkpoint."""

    tasks: tuple[int, ...]
    """Sorted task ids; the parallelism is their number."""
    states: tuple[SavedState, ...] = ()
    """In a savepoint: the states that have entries."""


class Description(Struct, frozen=True, kw_only=True):
    """Contents of a folder of states."""

    topology: str
    checkpoint: int
    at: float
    """Time of the trigger in seconds since 1970."""
    version: str
    """Version of heronpy that wrote the folder."""
    components: Mapping[str, SavedComponent]
    backend: str = MEMORY
    key_groups: int = KEY_GROUPS
    at_end: str = ""
    """Phase of the end of the topology in which the checkpoint was taken; empty before the end."""
    is_savepoint: bool = False
    """Whether the folder itself has all its files."""
    format: int = FORMAT


def description_from_json(value: Any, where: str) -> Description:
    """Description of the folder `where`; ProtocolError if the value is no readable description."""
    found = value.get("format", 0) if isinstance(value, dict) else 0
    if isinstance(found, int) and found > FORMAT:
        version = value.get("version", "a later one")
        raise ProtocolError(
            f"{where} was written by heronpy {version} in format {found}, but this heronpy reads "
            f"format {FORMAT}: use version {version}"
        )
    return from_json(Description, value, f"the description of {where}")


def description_of(
    topology: TopologySpec, packing: PackingPlan, checkpoint: int, at: float
) -> Description:
    """Description of a checkpoint of a topology with this packing."""
    # A late import: it reads the package's metadata from files, and most processes describe
    # nothing.
    from heron_core.version import version_of_heronpy

    return Description(
        topology=topology.name,
        checkpoint=checkpoint,
        at=at,
        version=version_of_heronpy(),
        components={name: SavedComponent(tuple(tasks)) for name, tasks in packing.tasks_of.items()},
        backend=keys.state_backend(keys.with_defaults(topology.config)),
    )


class Contents(Struct, frozen=True):
    """Contents of one state."""

    backend: str
    tables: tuple[TableId, ...]
    """Tables that may have entries."""
    input_messages: int = 0
    """Number of input messages that the task had not processed."""

    @property
    def states(self) -> tuple[SavedState, ...]:
        """The states by the user's names."""
        shown = (each for each in self.tables if each.kind not in _NOT_SHOWN)
        return tuple(SavedState(each.name, each.kind.value) for each in shown)

    @property
    def may_be_divided(self) -> bool:
        """Whether keys divide the state, as far as visible; an instance checks at its restore."""
        plain = any(each.kind is StateKind.PLAIN for each in self.tables)
        keyed = any(each.kind is not StateKind.PLAIN for each in self.tables)
        return not plain or (keyed and self.backend != MEMORY)


def opens_pickles(state: bytes) -> bool:
    """Whether a state may have values that only pickle can carry. Opening a pickle runs code of the
    state's author. A state with values that cannot be read here, such as RocksDB's files, counts as
    having pickles.
    """
    try:
        state, saved = decode_input(state)
        if saved.messages:  # whose values are not looked through
            return True
        snapshot = decode_any(state)
        if snapshot.backend != MEMORY:
            return isinstance(state, FileSnapshot) and bool(state.files)
        for chunk in snapshot.chunks:
            _UNPACK_PLAIN(chunk.data)
    except Exception:
        return True
    return False


def contents_of(state: bytes, where: str) -> Contents:
    """Contents of the state of bytes `state`; StateError if the bytes are no state."""
    try:
        messages, _ = input_size(state)
        state, _ = decode_input(state)
        return replace(_contents_of(state), input_messages=messages)
    except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
        raise StateError(f"{where} is not a state, or damaged: {error}") from None


def _contents_of(state: bytes) -> Contents:
    snapshot = decode_any(state)
    if snapshot.backend != MEMORY:
        # RocksDB keeps the content in files, if present; only the files know the owner.
        is_empty = isinstance(state, FileSnapshot) and not state.files
        return Contents(snapshot.backend, () if is_empty else snapshot.tables)
    filled: set[str] = set()
    for chunk in snapshot.chunks:
        parts = msgpack.unpackb(chunk.data, strict_map_key=False)
        filled.update(name for name, changes in parts.items() if changes[0])
    return Contents(MEMORY, tuple(table for table in snapshot.tables if table.name in filled))
