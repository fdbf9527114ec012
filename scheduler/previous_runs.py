"""State left by an unfinished run for the next run of its name.

In EFFECTIVELY_ONCE: the newest completed checkpoint; in ATLEAST_ONCE: the latest states saved by
instances. The next `run` or `submit` resumes from the state, unless a start from scratch is
requested. A finished run, or a run killed by a user, leaves nothing to resume: states in a
configured store remain there, and a mark records the numbers of finished runs.
"""

import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.errors import HeronError, UsageError
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.state.description import (
    Description,
    contents_of,
    description_from_json,
    description_of,
)
from heron_core.state.restore_plan import plan_restore
from heron_core.topology import TopologySpec
from heron_core.typed_json import to_json
from heron_engine.scheduler.savepoints import Savepoint
from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.protocol import CheckpointStoreError
from heron_io.checkpoint_store.state_folder import StateFolder

Node = Mapping[str, Any]
"""What the state store says of the checkpoints of a topology: latest, completed."""
FRESH_HINT = "--fresh starts from scratch"
OWN_RUN = "own"
"""Key of that node: the run whose instances save states by themselves in a folder."""


class PreviousRun(Struct, frozen=True):
    """What a run has left."""

    where: str
    """Folder of the state."""
    checkpoint: int = 0
    """0: states that instances have saved by themselves."""
    at: float = 0.0
    """When it was triggered, in seconds since 1970."""
    node: Node | None = None
    """Content for the state store, if all tasks are unchanged."""
    savepoint: Savepoint | None = None
    """Redistribution of the states over other tasks; None: unchanged tasks."""
    run: str = ""
    """Run whose instances saved the states."""

    def __str__(self) -> str:
        if not self.checkpoint:
            return "the last saved states of its components"
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.at))
        return f"checkpoint {self.checkpoint} of {at}"


def previous_run_of(
    topology: TopologySpec, packing: PackingPlan, files: CheckpointFiles, node: Node
) -> PreviousRun | None:
    """State for resuming a topology; None without a previous run. `node`: checkpoints in the state
    store. HeronError in one line for state that cannot be restored.
    """
    config, name = keys.with_defaults(topology.config), topology.name
    check_presence(name, files, node)
    newest = _newest(name, files, node)
    runs = files.runs(name)
    takes, saves = keys.takes_checkpoints(config), keys.saves_states(config)
    if newest and not takes:
        raise _other_mode(topology, f"checkpoint {newest}", keys.EFFECTIVELY_ONCE)
    if runs and not saves:
        raise _other_mode(topology, "the saved states of its components", keys.ATLEAST_ONCE)
    try:
        if newest:
            return _checkpoint(topology, packing, files, node, newest)
        return _own_states(topology, packing, files, runs[-1]) if runs else None
    except HeronError as error:
        raise type(error)(f"{error}; {FRESH_HINT}") from error


def check_presence(name: str, files: CheckpointFiles, node: Node) -> None:
    """CheckpointStoreError if the state store knows of states and the checkpoint store has none: an
    unmounted disk is an empty folder."""
    try:
        if _in_store(node) and not files.numbers(name):
            raise files.absent(name)
        if run := node.get(OWN_RUN):
            files.check_run(name, str(run))
    except CheckpointStoreError as error:
        raise type(error)(f"{error}; {FRESH_HINT}") from error


def _other_mode(topology: TopologySpec, what: str, mode: str) -> UsageError:
    name, key = topology.name, keys.RELIABILITY_MODE
    now = keys.reliability(keys.with_defaults(topology.config))
    return UsageError(
        f"a previous run of {name} left {what}, which {now} does not use: -o {key}={mode} "
        f"resumes from there, {FRESH_HINT}"
    )


def _newest(name: str, files: CheckpointFiles, node: Node) -> int:
    """Number of the newest complete checkpoint; 0 without a previous run."""
    over = files.over(name)
    completed = max((int(each["number"]) for each in _in_store(node)), default=0)
    # The state store may have been replaced or emptied: a described checkpoint is complete, too.
    numbers = (n for n in reversed(files.numbers(name)) if n > over)
    described = next((n for n in numbers if files.checkpoint(name, n).is_described), 0)
    return max(described, completed if completed > over else 0)


def _in_store(node: Node) -> list[Node]:
    """Completed checkpoints of the checkpoint store. A newer checkpoint in memory
    (heron_core.state.backup) has ended with its containers, before any commit."""
    return [each for each in node.get("completed", ()) if not each.get("in_memory")]


def _checkpoint(
    topology: TopologySpec, packing: PackingPlan, files: CheckpointFiles, node: Node, number: int
) -> PreviousRun:
    """Never an older checkpoint: sinks have committed the newest."""
    name = topology.name
    folder = files.checkpoint(name, number)
    description = description_from_json(folder.description(), folder.path)
    entry: Node = next((e for e in node.get("completed", ()) if e["number"] == number), {})
    completed = {
        "number": number,
        "at": description.at,
        "secs": 0.0,
        "size_bytes": int(entry.get("size_bytes", 0)),
        "at_end": description.at_end,
    }
    latest = max(number, int(node.get("latest", 0)), *files.numbers(name))
    previous = PreviousRun(
        folder.path, number, description.at, {"latest": latest, "completed": [completed]}
    )
    if _is_same(description, topology, packing):
        folder.check_presence(packing.instances)
        folder.check_signatures(packing.instances)
        return previous
    return replace(previous, savepoint=_divided(description, folder, topology, packing))


def _is_same(description: Description, topology: TopologySpec, packing: PackingPlan) -> bool:
    tasks = {name: each.tasks for name, each in description.components.items()}
    plain = description_of(topology, packing, description.checkpoint, description.at)
    return (
        tasks == {name: each.tasks for name, each in plain.components.items()}
        and description.backend == plain.backend
        and description.key_groups == plain.key_groups
    )


def _divided(
    description: Description, folder: StateFolder, topology: TopologySpec, packing: PackingPlan
) -> Savepoint:
    contents = {
        task: contents_of(folder.check(task), f"{folder.path}/{task}")
        for component in description.components.values()
        for task in component.tasks
    }
    backend = keys.state_backend(keys.with_defaults(topology.config))
    plan = plan_restore(folder.path, description, contents, packing, backend, False)
    return Savepoint(folder, description, plan)


def _own_states(
    topology: TopologySpec, packing: PackingPlan, files: CheckpointFiles, run: str
) -> PreviousRun:
    """States belong to tasks, which must belong to unchanged components."""
    folder = files.own(topology.name, run)
    description = description_from_json(folder.description(), folder.path)
    tasks = dict(packing.tasks_of)
    changed = [
        name
        for name, component in description.components.items()
        if tuple(tasks.get(name, ())) != component.tasks
    ]
    if changed:
        names = ", ".join(changed)
        raise HeronError(
            f"{folder.path} has the saved states of {topology.name} by task, but the tasks of "
            f"{names} have changed: restore the previous parallelism of all components"
        )
    return PreviousRun(folder.path, run=run)


def describe_own(topology: TopologySpec, packing: PackingPlan, files: CheckpointFiles) -> None:
    """Say whose the states are that instances have saved by themselves, for the next run."""
    if not keys.saves_states(keys.with_defaults(topology.config)):
        return
    for run in files.runs(topology.name):
        described = description_of(topology, packing, 0, time.time())
        files.own(topology.name, run).describe(to_json(described))


def leave(name: str, files: CheckpointFiles) -> None:
    """The store has states of finished runs only: later runs do not resume from them."""
    files.forget_own(name)
    newest = max(files.numbers(name), default=0)
    if newest > files.over(name):
        files.mark_over(name, newest)
