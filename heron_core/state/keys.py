"""Keys of state: the key group and the owning task of a key.

A key consists of the values of the fields by which its stream is grouped. Inside the state, the key
is the value itself for one field and a tuple for several; a single value that is a tuple already is
wrapped in a tuple of its own, so its hash is always the hash by which the fields grouping routes
(heron_core.algorithms.hashing).

A task of n owns the n-th part of the hash space, as the grouping routes to the task; a key group is
the 128th part. The bounds of tasks are not rounded to groups, which would give some tasks twice the
keys of others: a group across a bound is divided key by key when the tasks change.
"""

from typing import Any

from heron_core.algorithms.hashing import HASH_BITS, NotHashable, slot, stable_hash
from heron_core.errors import StateError
from heron_core.state.key_values import key_of as key_of
from heron_core.state.key_values import shown_key as shown_key

KEY_GROUPS = 128
"""As Flink's default: state moves in parts of less than 1 %, and a list of the parts stays
short."""


def key_hash(key: Any) -> int:
    """Number by which fields grouping routes the key; StateError for a key that has no hash."""
    try:
        return stable_hash(key if type(key) is tuple else (key,))
    except NotHashable as error:
        raise StateError(f"the key {shown_key(key)!r} cannot be used for state: {error}") from None


def key_group(key: Any, groups: int = KEY_GROUPS) -> int:
    """The key group of a key: 0 to groups - 1."""
    return slot(key_hash(key), groups)


def owner(key: Any, tasks: int) -> int:
    """Index of the task that owns the key, to which fields grouping sends the key."""
    return slot(key_hash(key), tasks)


def owners_of_group(group: int, tasks: int) -> range:
    """Indices of the tasks that own keys of a key group."""
    bits = HASH_BITS - (KEY_GROUPS - 1).bit_length()
    first, last = group << bits, ((group + 1) << bits) - 1
    return range(slot(first, tasks), slot(last, tasks) + 1)


def groups_of(index: int, tasks: int, groups: int = KEY_GROUPS) -> range:
    """Key groups that may have keys of the task `index` of `tasks` tasks."""
    first = -(-(index << HASH_BITS) // tasks)
    last = -(-((index + 1) << HASH_BITS) // tasks) - 1
    return range(slot(first, groups), slot(last, groups) + 1)
