"""A topology's nodes in the state store: written, read, removed."""

import logging
import shutil
import socket
from collections.abc import Callable
from typing import Any

from heron_core import config as keys
from heron_core.errors import HeronError, NameInUse
from heron_core.plans import TopologyState, packing_to_json
from heron_core.state_tree import (
    checkpoints_path,
    code_archive_path,
    code_path,
    execution_path,
    keys_path,
    master_path,
    packing_path,
    physical_path,
    restart_requests_path,
    scheduler_path,
    topology_path,
)
from heron_core.topology import topology_to_json
from heron_io.checkpoint_store.opening import open_checkpoint_store
from heron_io.processes import started_at, user_name
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from scheduler.backends.protocol import Backend, SelfRunning
from scheduler.operations import Requests
from scheduler.outcomes import time_text, write_lost_outcome
from scheduler.savepoints import store_url
from scheduler.socket_folders import remove_sockets
from scheduler.submission import Submission
from scheduler.user_folder import Home

log = logging.getLogger("scheduler")


def register(submission: Submission, backend: Backend) -> None:
    """Write the topology's nodes; NameInUse if one of that name runs, HeronError if the back end
    cannot run it."""
    backend.check(submission)
    name = submission.topology.name
    with open_store(submission.store_url) as store:
        _remove_stale(store, name)
        try:
            store.create(topology_path(name), topology_to_json(submission.topology))
        except NameInUse:
            raise _taken(name, store.get(scheduler_path(name)) or {}) from None
        # One that was asked in the last instant of a topology of this name is not for this one.
        Requests(store, name).remove_all()
        if isinstance(backend, SelfRunning):
            store.put(scheduler_path(name), scheduler_node(backend))
        store.put(packing_path(name), packing_to_json(submission.packing))
        store.put(keys_path(name), submission.keys.to_json())
        store.put(execution_path(name), _first_state(submission))


def _first_state(submission: Submission) -> dict[str, Any]:
    return {
        "state": TopologyState.RUNNING,
        "reason": "",
        "submitted_at": time_text(),
        "host": socket.gethostname(),
        "user": user_name(),
        "logs": submission.home.logs(submission.topology.name),
    }


def bring_states(submission: Submission) -> None:
    """Put the savepoint that it begins with into the checkpoint store of a registered topology,
    whose folder is empty by now; HeronError if that cannot be done.

    In a store of the user's own may be checkpoints of former topologies of this name: theirs keep
    their numbers, and ours come behind. What their instances have saved by themselves is of no
    use any more.
    """
    topology, savepoint = submission.topology, submission.savepoint
    config = keys.with_defaults(topology.config)
    if not (keys.takes_checkpoints(config) or keys.saves_states(config)):
        return
    try:
        store = open_checkpoint_store(store_url(topology, submission.home.logs(topology.name)))
        store.forget_own(topology.name)
        latest = max(store.numbers(topology.name), default=0)
    except HeronError:
        if savepoint is not None:
            raise
        return  # who takes checkpoints may reach what we do not, and says so if not
    node: dict[str, Any] = {"latest": latest, "completed": []}
    if savepoint is not None:
        # Behind its own number too: sinks have named what they wrote by the numbers before it.
        number = max(latest, savepoint.description.checkpoint) + 1
        size_bytes = savepoint.write(store, topology.name, number)
        node = savepoint.node(number, size_bytes)
    if node["latest"] and keys.takes_checkpoints(config):
        with open_store(submission.store_url) as nodes:
            nodes.put(checkpoints_path(topology.name), node)


def _taken(name: str, node: dict[str, Any]) -> NameInUse:
    pid, host = node.get("pid"), node.get("host")
    who = f"on cluster {node['cluster']}" if "cluster" in node else f"scheduler pid {pid}"
    return NameInUse(
        f"a topology called {name!r} is running already ({who}, submitted on {host}): "
        f"choose another name with -N, or `heronpy kill {name}`"
    )


def deploy(submission: Submission, backend: SelfRunning) -> None:
    """Hand a registered topology to a cluster that runs it by itself; if that is refused, its nodes
    go again, and HeronError says why."""
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
    """Whether the scheduler that `node` (its node's value) describes still runs; one on another
    machine is trusted, and so is a cluster that runs containers by itself: it has no pid."""
    if not isinstance(node, dict):
        return False
    if "pid" not in node or node.get("host") != socket.gethostname():
        return True
    pid = node["pid"]
    return isinstance(pid, int) and pid > 0 and started_at(pid) == node.get("started")


def _remove_stale(store: StateStore, name: str) -> None:
    """A scheduler that was killed together with its machine left its nodes: take them away."""
    if store.get(topology_path(name)) is not None and not is_alive(store.get(scheduler_path(name))):
        forget(store, name)


def forget_submission(
    submission: Submission, is_ours: Callable[[Any], bool] = lambda node: True
) -> None:
    """Remove the topology's nodes, if the state store can be reached, unless its scheduler's node
    is another one's."""
    name = submission.topology.name
    try:
        with open_store(submission.store_url) as store:
            node = store.get(scheduler_path(name))
            if node is None or is_ours(node):
                forget(store, name)
    except HeronError as error:
        log.warning("the topology's state could not be removed: %s", error)


def forget(store: StateStore, name: str) -> None:
    """Remove all nodes of a topology; its existence ends last.

    The sockets of a scheduler that was killed here go as well, nobody else knows where they are.
    """
    node = store.get(scheduler_path(name))
    if isinstance(node, dict) and node.get("host") == socket.gethostname():
        if not is_alive(node):
            state = store.get(execution_path(name)) or {}
            write_lost_outcome(Home.of_user(), name, state, store.get(packing_path(name)))
        remove_sockets(node.get("sockets"))
    for path in (
        master_path,
        physical_path,
        checkpoints_path,
        packing_path,
        keys_path,
        restart_requests_path,
        scheduler_path,
        execution_path,
    ):
        store.delete(path(name))
    _forget_code(store, name)
    store.delete(topology_path(name))
    shutil.rmtree(Home.of_user().states(name), ignore_errors=True)
    # Last: whoever asks for something after this sees that the topology has ended.
    Requests(store, name).remove_all()


def _forget_code(store: StateStore, name: str) -> None:
    """What it got while it ran (packaging.stored_code)."""
    for digest in store.children(code_path(name)):
        archive = code_archive_path(name, digest)
        for part in store.children(archive):
            store.delete(f"{archive}/{part}")
        store.delete(archive)
