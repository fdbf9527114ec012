"""Savepoints written from entries, as the start of a new topology.

The states are in the format of tasks and in the topology's backend: a topology restores the
savepoint like any other, and divides the keys among its tasks.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from msgspec import Struct

from heron_core.errors import StateError, UsageError, shown
from heron_core.state.codec import StateCodec
from heron_core.state.description import Description, SavedComponent, SavedState, contents_of
from heron_core.state.keys import owner, shown_key
from heron_core.state.memory import MEMORY, MemoryBackend
from heron_core.state.named_states import deadlines_of
from heron_core.state.protocol import ABSENT, StateBackend, StateKind, TableId
from heron_core.state.questions import PUT, READABLE
from heron_core.typed_json import to_json
from heron_core.version import version_of_heronpy
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.checkpoint_store.signatures import sign
from heron_io.checkpoint_store.signer import digest_of_state
from heron_io.checkpoint_store.state_folder import StateFolder, wrong

WRITABLE = set(READABLE) - {StateKind.MERGEABLE, StateKind.PARTIAL}
"""Kinds of states to write. A monoid's values are read as estimates, and an estimate does not
determine the value."""
CHECKPOINT = 1
"""Checkpoint number of a savepoint written from entries."""


class NewEntry(Struct, frozen=True):
    """An entry of a state, with its key in the form of states."""

    key: Any
    sub: Any
    value: Any
    expires_at: float | None = None


class NewState(Struct, frozen=True):
    """One state of a component."""

    component: str
    state: str
    kind: StateKind
    entries: Iterable[NewEntry]

    @property
    def name(self) -> str:
        """COMPONENT.STATE"""
        return f"{self.component}.{self.state}"

    @property
    def table(self) -> TableId:
        """The table of this state in a backend."""
        is_plain = self.kind is StateKind.PLAIN
        return TableId(
            "" if is_plain else self.state,
            self.kind,
            self.kind.is_nested,
            self.kind is StateKind.LIST,
        )


class SavepointPlan(Struct, frozen=True, kw_only=True):
    """Properties of a new savepoint."""

    topology: str
    at: float
    """Time of the savepoint, in seconds since 1970."""
    tasks: int = 1
    """Number of tasks of each component in the savepoint; a restored topology may have any
    number."""
    backend: str = MEMORY
    key: bytes = b""
    """Key of the signature; empty: unsigned, which is valid for plain values in memory alone."""


def write_savepoint(url: str, states: Sequence[NewState], plan: SavepointPlan) -> dict[str, int]:
    """Write a savepoint into a new folder; COMPONENT.STATE -> number of entries. UsageError for
    invalid entries; then the folder has no part of the savepoint."""
    _check(states)
    folder = open_checkpoint_store(url).savepoint()
    _check_is_free(folder)
    components: dict[str, SavedComponent] = {}
    digests: dict[int, str] = {}
    counts: dict[str, int] = {}
    try:
        for name in dict.fromkeys(state.component for state in states):
            own = [state for state in states if state.component == name]
            first = len(digests) + 1
            components[name] = _write_component(folder, name, own, plan, first, digests, counts)
        described = to_json(_described(components, plan))
        if plan.key:
            sign(folder, plan.key, described, digests)
        folder.describe(described)
    except BaseException:
        folder.access.remove_folder(folder.path)
        raise
    return counts


def _check(states: Sequence[NewState]) -> None:
    names = [state.name for state in states]
    if not names:
        raise UsageError("a savepoint needs at least one state")
    for state in states:
        if names.count(state.name) > 1:
            raise UsageError(f"duplicate state {state.name}")
        if state.kind not in WRITABLE or (state.kind is StateKind.PLAIN) != (state.state == PUT):
            raise UsageError(
                f"{state.name} cannot be a {state.kind} state: the kinds are value, list, map and"
                f" reducing, and plain for what {PUT}() keeps, whose state is called {PUT}"
            )


def _check_is_free(folder: StateFolder) -> None:
    try:
        found = folder.access.names(folder.path)
    except Exception as error:
        raise wrong(f"{folder.path} cannot be used", error) from error
    if found:
        raise UsageError(f"{folder.path} is not empty: name a folder that is new")


def _write_component(
    folder: StateFolder,
    name: str,
    states: Sequence[NewState],
    plan: SavepointPlan,
    first: int,
    digests: dict[int, str],
    counts: dict[str, int],
) -> SavedComponent:
    tasks = tuple(range(first, first + plan.tasks))
    with ExitStack() as stack:
        backends = [_made(stack, plan.backend, name) for _ in tasks]
        for state in states:
            counts[state.name] = _fill(backends, state)
        filled: list[SavedState] = []
        for task, backend in zip(tasks, backends, strict=True):
            data = backend.snapshot()
            folder.save(task, data)
            digests[task] = digest_of_state(data)
            filled += contents_of(data, f"{folder.path}/{task}").states
    return SavedComponent(tasks, tuple(dict.fromkeys(filled)))


def _made(stack: ExitStack, backend: str, component: str) -> StateBackend:
    codec = StateCodec(component)
    if backend == MEMORY:
        return MemoryBackend(codec)
    from heron_io.state_backends.rocksdb import RocksBackend  # late: few need it

    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="heron-new-state-"))
    made = RocksBackend(codec, os.path.join(folder, "db"))
    stack.callback(made.close)
    return made


def _fill(backends: Sequence[StateBackend], state: NewState) -> int:
    """Put each entry into the backend of its key; returns the number of entries."""
    tables = [backend.table(state.table) for backend in backends]
    deadlines = [None for _ in backends] if state.kind is StateKind.PLAIN else [
        backend.table(deadlines_of(state.table)) for backend in backends
    ]  # fmt: skip
    number = 0
    for number, entry in enumerate(state.entries, 1):  # noqa: B007 (counted)
        try:
            at = 0 if state.kind is StateKind.PLAIN else owner(entry.key, len(backends))
            table = tables[at]
            sub = _sub(state, entry, table.last(entry.key))
            if table.get(entry.key, sub) is not ABSENT:
                raise UsageError(f"duplicate entry {_where(state, entry)}")
            table.put(entry.key, entry.value, sub)
        except (StateError, TypeError) as error:
            raise UsageError(f"{_where(state, entry)} cannot be deadlines_there: {error}") from None
        if entry.expires_at is not None:
            deadlines_there = deadlines[at]
            if deadlines_there is None:
                raise UsageError(f"{_where(state, entry)} has a time to live, and put() has none")
            deadlines_there.put(entry.key, entry.expires_at, sub)
    return number


def _sub(state: NewState, entry: NewEntry, last: Any) -> Any:
    """The index in a list, in order; the key in a map; None for other states."""
    if state.kind is StateKind.LIST:
        index = (-1 if last is None else last) + 1 if entry.sub is None else entry.sub
        if type(index) is not int or index < 0 or (last is not None and index < last):
            raise UsageError(
                f"{_where(state, entry)} has the index {shown(entry.sub, 60)} behind"
                f" {last}: the elements of a list come in their order"
            )
        return index
    if state.kind is not StateKind.MAP and entry.sub is not None:
        raise UsageError(f"{_where(state, entry)} has a map_key, and a {state.kind} state has none")
    return entry.sub


def _where(state: NewState, entry: NewEntry) -> str:
    of_map = "" if entry.sub is None else f" [{shown(entry.sub, 60)}]"
    return f"{state.name}: the key {shown(shown_key(entry.key), 60)}{of_map}"


def _described(components: Mapping[str, SavedComponent], plan: SavepointPlan) -> Description:
    return Description(
        topology=plan.topology,
        checkpoint=CHECKPOINT,
        at=plan.at,
        version=version_of_heronpy(),
        components=components,
        backend=plan.backend,
        is_savepoint=True,
    )
