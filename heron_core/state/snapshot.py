"""Snapshots as bytes. parts.py divides snapshots among other numbers of tasks.

    b"HSTATE" 1 byte version, u32 length of the header (big endian)
    header      msgpack: backend, [[name, kind, nested, indexed] of each table], [length of each
                chunk, or the name of its file]
    chunks      of the memory backend, each a msgpack map: name -> [keys, subs or nil, values,
                removed keys, removed subs or nil]; other backends have their own form

A large chunk is a file of the snapshot (file_snapshot.py); a checkpoint store keeps the file once
for all checkpoints. A chunk has present and removed entries; a later chunk overrides earlier
chunks. Entries are not sorted by key: hashes of keys are computed only for a change of tasks.
"""

from typing import Any, NamedTuple

import msgpack
from msgspec import Struct

from heron_core.errors import StateError
from heron_core.state.codec import StateCodec
from heron_core.state.file_snapshot import FileSnapshot, digest_of
from heron_core.state.protocol import StateKind, TableId

_MAGIC = b"HSTATE"
VERSION = 1
_LENGTH_BYTES = 4
_NIL = b"\xc0"
_START = len(_MAGIC) + 1 + _LENGTH_BYTES


class TableChanges(NamedTuple):
    """Present and removed entries of one table."""

    keys: list[Any]
    subs: list[Any] | None
    values: list[Any]
    removed: list[Any]
    removed_subs: list[Any] | None


class PackedEntries(NamedTuple):
    """The same of a table without `subs`, present entries packed as msgpack arrays."""

    keys: bytes
    values: bytes
    removed: list[Any]


class Chunk(Struct, frozen=True):
    """Part of a snapshot."""

    data: bytes
    file: str = ""
    """Name of the chunk's file; empty for a chunk in the snapshot's bytes."""


class Snapshot(Struct, frozen=True):
    """The state of one task."""

    backend: str
    tables: tuple[TableId, ...]
    chunks: tuple[Chunk, ...]


def encode(snapshot: Snapshot) -> bytes:
    """A snapshot as bytes, without chunks in files."""
    tables = [[each.name, each.kind.value, each.nested, each.indexed] for each in snapshot.tables]
    chunks = [each.file or len(each.data) for each in snapshot.chunks]
    header = msgpack.packb([snapshot.backend, tables, chunks])
    start = _MAGIC + bytes([VERSION]) + len(header).to_bytes(_LENGTH_BYTES, "big")
    return b"".join((start, header, *(each.data for each in snapshot.chunks if not each.file)))


def decode(data: bytes, backend: str, component: str) -> Snapshot:
    """The inverse of `encode`, with the contents of files; StateError for other bytes, or for a
    snapshot of a backend other than `backend`."""
    try:
        snapshot = decode_any(data)
    except (ValueError, TypeError, KeyError, IndexError, msgpack.UnpackException) as error:
        raise StateError(
            f"{component}: what was saved is not a state, or damaged: {error}"
        ) from None
    if snapshot.backend != backend:
        raise StateError(
            f"{component}: its state was saved by the backend {snapshot.backend!r}, and"
            f" topology.state.backend is {backend!r} now: choose the previous, or start without it"
        )
    return snapshot


def decode_any(data: bytes) -> Snapshot:
    """A snapshot of any backend; ValueError, TypeError, LookupError or an error of msgpack for
    other bytes."""
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC)] != VERSION:
        raise ValueError(f"its header is not that of version {VERSION}")
    end = _START + int.from_bytes(data[_START - _LENGTH_BYTES : _START], "big")
    backend, tables, lengths = msgpack.unpackb(data[_START:end])
    total = end + sum(length for length in lengths if isinstance(length, int))
    if total != len(data):
        raise ValueError(f"it has {len(data)} bytes instead of {total}")
    chunks = []
    for length in lengths:
        if isinstance(length, str):
            chunks.append(_read(data, length))
        else:
            chunks.append(Chunk(bytes(data[end : end + length])))
            end += length
    ids = tuple(TableId(name, StateKind(kind), bool(n), bool(i)) for name, kind, n, i in tables)
    return Snapshot(backend, ids, tuple(chunks))


def _read(data: bytes, file: str) -> Chunk:
    if not isinstance(data, FileSnapshot):
        raise ValueError(f"its file {file} is missing")
    content = data.source.read(file)
    if not file.startswith(digest_of(content)):
        raise ValueError(f"its file {file} does not match its checksum")
    return Chunk(content, file)


def pack_chunk(parts: dict[str, TableChanges | PackedEntries], codec: StateCodec) -> bytes:
    """Changes of tables as bytes; StateError with state and key of a value that cannot be saved."""
    packed = [msgpack.Packer().pack_map_header(len(parts))]
    for name, changes in parts.items():
        packed.append(codec.pack(name))
        packed.append(b"\x95")  # an array of five
        if isinstance(changes, PackedEntries):
            removed = codec.pack_all(changes.removed, name, changes.removed)
            packed += [changes.keys, _NIL, changes.values, removed, _NIL]
            continue
        packed.append(codec.pack_all(changes.keys, name, changes.keys))
        packed.append(_packed_subs(changes.subs, name, changes.keys, codec))
        packed.append(codec.pack_all(changes.values, name, changes.keys))
        packed.append(codec.pack_all(changes.removed, name, changes.removed))
        packed.append(_packed_subs(changes.removed_subs, name, changes.removed, codec))
    return b"".join(packed)


def _packed_subs(subs: list[Any] | None, name: str, keys: list[Any], codec: StateCodec) -> bytes:
    return codec.pack(None) if subs is None else codec.pack_all(subs, name, keys)


def unpack_chunk(chunk: bytes, codec: StateCodec) -> dict[str, TableChanges]:
    """The inverse of `pack_chunk`; StateError for other bytes."""
    try:
        return {name: TableChanges(*changes) for name, changes in codec.unpack(chunk).items()}
    except Exception as error:
        raise StateError(
            f"{codec.component}: a saved state cannot be read: {type(error).__name__}: {error}"
        ) from error
