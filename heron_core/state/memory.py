"""The state backend that keeps everything in dicts, and saves what has changed.

A snapshot is a row of chunks: first one with everything, then one for each later snapshot with the
entries that have changed since. It is complete by itself, and its cost is that of packing the
changes (60 ns an entry). A full one comes again when the changes have grown as large as what they
change, or are many. A large chunk is a file of the snapshot, so a checkpoint store writes it once
and keeps it as long as a checkpoint has it.

What has changed is noted together with its new value, so that a snapshot looks nothing up again:
in a large table that takes longer than anything else. Nothing is noted before the first snapshot,
so a topology without checkpoints pays for none. A value that can change in place (a list, a dict,
an object) counts as changed whenever it was read: user code may have changed it without putting it
back.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from heron_core.errors import StateError
from heron_core.state.codec import StateCodec
from heron_core.state.file_snapshot import DeferredSnapshot, FileSnapshot, StateBytes, digest_of
from heron_core.state.protocol import ABSENT, StateKind, StateTable, TableId
from heron_core.state.snapshot import (
    Chunk,
    Snapshot,
    TableChanges,
    decode,
    encode,
    pack_chunk,
    unpack_chunk,
)

MEMORY = "memory"
CHUNKS_MAX = 20
"""A restore reads all of them, and an entry that changes all the time is in each."""
FILE_BYTES_MIN = 64 * 1024
"""A smaller chunk stands in the bytes of each snapshot: a file of its own costs as much as writing
so many bytes again."""
NAME_BYTES = 8
"""Of chance in a file's name: two chunks of equal content are two files, so that one is never
written in time for a checkpoint while the other is removed with the last one that has it."""
CHANGED_MIN = 1000
"""So many changed entries are noted one by one, however few there are; far more than there are
entries is keys that came and went, and then everything is saved."""

_IMMUTABLE: frozenset[type] = frozenset(
    {int, float, str, bytes, bool, type(None), complex, frozenset}
)
"""Exact types whose values cannot change in place. A tuple may hold a list."""


class FlatTable:
    """One entry for a key: (key, None) -> value."""

    def __init__(self, table_id: TableId, codec: StateCodec) -> None:
        self.id = table_id
        self._codec = codec
        self._entries: dict[Any, Any] = {}
        self._changed: dict[Any, Any] | None = None
        """key -> value or ABSENT, in the order of their first change; None: everything is new
        since the last snapshot."""
        self._kinds: set[type] = set(_IMMUTABLE)
        """Types of which a value could be packed."""
        self._mutable: set[Any] | None = set() if table_id.kind is StateKind.PLAIN else None
        """Keys of values that user code may hold on to and change at any time."""

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        value = self._entries.get(key, ABSENT)
        if type(value) not in _IMMUTABLE and self._changed is not None and value is not ABSENT:
            self._changed[key] = value
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        if self._mutable is not None:
            # Heron's components may put what cannot be saved, as long as nobody saves it.
            (self._mutable.discard if type(value) in _IMMUTABLE else self._mutable.add)(key)
        elif type(value) not in self._kinds:
            self._codec.pack_value(value, self.id.name, key)
            self._kinds.add(type(value))
        self._entries[key] = value
        if self._changed is not None:
            self._changed[key] = value

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        if self._entries.pop(key, ABSENT) is ABSENT:
            return
        if self._mutable is not None:
            self._mutable.discard(key)
        if self._changed is not None:
            self._changed[key] = ABSENT
            if len(self._changed) > len(self._entries) + CHANGED_MIN:
                self._changed = None

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        value = self.get(key)
        return [] if value is ABSENT else [(None, value)]

    def last(self, key: Any) -> Any:
        """See StateTable; there is no list here."""
        return None

    def all_keys(self) -> Iterator[Any]:
        """See StateTable."""
        return iter(list(self._entries))

    def clear(self) -> None:
        """See StateTable."""
        self._entries.clear()
        self._changed = None
        if self._mutable is not None:
            self._mutable.clear()

    def size(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    @property
    def changed(self) -> int | None:
        """How many entries have changed since the last snapshot; None for all."""
        if self._changed is None:
            return None
        return len(self._changed) + len(self._mutable or ())

    def everything(self) -> TableChanges:
        """All entries."""
        return TableChanges(list(self._entries), None, list(self._entries.values()), [], None)

    def changes(self) -> TableChanges:
        """The entries that have changed since the last snapshot."""
        changed = self._changed or {}
        if self._mutable:
            changed = {**changed, **{key: self._entries[key] for key in self._mutable}}
        keys, values, gone = _sorted_out(changed)
        return TableChanges(keys, None, values, gone, None)

    def saved(self) -> None:
        """Changes are noted from here on."""
        self._changed = {}

    def apply(self, changes: TableChanges) -> None:
        """Take over what a chunk says."""
        for key in changes.removed:
            self._entries.pop(key, None)
        self._entries.update(zip(changes.keys, changes.values, strict=True))
        if self._mutable is not None:
            self._mutable = {
                key for key, value in self._entries.items() if type(value) not in _IMMUTABLE
            }


class NestedTable:
    """Many entries for a key: (key, sub) -> value."""

    def __init__(self, table_id: TableId, codec: StateCodec) -> None:
        self.id = table_id
        self._codec = codec
        self._entries: dict[Any, dict[Any, Any]] = {}
        self._size = 0
        self._changed: dict[tuple[Any, Any], Any] | None = None
        self._kinds: set[type] = set(_IMMUTABLE)

    def get(self, key: Any, sub: Any = None) -> Any:
        """See StateTable."""
        entries = self._entries.get(key)
        value = ABSENT if entries is None else entries.get(sub, ABSENT)
        if type(value) not in _IMMUTABLE and self._changed is not None and value is not ABSENT:
            self._changed[key, sub] = value
        return value

    def put(self, key: Any, value: Any, sub: Any = None) -> None:
        """See StateTable."""
        if type(value) not in self._kinds:
            self._codec.pack_value(value, self.id.name, key)
            self._kinds.add(type(value))
        if type(sub) not in self._kinds:
            self._codec.pack_value(sub, self.id.name, key)
            self._kinds.add(type(sub))
        entries = self._entries.setdefault(key, {})
        self._size -= len(entries)
        entries[sub] = value
        self._size += len(entries)
        if self._changed is not None:
            self._changed[key, sub] = value

    def remove(self, key: Any, sub: Any = None) -> None:
        """See StateTable."""
        entries = self._entries.get(key)
        if entries is None or entries.pop(sub, ABSENT) is ABSENT:
            return
        self._size -= 1
        if not entries:
            del self._entries[key]
        if self._changed is not None:
            self._changed[key, sub] = ABSENT
            if len(self._changed) > self._size + CHANGED_MIN:
                self._changed = None

    def items(self, key: Any) -> list[tuple[Any, Any]]:
        """See StateTable."""
        found = list(self._entries.get(key, {}).items())
        if self._changed is not None:
            self._changed.update(
                ((key, sub), value) for sub, value in found if type(value) not in _IMMUTABLE
            )
        return found

    def last(self, key: Any) -> Any:
        """See StateTable."""
        entries = self._entries.get(key)
        return next(reversed(entries)) if entries else None

    def all_keys(self) -> Iterator[Any]:
        """See StateTable."""
        return iter(list(self._entries))

    def clear(self) -> None:
        """See StateTable."""
        self._entries.clear()
        self._size = 0
        self._changed = None

    def size(self) -> int:
        """How many entries there are."""
        return self._size

    @property
    def changed(self) -> int | None:
        """How many entries have changed since the last snapshot; None for all."""
        return None if self._changed is None else len(self._changed)

    def everything(self) -> TableChanges:
        """All entries."""
        pairs = [(key, sub) for key, entries in self._entries.items() for sub in entries]
        values = [value for entries in self._entries.values() for value in entries.values()]
        return _nested(pairs, values, [])

    def changes(self) -> TableChanges:
        """The entries that have changed since the last snapshot."""
        return _nested(*_sorted_out(self._changed or {}))

    def saved(self) -> None:
        """Changes are noted from here on."""
        self._changed = {}

    def apply(self, changes: TableChanges) -> None:
        """Take over what a chunk says."""
        for key, sub in zip(changes.removed, changes.removed_subs or (), strict=True):
            entries = self._entries.get(key, {})
            entries.pop(sub, None)
            if not entries:
                self._entries.pop(key, None)
        for key, sub, value in zip(changes.keys, changes.subs or (), changes.values, strict=True):
            self._entries.setdefault(key, {})[sub] = value
        self._size = sum(map(len, self._entries.values()))


def _sorted_out(changed: dict[Any, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Of what has changed: keys that are there, their values, keys that are no more."""
    values = list(changed.values())
    if not any(value is ABSENT for value in values):
        return list(changed), values, []
    kept = {key: value for key, value in changed.items() if value is not ABSENT}
    return list(kept), list(kept.values()), [key for key in changed if key not in kept]


def _nested(
    pairs: list[tuple[Any, Any]], values: list[Any], gone: list[tuple[Any, Any]]
) -> TableChanges:
    keys, subs = [key for key, _ in pairs], [sub for _, sub in pairs]
    return TableChanges(keys, subs, values, [key for key, _ in gone], [sub for _, sub in gone])


class KeptChunk:
    """A chunk of the last snapshots."""

    __slots__ = ("_file", "_own_name", "data")

    def __init__(self, data: bytes, file: str = "") -> None:
        """`file`: the name that it has already."""
        self.data = data
        self._file = file
        self._own_name = secrets.token_hex(NAME_BYTES)

    @property
    def is_large(self) -> bool:
        """Whether it is to be a file."""
        return len(self.data) >= FILE_BYTES_MIN

    def chunk(self) -> Chunk:
        """As a part of a snapshot; a large one is read for its name, once."""
        if not self.is_large:
            return Chunk(self.data)
        if not self._file:
            self._file = f"{digest_of(self.data)}-{self._own_name}"
        return Chunk(self.data, self._file)


class ChunkFiles:
    """The files of a snapshot, which are in memory."""

    def __init__(self, chunks: Mapping[str, bytes]) -> None:
        self._chunks = chunks

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        with open(path, "wb") as file:
            file.write(self._chunks[name])

    def read(self, name: str) -> bytes:
        """See FileSource."""
        return self._chunks[name]

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        return None


def _with_files(tables: tuple[TableId, ...], kept: Sequence[KeptChunk]) -> bytes:
    """A snapshot whose large chunks are its files."""
    chunks = tuple(each.chunk() for each in kept)
    files = {each.file: each.data for each in chunks if each.file}
    data = encode(Snapshot(MEMORY, tables, chunks))
    if not files:
        return data
    return FileSnapshot.of(
        data, {name: len(each) for name, each in files.items()}, ChunkFiles(files)
    )


class MemoryBackend:
    """A StateBackend of dicts."""

    def __init__(self, codec: StateCodec) -> None:
        self._codec = codec
        self._tables: dict[str, FlatTable | NestedTable] = {}
        self._chunks: list[KeptChunk] = []
        """Of the last snapshot; empty before the first."""

    def table(self, wanted: TableId) -> StateTable:
        """See StateBackend."""
        found = self._tables.get(wanted.name)
        if found is None:
            found = self._made(wanted)
        if found.id != wanted:
            raise StateError(wrong_kind(self._codec.component, found.id, wanted))
        return found

    def _made(self, wanted: TableId) -> FlatTable | NestedTable:
        made = (NestedTable if wanted.nested else FlatTable)(wanted, self._codec)
        self._tables[wanted.name] = made
        if self._chunks:
            made.saved()
        return made

    def names(self) -> list[TableId]:
        """See StateBackend."""
        return [each.id for each in self._tables.values()]

    def snapshot(self) -> bytes:
        """See StateBackend."""
        chunks = tuple(Chunk(each.data) for each in self._all_chunks())
        return encode(Snapshot(MEMORY, tuple(self.names()), chunks))

    def deferred_snapshot(self) -> StateBytes:
        """See StateBackend: what is left for later is to name the large chunks."""
        chunks = self._all_chunks()
        deferred = DeferredSnapshot(partial(_with_files, tuple(self.names()), chunks))
        return deferred if any(each.is_large for each in chunks) else deferred.made()

    def _all_chunks(self) -> list[KeptChunk]:
        """Those of before and one with what has changed; or one with everything."""
        full = self._needs_full()
        parts = {
            table.id.name: table.everything() if full else table.changes()
            for table in self._tables.values()
        }
        # A failure leaves everything noted as it was: the next snapshot has these changes too.
        chunk = KeptChunk(pack_chunk(parts, self._codec))
        self._chunks = [chunk] if full else [*self._chunks, chunk]
        for table in self._tables.values():
            table.saved()
        return self._chunks

    def _needs_full(self) -> bool:
        if not self._chunks or len(self._chunks) >= CHUNKS_MAX:
            return True
        first, *others = (len(each.data) for each in self._chunks)
        if sum(others) > first:
            return True
        return any(each.changed is None for each in self._tables.values())

    def restore(self, snapshot: bytes) -> None:
        """See StateBackend."""
        decoded = decode(snapshot, MEMORY, self._codec.component)
        for table in self._tables.values():
            table.clear()
        for table_id in decoded.tables:
            self.table(table_id)
        for chunk in decoded.chunks:
            for name, changes in unpack_chunk(chunk.data, self._codec).items():
                self._tables[name].apply(changes)
        self._chunks = [KeptChunk(chunk.data, chunk.file) for chunk in decoded.chunks]
        for table in self._tables.values():
            table.saved()

    def take_groups(
        self, previous: "MemoryBackend", table: TableId, whole: Set[int], others: Set[int]
    ) -> Iterator[Any]:
        """See StateBackend: all keys, as a table is no longer by group than by key."""
        return previous.table(table).all_keys()

    def another(self) -> "MemoryBackend":
        """See StateBackend."""
        return MemoryBackend(self._codec)

    def close(self) -> None:
        """See StateBackend: nothing is open."""


def wrong_kind(component: str, found: TableId, wanted: TableId) -> str:
    """What is said of a state that was another kind of state when it was saved."""
    return (
        f"{component}: the state {wanted.name!r} was saved as a {found.kind} state and is a "
        f"{wanted.kind} state now: give it another name, or start without the saved state"
    )


_tables: tuple[type[StateTable], ...] = (FlatTable, NestedTable)
