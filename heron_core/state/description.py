"""What the folder of a checkpoint or a savepoint says about itself, and what a state holds.

A description names the tasks of each component, so whoever restores it needs no topology that runs;
a savepoint's also names the states. Nothing here opens a value: no user code is needed for it.
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
"""Of descriptions; one that is higher was written by a later version."""


_UNPACK_PLAIN = unpacker(pickles=False)
"""As an instance reads a state, but for pickles: there it raises."""
_NOT_SHOWN = (StateKind.DEADLINES, StateKind.WATERMARK)
"""They belong to other states."""


class SavedState(Struct, frozen=True):
    """A state by its name."""

    name: str
    """Empty for what is kept by Heron's put(key, value)."""
    kind: str


class SavedComponent(Struct, frozen=True):
    """A component as it was."""

    tasks: tuple[int, ...]
    """Sorted; as many as its parallelism was."""
    states: tuple[SavedState, ...] = ()
    """Of a savepoint: those that hold something."""


class Description(Struct, frozen=True, kw_only=True):
    """What is in a folder of states."""

    topology: str
    checkpoint: int
    at: float
    """When it was triggered, in seconds since 1970."""
    version: str
    """Of heronpy, which wrote it."""
    components: Mapping[str, SavedComponent]
    backend: str = MEMORY
    key_groups: int = KEY_GROUPS
    at_end: str = ""
    """The phase of the end in which it was taken; empty before that."""
    is_savepoint: bool = False
    """Whether the folder has all its files itself."""
    format: int = FORMAT


def description_from_json(value: Any, where: str) -> Description:
    """The description of the folder `where`; ProtocolError if it is none that can be read."""
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
    """The description of a checkpoint of a topology that runs by this plan."""
    # Late: it looks for the package's metadata in files, and most processes describe nothing.
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
    """What one state holds."""

    backend: str
    tables: tuple[TableId, ...]
    """Those that may hold something."""
    input_messages: int = 0
    """Input that its task had not processed."""

    @property
    def states(self) -> tuple[SavedState, ...]:
        """They as a user knows them."""
        shown = (each for each in self.tables if each.kind not in _NOT_SHOWN)
        return tuple(SavedState(each.name, each.kind.value) for each in shown)

    @property
    def may_be_divided(self) -> bool:
        """Whether keys divide it, as far as can be seen; an instance that begins with it looks."""
        plain = any(each.kind is StateKind.PLAIN for each in self.tables)
        keyed = any(each.kind is not StateKind.PLAIN for each in self.tables)
        return not plain or (keyed and self.backend != MEMORY)


def opens_pickles(state: bytes) -> bool:
    """Whether a state may have values that only pickle can carry: who opens those runs code of
    whoever has made it. What cannot be looked through, as RocksDB's files, may."""
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
    """What a state holds; StateError if it is none."""
    try:
        messages, _ = input_size(state)
        state, _ = decode_input(state)
        return replace(_contents_of(state), input_messages=messages)
    except (ValueError, TypeError, LookupError, msgpack.UnpackException) as error:
        raise StateError(f"{where} is not a state, or damaged: {error}") from None


def _contents_of(state: bytes) -> Contents:
    snapshot = decode_any(state)
    if snapshot.backend != MEMORY:
        # What there is stands in files, if there are any; whose it is only they say.
        is_empty = isinstance(state, FileSnapshot) and not state.files
        return Contents(snapshot.backend, () if is_empty else snapshot.tables)
    filled: set[str] = set()
    for chunk in snapshot.chunks:
        parts = msgpack.unpackb(chunk.data, strict_map_key=False)
        filled.update(name for name, changes in parts.items() if changes[0])
    return Contents(MEMORY, tuple(table for table in snapshot.tables if table.name in filled))
