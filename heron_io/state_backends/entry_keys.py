"""Keys of a sorted store for the entries of tables: one key's entries stand side by side.

    u16 key group, u16 number of the table, u32 length of the key's canonical form, that form, sub

All numbers are big endian. The canonical form is the one that fields grouping hashes, so keys that
are equal there are one key here. An index of a list is 8 bytes that sort as the number does; a key
of a map is its canonical form; a value has none.
"""

import struct
from typing import Any

from heron_core.algorithms.hashing import canonical
from heron_core.state.keys import KEY_GROUPS, key_group

_HEAD = struct.Struct(">HHI")
_INDEX = struct.Struct(">Q")


def key_prefix(table: int, key: Any, *, is_plain: bool = False) -> bytes:
    """What all entries of a key begin with. Plain keys are in no group; they stand in the first."""
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
    """What all entries of a table in a group begin with."""
    return _HEAD.pack(group, table, 0)[:4]


def key_part(entry: bytes) -> bytes:
    """What an entry's key has in common with all of its key."""
    return entry[: _HEAD.size + _HEAD.unpack_from(entry)[2]]


def after(prefix: bytes) -> bytes:
    """The first key behind all that begin with `prefix`."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else b"\xff" * (len(prefix) + 1)
