"""Snapshots as bytes, and how one of a task becomes those of several: by key groups.

    b"HSTATE" 1 byte version, u32 length of the header (big endian)
    header      msgpack: backend, [[name, kind, nested, indexed] of each table], [length of each
                chunk]
    chunks      of the memory backend, each a msgpack map: name -> [keys, subs or nil, values,
                removed keys, removed subs or nil]; of another backend what it takes

A chunk says which entries there are and which are no more; later ones win. Entries stand in no
order of key groups: their hashes are computed only when tasks change, not for every snapshot.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack

from heron_core.errors import StateError
from heron_core.state.codec import StateCodec
from heron_core.state.keys import KEY_GROUPS, key_group, owner
from heron_core.state.protocol import Kind, TableId

_MAGIC = b"HSTATE"
VERSION = 1
_LENGTH_BYTES = 4
_START = len(_MAGIC) + 1 + _LENGTH_BYTES


class Changes(NamedTuple):
    """Entries of one table that are there, and entries that are no more."""

    keys: list[Any]
    subs: list[Any] | None
    values: list[Any]
    removed: list[Any]
    removed_subs: list[Any] | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of one task."""

    backend: str
    tables: tuple[TableId, ...]
    chunks: tuple[bytes, ...]


def encode(snapshot: Snapshot) -> bytes:
    """A snapshot as bytes."""
    tables = [[each.name, each.kind.value, each.nested, each.indexed] for each in snapshot.tables]
    header = msgpack.packb([snapshot.backend, tables, [len(each) for each in snapshot.chunks]])
    start = _MAGIC + bytes([VERSION]) + len(header).to_bytes(_LENGTH_BYTES, "big")
    return b"".join((start, header, *snapshot.chunks))


def decode(data: bytes, backend: str, component: str) -> Snapshot:
    """The inverse of `encode`; StateError if it is none, or of another backend than `backend`."""
    try:
        found = decode_any(data)
    except (ValueError, TypeError, KeyError, IndexError, msgpack.UnpackException) as error:
        raise StateError(f"{component}: what was saved is no state, or damaged: {error}") from None
    if found.backend != backend:
        raise StateError(
            f"{component}: its state was saved by the backend {found.backend!r}, and"
            f" topology.state.backend is {backend!r} now: choose the former, or start without it"
        )
    return found


def decode_any(data: bytes) -> Snapshot:
    """A snapshot of whatever backend; ValueError, TypeError, LookupError or msgpack's own if it is
    none."""
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC)] != VERSION:
        raise ValueError(f"it does not begin as version {VERSION} does")
    end = _START + int.from_bytes(data[_START - _LENGTH_BYTES : _START], "big")
    backend, tables, lengths = msgpack.unpackb(data[_START:end])
    if end + sum(lengths) != len(data):
        raise ValueError(f"it has {len(data)} bytes instead of {end + sum(lengths)}")
    chunks = []
    for length in lengths:
        chunks.append(data[end : end + length])
        end += length
    ids = tuple(TableId(name, Kind(kind), bool(n), bool(i)) for name, kind, n, i in tables)
    return Snapshot(backend, ids, tuple(chunks))


def pack_chunk(parts: dict[str, Changes], codec: StateCodec) -> bytes:
    """Changes of tables as bytes; StateError naming state and key for what cannot be saved."""
    packed = [msgpack.Packer().pack_map_header(len(parts))]
    for name, changes in parts.items():
        packed.append(codec.pack(name))
        packed.append(b"\x95")  # an array of five
        packed.append(codec.pack_all(changes.keys, name, changes.keys))
        packed.append(_packed_subs(changes.subs, name, changes.keys, codec))
        packed.append(codec.pack_all(changes.values, name, changes.keys))
        packed.append(codec.pack_all(changes.removed, name, changes.removed))
        packed.append(_packed_subs(changes.removed_subs, name, changes.removed, codec))
    return b"".join(packed)


def _packed_subs(subs: list[Any] | None, name: str, keys: list[Any], codec: StateCodec) -> bytes:
    return codec.pack(None) if subs is None else codec.pack_all(subs, name, keys)


def unpack_chunk(chunk: bytes, codec: StateCodec) -> dict[str, Changes]:
    """The inverse of `pack_chunk`; StateError for bytes that are none."""
    try:
        return {name: Changes(*changes) for name, changes in codec.unpack(chunk).items()}
    except Exception as error:
        raise StateError(
            f"{codec.component}: a saved state cannot be read: {type(error).__name__}: {error}"
        ) from error


def split(snapshot: bytes, tasks: int, codec: StateCodec) -> list[bytes]:
    """The snapshots of so many tasks that share the keys of one; Heron's own state, which no key
    divides, goes to the first."""
    return _divided(snapshot, range(tasks), lambda key: owner(key, tasks), codec)


def by_group(snapshot: bytes, codec: StateCodec, groups: int = KEY_GROUPS) -> list[bytes]:
    """The same by key groups."""
    return _divided(snapshot, range(groups), lambda key: key_group(key, groups), codec)


def merge(snapshots: Iterable[bytes], codec: StateCodec) -> bytes:
    """One snapshot of several whose keys differ; StateError if one name is two kinds of state, or
    two have a key of the same table."""
    tables: dict[str, TableId] = {}
    merged: dict[str, dict[Any, Any]] = {}
    for each in snapshots:
        found = decode(each, "memory", codec.component)
        for table_id in found.tables:
            if tables.setdefault(table_id.name, table_id) != table_id:
                raise StateError(
                    f"{codec.component}: the state {table_id.name!r} is a {table_id.kind} state "
                    f"in one part and a {tables[table_id.name].kind} state in another"
                )
        for name, entries in _entries(found, codec).items():
            _join(merged.setdefault(name, {}), entries, name, codec)
    return _encoded(tuple(tables.values()), merged, codec)


def _join(into: dict[Any, Any], entries: dict[Any, Any], name: str, codec: StateCodec) -> None:
    both = into.keys() & entries.keys()
    if both:
        raise StateError(
            f"{codec.component}: two parts of the state {name!r} have the key {min(both, key=str)}"
        )
    into.update(entries)


def _divided(
    snapshot: bytes, parts: Sequence[int], part_of: Callable[[Any], int], codec: StateCodec
) -> list[bytes]:
    found = decode(snapshot, "memory", codec.component)
    shares: list[dict[str, dict[Any, Any]]] = [{} for _ in parts]
    plain = {each.name for each in found.tables if each.kind is Kind.PLAIN}
    for name, entries in _entries(found, codec).items():
        for (key, sub), value in entries.items():
            part = 0 if name in plain else part_of(key)
            shares[part].setdefault(name, {})[key, sub] = value
    return [_encoded(found.tables, share, codec) for share in shares]


def _entries(snapshot: Snapshot, codec: StateCodec) -> dict[str, dict[Any, Any]]:
    """By table: (key, sub) -> value, the chunks put together."""
    found: dict[str, dict[Any, Any]] = {each.name: {} for each in snapshot.tables}
    for chunk in snapshot.chunks:
        for name, changes in unpack_chunk(chunk, codec).items():
            nothing = [None] * max(len(changes.keys), len(changes.removed))
            entries = found[name]
            for pair in zip(changes.removed, changes.removed_subs or nothing, strict=False):
                entries.pop(pair, None)
            pairs = zip(changes.keys, changes.subs or nothing, strict=False)
            entries.update(zip(pairs, changes.values, strict=False))
    return found


def _encoded(
    tables: tuple[TableId, ...], share: dict[str, dict[Any, Any]], codec: StateCodec
) -> bytes:
    parts = {each.name: _as_changes(each.nested, share.get(each.name, {})) for each in tables}
    return encode(Snapshot("memory", tables, (pack_chunk(parts, codec),)))


def _as_changes(nested: bool, entries: dict[Any, Any]) -> Changes:
    keys = [key for key, _ in entries]
    subs = [sub for _, sub in entries] if nested else None
    return Changes(keys, subs, list(entries.values()), [], [] if nested else None)
