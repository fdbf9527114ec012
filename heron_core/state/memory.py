"""The state backend that keeps everything in dicts, and saves what has changed.

A snapshot is a series of chunks: first one with everything, then one for each later snapshot with
the changed entries. A snapshot is complete by itself, and costs as much as packing the changes (60
ns an entry). A new full chunk is written when the changes have grown as large as the changed
entries, or are many. A large chunk is a file of the snapshot, so a checkpoint store writes the
chunk once and keeps the file as long as a checkpoint refers to the chunk.

A change is noted together with its value, or the cell of the value, so a snapshot repeats no
look-up: in a large table, look-ups take longer than anything else. Before the first snapshot
nothing is noted, so a topology without checkpoints pays nothing. A value that can change in place
(a list, a dict, an object) counts as changed after every read: user code may have changed the value
without a put.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Any

from heron_core.errors import StateError
from heron_core.native import FlatTable, NestedTable
from heron_core.state.codec import StateCodec
from heron_core.state.file_snapshot import DeferredSnapshot, FileSnapshot, StateBytes, digest_of
from heron_core.state.protocol import StateTable, TableId
from heron_core.state.snapshot import (
    Chunk,
    Snapshot,
    decode,
    encode,
    pack_chunk,
    unpack_chunk,
)
from heron_core.state.table_changes import (
    Table,
    apply,
    changes_of,
    everything_in,
)

MEMORY = "memory"
CHUNKS_MAX = 20
"""Maximum of chunks in a snapshot. A restore reads all chunks, and each repeats the entries that
change continually.
"""
FILE_BYTES_MIN = 64 * 1024
"""Least bytes of a chunk in a file. A smaller chunk is part of the bytes of each snapshot: a file
of its own costs as much as writing so many bytes again."""
NAME_BYTES = 8
"""Random bytes in a file's name: two chunks of equal content are two files, so a chunk is never
reused for a checkpoint while its file is removed with an older checkpoint.
"""


class KeptChunk:
    """A chunk of the last snapshots."""

    __slots__ = ("_file", "_own_name", "data")

    def __init__(self, data: bytes, file: str = "") -> None:
        """`file` is the name of the chunk's file, if there is one already."""
        self.data = data
        self._file = file
        self._own_name = secrets.token_hex(NAME_BYTES)

    @property
    def is_large(self) -> bool:
        """Whether the chunk becomes a file."""
        return len(self.data) >= FILE_BYTES_MIN

    def chunk(self) -> Chunk:
        """The chunk as a part of a snapshot; a large one is read for its name, once."""
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
    """A snapshot whose large chunks are files."""
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
        self._tables: dict[str, Table] = {}
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

    def _made(self, wanted: TableId) -> Table:
        made = (NestedTable if wanted.nested else FlatTable)(wanted, self._codec)
        self._tables[wanted.name] = made
        if self._chunks:
            made.note_changes()
        return made

    def names(self) -> list[TableId]:
        """See StateBackend."""
        return [each.id for each in self._tables.values()]

    def snapshot(self) -> bytes:
        """See StateBackend."""
        chunks = tuple(Chunk(each.data) for each in self._all_chunks())
        return encode(Snapshot(MEMORY, tuple(self.names()), chunks))

    def deferred_snapshot(self) -> StateBytes:
        """See StateBackend: only the names of large chunks are made later."""
        chunks = self._all_chunks()
        deferred = DeferredSnapshot(partial(_with_files, tuple(self.names()), chunks))
        return deferred if any(each.is_large for each in chunks) else deferred.made()

    def _all_chunks(self) -> list[KeptChunk]:
        """The previous chunks and one with the changes; or a single one with everything."""
        full = self._needs_full()
        parts = {
            table.id.name: everything_in(table) if full else changes_of(table)
            for table in self._tables.values()
        }
        # A failure leaves everything noted as it was: the next snapshot has these changes too.
        chunk = KeptChunk(pack_chunk(parts, self._codec))
        self._chunks = [chunk] if full else [*self._chunks, chunk]
        for table in self._tables.values():
            table.note_changes()
        return self._chunks

    def _needs_full(self) -> bool:
        if not self._chunks or len(self._chunks) >= CHUNKS_MAX:
            return True
        first, *others = (len(each.data) for each in self._chunks)
        if sum(others) > first:
            return True
        return any(each.is_all_new for each in self._tables.values())

    def restore(self, snapshot: bytes) -> None:
        """See StateBackend."""
        decoded = decode(snapshot, MEMORY, self._codec.component)
        for table in self._tables.values():
            table.clear()
        for table_id in decoded.tables:
            self.table(table_id)
        for chunk in decoded.chunks:
            for name, changes in unpack_chunk(chunk.data, self._codec).items():
                apply(changes, self._tables[name])
        self._chunks = [KeptChunk(chunk.data, chunk.file) for chunk in decoded.chunks]
        for table in self._tables.values():
            table.note_changes()

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
    """Message on a state that was saved as another kind of state."""
    return (
        f"{component}: the state {wanted.name!r} was saved as a {found.kind} state and is a "
        f"{wanted.kind} state now: give it another name, or start without the saved state"
    )


_tables: tuple[type[StateTable], ...] = (FlatTable, NestedTable)
