"""States of a savepoint or a completed checkpoint, read entry by entry, without their topology.

One state at a time is open: a state in memory is as large as in its instance, and of a state in
RocksDB only the entries being read are in memory. Entries come in the order of tasks and, within a
task, of key groups. Code of the topology is never run (heron_core.wire.standard_pickles).
"""

import os
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.errors import UsageError
from heron_core.naming import first_of
from heron_core.state.codec import StateCodec
from heron_core.state.description import Description, contents_of, description_from_json
from heron_core.state.keys import KEY_GROUPS, groups_of, key_group, owner, owners_of_group
from heron_core.state.memory import MEMORY, MemoryBackend
from heron_core.state.parts import decode_parts, gather
from heron_core.state.protocol import StateBackend, StateKind
from heron_core.state.questions import PUT, StateReader, UnknownState, reader_of
from heron_core.state.saved_input import decode_input
from heron_core.state_tree import checkpoints_path, execution_path, topology_path
from heron_core.topology import TopologySpec, topology_from_json
from heron_core.wire.standard_pickles import unpack_standard
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.state_folder import StateFolder
from heron_io.state_store.protocol import StateStore

ALL_GROUPS = range(KEY_GROUPS)


class ShowingCodec(StateCodec):
    """Opens values for display."""

    def __init__(self, component: str) -> None:
        super().__init__(component)
        self.unpack = unpack_standard


class StateRow(Struct, frozen=True):
    """An entry of a state: a value or reducing state has one entry per key, a list one per element,
    a map one per key of the map.
    """

    key: Any
    sub: Any
    """The index in a list, the key in a map; None for other states."""
    value: Any
    group: int | None
    """The key group; None for entries of put(), which are not divided by key."""
    task: int
    expires_at: float | None
    """Time of expiry in seconds since 1970; None: never."""


class StateOfCheckpoint(Struct, frozen=True):
    """One state of a component in a folder."""

    folder: StateFolder
    description: Description
    component: str
    state: str
    is_divided_by_key: bool = False
    """Whether each key is at the task chosen by fields grouping, according to the topology; False
    if unknown.
    """

    @property
    def name(self) -> str:
        """COMPONENT.STATE"""
        return f"{self.component}.{self.state}"

    @property
    def origin(self) -> str:
        """Number and time of the checkpoint, for people."""
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.description.at))
        return f"checkpoint {self.description.checkpoint} of {at}"

    @property
    def tasks(self) -> Sequence[int]:
        """Tasks of the component at the time of the checkpoint."""
        return self.description.components[self.component].tasks

    def tasks_of(self, meant: Sequence[Any]) -> Sequence[int]:
        """Tasks that may have a key among `meant`."""
        if not self.is_divided_by_key or self.state == PUT:
            return self.tasks
        return sorted({self.tasks[owner(key, len(self.tasks))] for key in meant})

    def kind(self) -> StateKind:
        """Kind of the state; UnknownState if no task has it."""
        for reader, _ in self._readers(self.tasks):
            return reader.table_id.kind
        raise self._unknown()

    def _unknown(self) -> UnknownState:
        found = {
            each.name or PUT
            for task in self.tasks
            for each in contents_of(self.folder.load(task) or b"", self.folder.path).states
        }
        known = first_of(sorted(found)) or "none"
        return UnknownState(
            f"{self.folder.path} has no state {self.state!r} of {self.component} (it has: {known})"
        )

    def rows(self, groups: Iterable[int] = ALL_GROUPS) -> Iterator[StateRow]:
        """All entries of some key groups, including expired entries that are not removed yet.
        UnknownState if no task has the state. Entries of put() are in the first group."""
        wanted, is_known = sorted(groups), False
        for reader, task in self._readers(self.tasks):
            is_known = True
            yield from rows_of(reader, task, wanted)
        if not is_known:
            raise self._unknown()

    def opened(self, task: int, stack: ExitStack) -> StateReader | None:
        """The state of a task, open until the end of the stack; None without a state."""
        readers = self._readers([task])
        stack.callback(readers.close)
        return next(readers, (None, 0))[0]

    def readers_of(self, tasks: Sequence[int]) -> Generator[tuple[StateReader, int], None, None]:
        """(state of a task, the task); each state is closed with the next one."""
        return self._readers(tasks)

    def _readers(self, tasks: Sequence[int]) -> Generator[tuple[StateReader, int], None, None]:
        for task in tasks:
            with self._backend(task) as backend:
                if backend is None:
                    continue
                try:
                    reader = reader_of(backend, self.component, self.state, self.description.at)
                except UnknownState:
                    continue
                yield reader, task

    @contextmanager
    def _backend(self, task: int) -> Iterator[StateBackend | None]:
        """The state of a task; None without a state."""
        saved = self.folder.load(task)
        state, _ = decode_input(saved)
        if not state:
            yield None
            return
        codec = ShowingCodec(self.component)
        with tempfile.TemporaryDirectory(prefix="heron-saved-state-") as folder:
            backend = _made(self.description.backend, codec, folder)
            try:
                parts = decode_parts(state)
                if parts is None:
                    backend.restore(state)
                else:
                    gather(backend, parts, self.component)
                yield backend
            finally:
                backend.close()


class GroupsOfState:
    """Reads one state by key groups, to be divided among several readers: each entry has exactly
    one group. A key at another task than fields grouping chooses is read with the first group of
    its task, and so are the entries of put().
    """

    TASKS_OPEN = 2
    """Tasks open at once. A group lies across the bound of at most two tasks if there are fewer
    than 128."""

    def __init__(self, saved: StateOfCheckpoint) -> None:
        self._saved = saved
        self._open: dict[int, tuple[StateReader | None, ExitStack]] = {}
        """task -> its state; the state used last is the last entry."""

    def rows(self, group: int) -> Iterator[StateRow]:
        """The entries that are read with a group."""
        tasks = self._saved.tasks
        for index in owners_of_group(group, len(tasks)):
            reader = self._reader(tasks[index])
            if reader is None:
                continue
            own = groups_of(index, len(tasks))
            if reader.table_id.kind is StateKind.PLAIN:
                groups = [0] if group == own.start else []
            elif group == own.start:
                groups = [group, *(each for each in ALL_GROUPS if each not in own)]
            else:
                groups = [group]
            yield from rows_of(reader, tasks[index], groups)

    def _reader(self, task: int) -> StateReader | None:
        if task not in self._open:
            stack = ExitStack()
            self._open[task] = self._saved.opened(task, stack), stack
            if len(self._open) > self.TASKS_OPEN:
                self._close(next(iter(self._open)))
        self._open[task] = self._open.pop(task)
        return self._open[task][0]

    def _close(self, task: int) -> None:
        self._open.pop(task)[1].close()

    def close(self) -> None:
        """Let the states go."""
        for task in list(self._open):
            self._close(task)


def _made(name: str, codec: StateCodec, folder: str) -> StateBackend:
    if name == MEMORY:
        return MemoryBackend(codec)
    # Late: few need it.
    from heron_io.state_backends.rocksdb import RocksBackend

    return RocksBackend(codec, folder)


def rows_of(reader: StateReader, task: int, groups: Sequence[int]) -> Iterator[StateRow]:
    """The entries of one task's state in some key groups, group by group."""
    is_plain = reader.table_id.kind is StateKind.PLAIN
    for group, key in _keys_by_group(reader, groups, is_plain):
        for sub, value in reader.stored(key):
            expires_at = reader.deadline(key, sub)
            yield StateRow(key, sub, value, None if is_plain else group, task, expires_at)


def _keys_by_group(
    reader: StateReader, groups: Sequence[int], is_plain: bool
) -> Iterator[tuple[int, Any]]:
    if is_plain:
        yield from ((0, key) for key in (reader.all_keys() if 0 in groups else ()))
        return
    if (in_groups := reader.keys_of_groups) is not None:
        for group in groups:
            yield from ((group, key) for key in in_groups([group]))
        return
    by_group: dict[int, list[Any]] = {group: [] for group in groups}
    for key in reader.all_keys():
        keys_of_group = by_group.get(key_group(key))
        if keys_of_group is not None:
            keys_of_group.append(key)
    for group, some in by_group.items():
        yield from ((group, key) for key in some)


# --- where states are ---------------------------------------------------------------------------


def open_saved(
    where: str, name: str, store: StateStore | None, home: str, *, is_folder: bool | None = None
) -> StateOfCheckpoint:
    """COMPONENT.STATE of a savepoint's folder (or a checkpoint's, or its URL), or of the newest
    completed checkpoint of the topology `where`; `is_folder` tells the two apart, None: by the
    existing files. `home`: the user's folder. UsageError with the existing states."""
    in_folder = _is_folder(where) if is_folder is None else is_folder
    spec = None if in_folder else _submitted(where, store)
    folder, description = _opened(where) if in_folder else _newest(where, spec, store, home)
    component, state = _named(description, folder.path, name)
    known = None if spec is None else spec.by_name.get(component)
    is_divided = known is not None and known.is_divided_by_key
    return StateOfCheckpoint(folder, description, component, state, is_divided)


def _is_folder(where: str) -> bool:
    return "://" in where or os.path.isdir(where)


def _opened(url: str) -> tuple[StateFolder, Description]:
    files = open_checkpoint_store(url)
    folder = files.savepoint()
    description = description_from_json(folder.description(), url)
    return (folder if description.is_savepoint else files.as_checkpoint()), description


def _submitted(topology: str, store: StateStore | None) -> TopologySpec | None:
    data = None if store is None else store.get(topology_path(topology))
    return None if data is None else topology_from_json(data)


def _newest(
    topology: str, spec: TopologySpec | None, store: StateStore | None, home: str
) -> tuple[StateFolder, Description]:
    """Of the checkpoints of a topology, running or not."""
    url, completed = _location(topology, spec, store, home)
    files = open_checkpoint_store(url)
    for number in completed or list(reversed(files.numbers(topology))):
        folder = files.checkpoint(topology, number)
        if folder.is_described:
            where = f"{url}/{topology}/{number}"
            return folder, description_from_json(folder.description(), where)
    raise UsageError(
        f"{topology} has no completed checkpoint, and is not a folder: name a savepoint's "
        f"folder, or a topology that runs in {keys.EFFECTIVELY_ONCE}"
    )


def _location(
    topology: str, spec: TopologySpec | None, store: StateStore | None, home: str
) -> tuple[str, list[int]]:
    """(URL of the topology's checkpoints, numbers of the complete ones, the newest first)"""
    beside = os.path.join(home, "topologies", topology, "checkpoints")
    if store is None or spec is None:
        return beside, []
    logs = (store.get(execution_path(topology)) or {}).get("logs")
    if logs:
        beside = os.path.join(os.path.dirname(os.path.abspath(logs)), "checkpoints")
    node = store.get(checkpoints_path(topology)) or {}
    # What is in the memory of containers alone has no files.
    stored = [each for each in node.get("completed", ()) if not each.get("in_memory")]
    numbers = sorted((int(each["number"]) for each in stored), reverse=True)
    return str(spec.config.get(keys.CHECKPOINT_STORE) or beside), numbers


def _named(description: Description, where: str, name: str) -> tuple[str, str]:
    """The component and the state of COMPONENT.STATE; a component alone stands for its entries of
    put()."""
    components = [each for each in description.components if f"{name}.".startswith(f"{each}.")]
    if not components:
        known = first_of(description.components)
        raise UnknownState(f"{where} has no component {name!r:.200} (its components: {known})")
    component = max(components, key=len)
    return component, name[len(component) + 1 :] or PUT
