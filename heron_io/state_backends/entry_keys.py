"""Keys of a sorted store for the entries of tables: the entries of one key are adjacent.

    u16 key group, u16 number of the table, u32 length of the key's canonical form, canonical form,
    sub

All numbers are big endian. Fields grouping hashes the canonical form, so keys equal for the
grouping are one key in the store. `sub` is the index of a list in 8 bytes, sorted like the number,
or the canonical form of a map's key; a value has an empty `sub`.
"""

import struct
from typing import Any

from heron_core.algorithms.hashing import canonical
from heron_core.state.keys import KEY_GROUPS, key_group

_HEAD = struct.Struct(">HHI")
_INDEX = struct.Struct(">Q")


def key_prefix(table: int, key: Any, *, is_plain: bool = False) -> bytes:
    """Common prefix of the entries of a key. Plain keys have no group, and are in the first."""
    form = canonical(key)
    return _HEAD.pack(0 if is_plain else key_group(key, KEY_GROUPS), table, len(form)) + form


def sub_bytes(sub: Any, is_list: bool) -> bytes:
    """The end of an entry's key."""
    if is_list:
        return _INDEX.pack(sub)
    return b"" if sub is None else canonical(sub)


def index_in(entry: bytes) -> int:
    """The index of a list's entry."""
    number: int = _INDEX.unpack(entry[-_INDEX.size :])[0]
    return number


def table_prefix(group: int, table: int) -> bytes:
    """Common prefix of a table's entries in a key group."""
    return _HEAD.pack(group, table, 0)[:4]


def key_part(entry: bytes) -> bytes:
    """Common prefix of the entries of the entry's key."""
    return entry[: _HEAD.size + _HEAD.unpack_from(entry)[2]]


def after(prefix: bytes) -> bytes:
    """The first key behind all keys with the prefix."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else b"\xff" * (len(prefix) + 1)
