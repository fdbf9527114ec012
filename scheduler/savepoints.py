"""Savepoints: copies of a checkpoint in a folder that outlives its topology, and restores.

A savepoint is self-contained: the states of all tasks, their files, and a description. A
topology starts from a savepoint, or from a checkpoint's own folder, as from its own checkpoint:
the states are copied into its store before its master starts.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from itertools import chain, count, islice
from typing import Any

from msgspec import Struct, field

from heron_core import config as keys
from heron_core.errors import HeronError, UsageError
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.state.description import (
    Contents,
    Description,
    SavedComponent,
    contents_of,
    description_from_json,
    description_of,
)
from heron_core.state.parts import Parts, StatePart, encode_parts
from heron_core.state.restore_plan import RestorePlan, RestoreShare, plan_restore
from heron_core.topology import TopologySpec
from heron_core.typed_json import to_json
from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.opening import is_on_this_machine, open_checkpoint_store
from heron_io.checkpoint_store.signatures import SIGNATURE, Trust, sign
from heron_io.checkpoint_store.signer import digest_of_state
from heron_io.checkpoint_store.state_folder import DESCRIPTION, StateFolder, wrong
from heron_io.security import Keys

NO_STATE = b""
"""State of a task without saved state."""


def store_url(topology: TopologySpec, beside_logs: str) -> str:
    """A topology's checkpoint store: the configured one, or beside its logs."""
    beside = os.path.join(os.path.dirname(os.path.abspath(beside_logs)), "checkpoints")
    return str(topology.config.get(keys.CHECKPOINT_STORE) or beside)


def run_of(pair: Keys) -> str:
    """Name of one run, equal for all its processes and for a resumed run."""
    return pair.run or hashlib.sha256(pair.public.encode()).hexdigest()[:16]


def begin_run(topology: TopologySpec, url: str, pair: Keys) -> None:
    """Mark a checkpoint store as used by the run; HeronError on failure. For folders only: a
    store with a server is unreachable when down, and never looks empty."""
    config = keys.with_defaults(topology.config)
    saves = keys.takes_checkpoints(config) or keys.saves_states(config)
    if saves and is_on_this_machine(url):
        open_checkpoint_store(url).begin_run(topology.name, run_of(pair))


def absolute_url(given: str) -> str:
    """A folder as the command line names it, also for processes with another working folder."""
    if "://" in given:
        return given.removeprefix("file://").rstrip("/") if given.startswith("file://") else given
    return os.path.abspath(os.path.expanduser(given))


# --- taking one -------------------------------------------------------------------------------


class Taking(Struct, frozen=True):
    """A savepoint that is being written from a completed checkpoint."""

    topology: TopologySpec
    packing: PackingPlan
    store: CheckpointFiles
    checkpoint: int
    at: float
    url: str
    """Its folder."""
    key: bytes = b""
    """Signing key; empty: unsigned."""

    def copied(self) -> Iterator[str]:
        """Copy the states one by one; reports progress before each. CheckpointStoreError on
        failure, after removing the written part."""
        source = self.store.checkpoint(self.topology.name, self.checkpoint)
        target = open_checkpoint_store(self.url).savepoint()
        contents: dict[int, Contents] = {}
        digests: dict[int, str] = {}
        tasks = self.packing.instances
        try:
            for task in tasks:
                yield f"writing the savepoint: {len(contents)} of {len(tasks)} states"
                state = source.load(task)
                contents[task] = contents_of(state, f"{source.path}/{task}")
                digests[task] = digest_of_state(state)
                target.save(task, state)
            described = to_json(self._described(contents))
            if self.key:
                sign(target, self.key, described, digests)
            target.describe(described)
        except HeronError:
            _remove(target, list(tasks))
            raise

    def _described(self, contents: Mapping[int, Contents]) -> Description:
        plain = description_of(self.topology, self.packing, self.checkpoint, self.at)
        components = {
            name: replace(
                component,
                states=tuple(
                    dict.fromkeys(s for task in component.tasks for s in contents[task].states)
                ),
            )
            for name, component in plain.components.items()
        }
        return replace(plain, components=components, is_savepoint=True)


def check_is_free(url: str) -> None:
    """UsageError for an existing savepoint or other content; the store's own error if
    unreadable."""
    target = open_checkpoint_store(url).savepoint()
    try:
        found = target.access.names(target.path)
    except Exception as error:
        raise wrong(f"{target.path} cannot be used", error) from error
    if found:
        raise UsageError(f"{target.path} is not empty: name a folder that is new")


def _remove(folder: StateFolder, tasks: list[int]) -> None:
    """As far as possible: what is left without a description is no savepoint."""
    try:
        for task in tasks:
            for name in folder.files_of(task) or ():
                folder.access.remove(f"{folder.path}/shared/{task}/{name}")
            folder.access.remove(f"{folder.path}/{task}.files")
            folder.access.remove(f"{folder.path}/{task}")
        folder.access.remove(f"{folder.path}/{SIGNATURE}")
        folder.access.remove(f"{folder.path}/{DESCRIPTION}")
    except Exception:  # the original error is reported
        return


# --- beginning with one -----------------------------------------------------------------------


class Savepoint(Struct, frozen=True):
    """A checked folder: the initial state of a topology."""

    folder: StateFolder
    description: Description
    plan: RestorePlan
    trust: Trust = field(default_factory=Trust)

    def write(self, store: CheckpointFiles, topology: str, number: int) -> int:
        """Copy all states into a topology's store as its checkpoint `number`; their size in
        bytes.

        The caller writes the description (`described`).
        """
        target = store.checkpoint(topology, number)
        size_bytes = 0
        for task, state in self._states():
            target.save(task, state)
            size_bytes += len(state)
        return size_bytes

    def _states(self) -> Iterator[tuple[int, bytes]]:
        for task, share in self.plan.shares.items():
            yield task, self._state_of(share)
        for name, numbers in self.previous.items():
            for task, number in zip(self.plan.divided[name], numbers, strict=True):
                yield number, self._load(task)

    @property
    def previous(self) -> dict[str, tuple[int, ...]]:
        """component -> numbers of its previous tasks in the topology's store, read by the present
        tasks to divide their input (Restore.previous): the numbers follow the starting tasks'.
        """
        numbers = count(max(self.plan.shares, default=0) + 1)
        return {
            name: tuple(islice(numbers, len(tasks))) for name, tasks in self.plan.divided.items()
        }

    def described(self, plain: Description) -> Description:
        """Description of the checkpoint, given a description with a state per task: input
        unprocessed in it is redistributed by the next run, after any kind of end."""
        previous = {name: SavedComponent(tasks) for name, tasks in self.previous.items()}
        components = {**plain.components, **previous}
        return replace(plain, components=components, at_end=self.description.at_end)

    def _state_of(self, share: RestoreShare) -> bytes:
        if not share.sources:
            return NO_STATE
        if share.is_whole:
            return self._load(share.sources[0].task)
        parts = (StatePart(each.key_range, self._load(each.task)) for each in share.sources)
        return encode_parts(Parts(share.key_range, tuple(parts)))

    def _load(self, task: int) -> bytes:
        return self.trust.check_again(task, self.folder.load(task), self.folder.path)

    def node(self, number: int, size_bytes: int) -> dict[str, Any]:
        """Checkpoint node of the state store: the topology has completed the checkpoint."""
        at = self.description.at
        completed: dict[str, Any] = {
            "number": number,
            "at": at,
            "secs": 0.0,
            "size_bytes": size_bytes,
        }
        if previous := {name: list(tasks) for name, tasks in self.previous.items()}:
            completed |= {
                "former": previous,
                "with_input": list(chain.from_iterable(previous.values())),
            }
        return {"latest": number, "completed": [completed]}


def read_savepoint(
    url: str,
    topology: TopologySpec,
    packing: PackingPlan,
    allow_non_restored: bool,
    trust: Trust | None = None,
) -> Savepoint:
    """The savepoint, or the checkpoint, in a folder, with every state read and verified; values
    stay unopened. `trust`: authors whose code may run. HeronError names missing, damaged, untrusted
    or mismatched state.
    """
    trust = trust or Trust()
    config = keys.with_defaults(topology.config)
    if not keys.takes_checkpoints(config):
        raise UsageError(
            f"{topology.name} does not run in {keys.EFFECTIVELY_ONCE}, so it cannot start from a "
            f"savepoint: -o {keys.RELIABILITY_MODE}={keys.EFFECTIVELY_ONCE}"
        )
    files = open_checkpoint_store(url)
    folder = files.savepoint()
    described = folder.description()
    description = description_from_json(described, url)
    if not description.is_savepoint:
        folder = files.as_checkpoint()
    contents: dict[int, Contents] = {}
    names = {task: name for name, each in description.components.items() for task in each.tasks}
    signer = trust.signer(description.topology, description.checkpoint)
    for task in names:
        state = folder.check(task)
        contents[task] = contents_of(state, f"{folder.path}/{task}")
        is_signed = not description.is_savepoint and folder.is_signed(task, state, signer)
        trust.add(task, state, is_signed)
    trust.check(folder, described, names)
    backend = keys.state_backend(config)
    plan = plan_restore(url, description, contents, packing, backend, allow_non_restored)
    return Savepoint(folder, description, plan, trust)
