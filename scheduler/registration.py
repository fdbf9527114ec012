"""A topology's nodes in the state store: written, read, removed."""

import logging
import os
import shutil
import socket
from collections.abc import Callable, Mapping
from typing import Any

from heron_core import config as keys
from heron_core.errors import HeronError, NameInUse
from heron_core.operations import REQUESTER
from heron_core.plans import TopologyState, packing_from_json, packing_to_json
from heron_core.records import replace
from heron_core.state.description import description_of
from heron_core.state_tree import (
    checkpoints_path,
    execution_path,
    fence_path,
    fences_path,
    keys_path,
    master_path,
    packing_path,
    physical_path,
    restart_requests_path,
    scheduler_path,
    topology_path,
)
from heron_core.topology import TopologySpec, topology_from_json, topology_to_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.backends.protocol import Backend, SelfRunning
from heron_engine.scheduler.operations import TopologyRequests, requester
from heron_engine.scheduler.outcomes import outcome_of, time_text, write_ended_outcome
from heron_engine.scheduler.own_nodes import GUARDIAN
from heron_engine.scheduler.packaging.stored_code import forget_code
from heron_engine.scheduler.previous_runs import (
    FRESH_HINT,
    OWN_RUN,
    check_presence,
    describe_own,
    leave,
    previous_run_of,
)
from heron_engine.scheduler.savepoints import begin_run, run_of, store_url
from heron_engine.scheduler.socket_folders import remove_sockets
from heron_engine.scheduler.stored_outcomes import end_of, record_end
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_io.checkpoint_store.checkpoint_files import CheckpointFiles
from heron_io.checkpoint_store.opening import is_on_this_machine, open_checkpoint_store
from heron_io.polling import wait_until
from heron_io.processes import started_at, user_name
from heron_io.security import Keys
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

log = logging.getLogger("scheduler")

SUBMITTED_SECS = 3.0
"""Between a topology's first node and its scheduler's: one write to a state store under load."""


def resumed(submission: Submission) -> Submission:
    """The submission with a previous run's state, for `register`; HeronError in one line if the
    state cannot be restored."""
    topology, packing = submission.topology, submission.packing
    with open_store(submission.store_url) as store:
        _remove_stale(store, topology.name)
        if store.get(topology_path(topology.name)) is not None:
            return submission  # running: registration reports the conflict
        node = store.get(checkpoints_path(topology.name)) or {}
    pair = submission.keys
    try:
        files = _files_of(topology, submission.home, pair)
        files.numbers(topology.name)
    except HeronError as error:
        if node.get("completed") or OWN_RUN in node:
            raise type(error)(f"{error}; {FRESH_HINT}") from error
        # containers may reach a store that the command cannot, and report errors themselves
        return submission
    previous = previous_run_of(topology, packing, files, node)
    if previous is None:
        return submission
    return replace(submission, previous=previous, keys=replace(pair, run=previous.run))


def fresh_start(submission: Submission) -> str:
    """With --fresh: state left by previous runs, in words; empty if none. `bring_states` removes
    the state, except in a configured store."""
    name = submission.topology.name
    with open_store(submission.store_url) as store:
        node = store.get(checkpoints_path(name)) or {}
    try:
        files = _files_of(submission.topology, submission.home)
        check_presence(name, files, node)
        newest, runs = max(files.numbers(name), default=0), files.runs(name)
    except HeronError as error:
        return f"the remains of previous runs of {name} stay in place: {error}"
    if not newest and not runs:
        return ""
    folder = files.checkpoint(name, newest).path
    if not submission.topology.config.get(keys.CHECKPOINT_STORE):
        parent = os.path.dirname(folder)
        return f"{name} starts from scratch: what previous runs have left in {parent} is removed"
    if not newest:
        return f"{name} starts from scratch: the states that previous runs have left are removed"
    return (
        f"{name} starts from scratch and keeps {folder}: start from it with --from-savepoint "
        f"{folder}"
    )


def _files_of(topology: TopologySpec, home: Home, pair: Keys | None = None) -> CheckpointFiles:
    """`pair`: keys of the run that reads or writes the states."""
    key = b"" if pair is None else pair.states_key
    return open_checkpoint_store(store_url(topology, home.logs(topology.name)), key)


def register(submission: Submission, backend: Backend) -> None:
    """Write the topology's nodes; NameInUse for a running topology of the name, HeronError if the
    back end cannot run the topology.
    """
    backend.check(submission)
    name = submission.topology.name
    with open_store(submission.store_url) as store:
        _remove_stale(store, name)
        try:
            store.create(topology_path(name), topology_to_json(submission.topology))
        except NameInUse:
            raise _taken(name, store.get(scheduler_path(name)) or {}) from None
        # A request created just before the end of an earlier topology is not for the new one.
        TopologyRequests(store, name).remove_all()
        node = scheduler_node(backend)
        # Until a scheduler of ours writes its own node, the command stands for the scheduler:
        # without a live process the topology would be stale, and lost to the next submission.
        store.put(
            scheduler_path(name), node if isinstance(backend, SelfRunning) else {**node, **_own()}
        )
        store.put(packing_path(name), packing_to_json(submission.packing))
        store.put(keys_path(name), to_json(submission.keys))
        store.put(execution_path(name), _first_state(submission))


def _own() -> dict[str, Any]:
    """This process, in a scheduler's node."""
    return {"pid": os.getpid(), "started": started_at(os.getpid())}


def _first_state(submission: Submission) -> dict[str, Any]:
    return {
        "state": TopologyState.RUNNING,
        "reason": "",
        "submitted_at": time_text(),
        "host": socket.gethostname(),
        "user": user_name(),
        REQUESTER: to_json(requester()),
        "logs": submission.home.logs(submission.topology.name),
    }


def bring_states(submission: Submission, *, is_here: bool = False) -> None:
    """Put the initial states where instances read them; HeronError on failure. A start from
    scratch must not find states of previous runs.

    A configured store may have checkpoints of previous topologies of the name: they keep their
    numbers, and new ones follow. `is_here`: all processes are local.
    """
    topology, name = submission.topology, submission.topology.name
    config = keys.with_defaults(topology.config)
    if submission.previous is None and not config.get(keys.CHECKPOINT_STORE):
        shutil.rmtree(submission.home.states(name), ignore_errors=True)
    if not (keys.takes_checkpoints(config) or keys.saves_states(config)):
        return
    with open_store(submission.store_url) as nodes:
        previous = nodes.get(checkpoints_path(name)) or {}
        try:
            files = _files_of(topology, submission.home, submission.keys)
            node = _brought(submission, files, previous)
            node = _begun(submission, node, is_here)
        except HeronError:
            if submission.savepoint is not None or submission.previous is not None:
                raise
            # containers may reach a store that the command cannot, and report errors themselves
            return
        if (node["latest"] and keys.takes_checkpoints(config)) or OWN_RUN in node:
            nodes.put(checkpoints_path(name), node)
        else:
            nodes.delete(checkpoints_path(name))


def _begun(submission: Submission, node: dict[str, Any], is_here: bool) -> dict[str, Any]:
    """The node with the place of self-saved states: a next run looks for the states at the noted
    place.
    """
    topology, pair = submission.topology, submission.keys
    url = store_url(topology, submission.home.logs(topology.name))
    saves = keys.saves_states(keys.with_defaults(topology.config))
    if is_here or pair.run:
        begin_run(topology, url, pair)
    return {**node, OWN_RUN: run_of(pair)} if saves and is_on_this_machine(url) else node


def _brought(
    submission: Submission, files: CheckpointFiles, previous: Mapping[str, Any]
) -> dict[str, Any]:
    """Checkpoint node of the state store, for the states now in place. `previous`: the earlier
    node."""
    topology, packing, resumed = submission.topology, submission.packing, submission.previous
    name = topology.name
    if resumed is None:
        leave(name, files)
    elif resumed.node is not None and resumed.savepoint is None:
        _discard_others(name, files, resumed.checkpoint)
        return dict(resumed.node)
    numbers = files.numbers(name)
    if not numbers and topology.config.get(keys.CHECKPOINT_STORE) and previous.get("completed"):
        # The disk is not mounted: old and new checkpoints must have distinct numbers after its
        # return.
        numbers = [int(previous.get("latest", 0))]
    latest = max(numbers, default=0)
    savepoint = submission.savepoint if resumed is None else resumed.savepoint
    if savepoint is None:
        return {"latest": latest, "completed": []}
    # Above its own number too: sinks have named their output by earlier numbers.
    number = max(latest, savepoint.description.checkpoint) + 1
    size_bytes = savepoint.write(files, name, number)
    described = description_of(topology, packing, number, savepoint.description.at)
    files.checkpoint(name, number).describe(to_json(savepoint.described(described)))
    return savepoint.node(number, size_bytes)


def _discard_others(name: str, files: CheckpointFiles, number: int) -> None:
    """Of the run: checkpoints older than the restored one are never used, and would remain
    forever. Problems must not prevent the topology's start."""
    over = files.over(name)
    for other in files.numbers(name):
        if over < other != number:
            try:
                files.discard(name, other)
            except HeronError as error:
                log.warning("%s", error)


def _taken(name: str, node: dict[str, Any]) -> NameInUse:
    pid, host = node.get("pid"), node.get("host")
    who = f"on cluster {node['cluster']}" if "cluster" in node else f"scheduler pid {pid}"
    return NameInUse(
        f"topology {name!r} is already running ({who}, submitted on {host}): choose another name "
        f"with -N, or `heronpy kill {name}`"
    )


def deploy(submission: Submission, backend: SelfRunning) -> None:
    """Hand a registered topology to a self-running cluster; if the cluster refuses, remove the
    nodes and raise HeronError with the reason.
    """
    submission.home.clean_logs(submission.topology.name)
    try:
        bring_states(submission)
        backend.deploy(submission)
    except BaseException:
        forget_submission(submission)
        raise


def scheduler_node(backend: Backend) -> dict[str, Any]:
    """The scheduler's node, without what only a scheduler process of ours has."""
    return {"kind": backend.kind, "host": socket.gethostname(), **backend.node_fields()}


def is_alive(node: Any | None) -> bool:
    """Whether the scheduler in `node` (its node's value) is running, or its guardian, its
    replacement; a remote scheduler is trusted, and so is a self-running cluster without pid.
    """
    if not isinstance(node, dict):
        return False
    if "pid" not in node or node.get("host") != socket.gethostname():
        return True
    return _runs(node) or _runs(node.get(GUARDIAN))


def is_lost(node: Any | None) -> bool:
    """Whether only nodes are left of a topology with this scheduler's node. Without the node the
    topology is being submitted or removed: its existence is the first node and the last."""
    return node is not None and not is_alive(node)


def _runs(process: Any) -> bool:
    if not isinstance(process, dict):
        return False
    pid = process.get("pid")
    return isinstance(pid, int) and pid > 0 and started_at(pid) == process.get("started")


def _remove_stale(store: StateStore, name: str) -> None:
    """Remove the nodes of a scheduler that was killed together with its machine. A topology without
    a scheduler's node is being submitted or removed, and stale after a timeout.
    """

    def is_known() -> bool:
        return store.get(scheduler_path(name)) is not None or store.get(topology_path(name)) is None

    wait_until(is_known, SUBMITTED_SECS)
    if store.get(topology_path(name)) is not None and not is_alive(store.get(scheduler_path(name))):
        forget(store, name)


def forget_submission(
    submission: Submission,
    is_ours: Callable[[Any], bool] = lambda node: True,
    *,
    is_over: bool = False,
    ended: Mapping[str, Any] | None = None,
) -> None:
    """Remove the topology's nodes, if the state store can be reached, unless the scheduler's node
    belongs to another scheduler. `is_over`, `ended`: see `forget`; without `ended` the topology
    never started.
    """
    name = submission.topology.name
    try:
        with open_store(submission.store_url) as store:
            node = store.get(scheduler_path(name))
            if node is None or is_ours(node):
                forget(store, name, is_over=is_over, ended=ended or {})
    except HeronError as error:
        log.warning("the topology's state could not be removed: %s", error)


def forget(
    store: StateStore,
    name: str,
    *,
    is_over: bool = False,
    ended: Mapping[str, Any] | None = None,
) -> None:
    """Remove all nodes of a topology, its existence last.

    The record of the end remains: state, reason, `ended_at`; `ended` None: derived from its
    nodes, empty: never started.

    State for the next run remains, unless `is_over`: killed by a user, or finished. The sockets
    of a locally killed scheduler are removed: their location is not recorded elsewhere.
    """
    node = store.get(scheduler_path(name))
    state = store.get(execution_path(name)) or {}
    if ended is None:
        ended = end_of(state, is_alive(node), f"killed by {user_name()} on {socket.gethostname()}")
    if ended:
        record_end(store, name, ended)
    if isinstance(node, dict) and node.get("host") == socket.gethostname():
        home = Home.of_user()
        if ended and not is_alive(node) and not outcome_of(home, name):
            write_ended_outcome(home, name, ended, state, store.get(packing_path(name)))
        remove_sockets(node.get("sockets"))
    is_over = is_over or state.get("state") == TopologyState.ENDED
    _end_states(store, name, is_over)
    for path in (
        master_path,
        physical_path,
        packing_path,
        keys_path,
        restart_requests_path,
        scheduler_path,
        execution_path,
    ):
        store.delete(path(name))
    forget_code(store, name)
    for request in store.children(restart_requests_path(name)):
        store.delete(f"{restart_requests_path(name)}/{request}")
    for token in store.children(fences_path(name)):
        store.delete(fence_path(name, token))
    store.delete(topology_path(name))
    # Last: clients waiting for the node then see the topology as ended.
    TopologyRequests(store, name).remove_all()


def _end_states(store: StateStore, name: str, is_over: bool) -> None:
    """With or without a next run, records are correct. An unreachable store is checked again by
    the next run."""
    home = Home.of_user()
    stored, packing = store.get(topology_path(name)), store.get(packing_path(name))
    node = store.get(checkpoints_path(name)) or {}
    if is_over:
        store.delete(checkpoints_path(name))
        shutil.rmtree(home.states(name), ignore_errors=True)
    try:
        if stored is None or packing is None:
            return
        plan = packing_from_json(packing)
        topology = plan.topology_of(topology_from_json(stored))
        if not is_over:
            files = _files_of(topology, home)
            _forget_unused(store, name, node, files)
            describe_own(topology, plan, files)
        elif topology.config.get(keys.CHECKPOINT_STORE):
            files = _files_of(topology, home)
            check_presence(name, files, node)
            leave(name, files)
    except HeronError as error:
        log.warning("%s: the start of its next run is not recorded: %s", name, error)


def _forget_unused(
    store: StateStore, name: str, node: Mapping[str, Any], files: CheckpointFiles
) -> None:
    """A run without saved instance states leaves nothing for the next run."""
    if OWN_RUN not in node:
        return
    was_up = store.get(physical_path(name)) is not None
    if was_up or (store.get(keys_path(name)) or {}).get("run"):
        try:
            files.check_run(name, str(node[OWN_RUN]))
        except HeronError:
            return  # it may have saved some where we cannot look now
        if files.runs(name):
            return
        files.forget_own(name)
    store.delete(checkpoints_path(name))


def end_states(submission: Submission) -> None:
    """Remove the states of a finished run whose store is removed completely."""
    shutil.rmtree(submission.home.states(submission.topology.name), ignore_errors=True)
    try:
        if submission.topology.config.get(keys.CHECKPOINT_STORE):
            leave(submission.topology.name, _files_of(submission.topology, submission.home))
    except HeronError as error:
        log.warning("its next run will resume from its last checkpoint: %s", error)
