"""The state of a task as parts of previous tasks' states, after a change of the number of tasks.

    b"HPARTS" 1 byte version, u32 length of the header (big endian)
    header    msgpack: [index, tasks, [[index, tasks, bytes, plain entries] of each part]]
    parts     states of previous tasks that may have keys of this task, as saved

The restored task divides the parts in its own process, because other processes lack the user's
classes of keys. Division is by ranges of the key's hash, like the routes of fields grouping
(keys.py).
"""

from collections.abc import Sequence
from enum import IntEnum

import msgpack
from msgspec import Struct

from heron_core.errors import StateError
from heron_core.state.file_snapshot import FileSnapshot
from heron_core.state.keys import KEY_GROUPS, owner, owners_of_group, shown_key
from heron_core.state.protocol import Absent, StateBackend, StateKind, StateTable, TableId

_MAGIC = b"HPARTS\x01"
_LENGTH_BYTES = 4
_START = len(_MAGIC) + _LENGTH_BYTES


class KeyRange(Struct, frozen=True):
    """The keys of one task: its index among the tasks of a component."""

    index: int
    tasks: int

    def overlaps(self, other: "KeyRange") -> bool:
        """Whether both ranges, each with its own number of tasks, may share keys."""
        begins_first = self.index * other.tasks < (other.index + 1) * self.tasks
        ends_last = other.index * self.tasks < (self.index + 1) * other.tasks
        return begins_first and ends_last


class PlainEntries(IntEnum):
    """Treatment of a previous task's entries from put(), which are not divisible by key."""

    REFUSED = 0
    """An error if the part has entries."""
    LEFT = 1
    """The entries stay with the previous task."""
    TAKEN = 2
    """The task takes its own entries."""


class StatePart(Struct, frozen=True):
    """The state of a previous task."""

    key_range: KeyRange
    state: bytes
    plain: PlainEntries = PlainEntries.REFUSED


class Parts(Struct, frozen=True):
    """The parts of states with which a task begins."""

    key_range: KeyRange
    parts: tuple[StatePart, ...]


def encode_parts(parts: Parts) -> bytes:
    """Bytes of the parts, with the files of all parts."""
    lengths = [
        [part.key_range.index, part.key_range.tasks, len(part.state), part.plain]
        for part in parts.parts
    ]
    header = msgpack.packb([parts.key_range.index, parts.key_range.tasks, lengths])
    start = _MAGIC + len(header).to_bytes(_LENGTH_BYTES, "big")
    data = b"".join((start, header, *(part.state for part in parts.parts)))
    states = [part.state for part in parts.parts if isinstance(part.state, FileSnapshot)]
    if not states:
        return data
    files = {name: size for state in states for name, size in state.files.items()}
    return FileSnapshot.of(data, files, _FilesOfParts(states))


def decode_parts(data: bytes) -> Parts | None:
    """The parts in `data`; None for an undivided state. StateError for damaged bytes."""
    if not data.startswith(_MAGIC):
        return None
    try:
        end = _START + int.from_bytes(data[_START - _LENGTH_BYTES : _START], "big")
        index, tasks, lengths = msgpack.unpackb(data[_START:end])
        parts = []
        for previous_index, previous_tasks, length, plain in lengths:
            part = _with_files(data[end : end + length], data)
            key_range = KeyRange(previous_index, previous_tasks)
            parts.append(StatePart(key_range, part, PlainEntries(plain)))
            end += length
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise StateError(f"the parts of a state are damaged: {error}") from None
    return Parts(KeyRange(index, tasks), tuple(parts))


def _with_files(part: bytes, whole: bytes) -> bytes:
    if not isinstance(whole, FileSnapshot):
        return part
    return FileSnapshot.of(part, whole.files, whole.source)


class _FilesOfParts:
    """The files of several states; files of equal name have equal content."""

    def __init__(self, states: Sequence[FileSnapshot]) -> None:
        self._states = states

    def _owner(self, name: str) -> FileSnapshot:
        return next(each for each in self._states if name in each.files)

    def copy(self, name: str, path: str) -> None:
        """See FileSource."""
        self._owner(name).source.copy(name, path)

    def read(self, name: str) -> bytes:
        """See FileSource."""
        return self._owner(name).source.read(name)

    def local_path(self, name: str) -> str | None:
        """See FileSource."""
        return self._owner(name).source.local_path(name)


def gather(backend: StateBackend, parts: Parts, component: str) -> None:
    """Put the task's keys from all parts into its backend; StateError for an indivisible state."""
    for table_id in backend.names():
        backend.table(table_id).clear()
    for part in parts.parts:
        previous = backend.another()
        try:
            _restore(previous, part.state, component)
            for table_id in previous.names():
                if table_id.kind is StateKind.PLAIN and part.plain is not PlainEntries.REFUSED:
                    if part.plain is PlainEntries.TAKEN:
                        _take_all(previous.table(table_id), backend.table(table_id))
                else:
                    _take_keys(
                        backend, previous, table_id, part.key_range, parts.key_range, component
                    )
        finally:
            previous.close()


def _restore(backend: StateBackend, state: bytes, component: str) -> None:
    """Restore one part. A part consists of parts if the previous task had not saved its state
    since the last division."""
    parts = decode_parts(state)
    if parts is None:
        backend.restore(state)
    else:
        gather(backend, parts, component)


def divided_groups(before: KeyRange, now: KeyRange) -> tuple[set[int], set[int]]:
    """The key groups of `before` that `now` takes whole, and the groups across the bound of two
    tasks, whose keys are checked one by one."""
    whole, others = set(), set()
    for group in range(KEY_GROUPS):
        previous, owners = owners_of_group(group, before.tasks), owners_of_group(group, now.tasks)
        if previous != range(before.index, before.index + 1):
            others.add(group)
        elif owners == range(now.index, now.index + 1):
            whole.add(group)
        elif now.index in owners:
            others.add(group)
    return whole, others


def _take_keys(
    backend: StateBackend,
    previous: StateBackend,
    table_id: TableId,
    before: KeyRange,
    now: KeyRange,
    component: str,
) -> None:
    source, target = previous.table(table_id), backend.table(table_id)
    if table_id.kind is StateKind.WATERMARK:
        _take_least(source, target)
        return
    if table_id.kind is StateKind.PARTIAL:
        if before.index * now.tasks // before.tasks == now.index:
            _take_partials(source, target)
        return
    if table_id.kind is StateKind.PLAIN:
        for key in source.all_keys():
            raise not_divisible(component, before.tasks, now.tasks, f" (key {key!r:.60})")
        return
    whole, others = divided_groups(before, now)
    for key in backend.take_groups(previous, table_id, whole, others):
        if owner(key, before.tasks) != before.index:
            raise StateError(
                f"{component}: its state {table_id.name!r} cannot be divided among {now.tasks}"
                f" instances: the key {shown_key(key)!r:.60} was not at the instance to which"
                f" fields grouping sends it: keep {before.tasks} instances"
            )
        if owner(key, now.tasks) == now.index:
            for sub, value in source.items(key):
                target.put(key, value, sub)


def _take_all(source: StateTable, target: StateTable) -> None:
    for key in source.all_keys():
        for sub, value in source.items(key):
            target.put(key, value, sub)


def _take_partials(source: StateTable, target: StateTable) -> None:
    """Add the partial values of a previous task beside the values of other tasks;
    mergeable_table.py merges by the monoid. A previous task's values go to one new task, at the
    beginning of the previous key range."""
    for key in source.all_keys():
        for _, value in source.items(key):
            target.put(key, value, len(target.items(key)))


def _take_least(source: StateTable, target: StateTable) -> None:
    for key in source.all_keys():
        found, theirs = target.get(key), source.get(key)
        target.put(key, theirs if isinstance(found, Absent) else min(found, theirs))


def not_divisible(component: str, before: int, now: int, example: str = "") -> StateError:
    """Error for state without keys to divide by."""
    return StateError(
        f"{component} had {before} instances and has {now} now, but state saved by put() belongs "
        f"to an instance{example} and cannot be divided: keep {before} instances"
    )
