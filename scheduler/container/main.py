"""`python -m scheduler.container`: one container of a topology, as started by any cluster back
end.

The process reads topology, packing plan and keys from the state store and supervises the
container's processes. The starter should hold the other end of a pipe at its stdin: when the
pipe closes, the container ends, and on Linux the kernel kills the container with its parent. A
pipe at stdout is its status pipe (heron_core.supervision). Exit codes: heron_core.exit_codes;
UNSTARTED if the start failed.
"""

import argparse
import os
import select
import shutil
import stat
import time
from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from setproctitle import setproctitle

from heron_core.ended_topology import over_text
from heron_core.errors import HeronError, StateStoreError
from heron_core.exit_codes import ExitCode
from heron_core.plans import MASTER_CONTAINER, PackingPlan
from heron_core.state_tree import (
    execution_path,
    keys_path,
    packing_path,
    physical_path,
    topology_path,
)
from heron_core.topology import TopologySpec, topology_from_json
from heron_engine.scheduler.container import executor
from heron_engine.scheduler.packaging.relocation import has_stored_code, relocated
from heron_engine.scheduler.socket_folders import sockets_folder
from heron_engine.scheduler.update_plans import read_packings
from heron_io.processes import SupervisorLink, die_with_parent
from heron_io.security import Keys
from heron_io.state_store.opening import open_store

STORE_RETRY_SECS = 1.0
"""Pause between two attempts to reach the state store."""


class StoredTopology(Struct, frozen=True):
    """A topology's data in the state store."""

    topology: TopologySpec
    packing: PackingPlan
    keys: Keys
    was_up: bool
    """Whether all its stream managers were connected before."""
    over: str = ""
    """Why it is not to run any more, if it is over."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the container until the end; returns its exit code."""
    given = _parser().parse_args(words)
    if not given.local:
        die_with_parent(os.getppid())
    link = _link()
    link.predecessor = given.predecessor
    try:
        stored = _read(given, link)
        if given.container != MASTER_CONTAINER:
            stored.packing.container(given.container)
        topology = on_this_machine(given, stored.topology)
    except KeyError:
        link.report(f"the packing plan of {given.topology} has no container {given.container}")
        return ExitCode.UNSTARTED
    except HeronError as error:
        link.report(str(error))
        return ExitCode.UNSTARTED
    if stored.over:
        link.report(stored.over)
        return ExitCode.ENDED
    setproctitle(f"heron: container {given.container} ({given.topology})")
    sockets = given.sockets or sockets_folder()
    spec = executor.ContainerSpec(
        topology,
        stored.packing,
        given.container,
        given.store,
        stored.keys,
        given.logs,
        sockets,
        _console(given.console),
        given.bind_host,
        was_up=stored.was_up,
        limited_by=given.limited_by,
        relocate=partial(on_this_machine, given),
    )
    try:
        code = executor.run(spec, link)
        # A container on trial does not end the topology: the previous engine is restored.
        return ExitCode.FAILED if given.on_trial and code == ExitCode.TOPOLOGY_FAILED else code
    finally:
        if given.sockets is None:
            shutil.rmtree(sockets, ignore_errors=True)


def _parser() -> argparse.ArgumentParser:
    name = "python -m heron_engine.scheduler.container"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--store", required=True, metavar="URL", help="the state store")
    parser.add_argument("--topology", required=True, metavar="NAME")
    parser.add_argument("--container", required=True, type=int, metavar="N")
    parser.add_argument("--logs", required=True, metavar="DIR", help="folder of the log files")
    parser.add_argument("--bind-host", default="127.0.0.1", metavar="H", help="own address")
    parser.add_argument("--sockets", metavar="DIR", help="folder of the socket files")
    parser.add_argument("--console", metavar="PATH", help="pipe for what components print")
    parser.add_argument("--predecessor", default="", metavar="TEXT", help="how that one ended")
    parser.add_argument(
        "--local",
        action="store_true",
        help="its parent is a scheduler of this machine: when that ends, it ends in order, and it "
        "waits for a state store that is away",
    )
    parser.add_argument(
        "--waits", action="store_true", help="it waits for a state store that is away"
    )
    parser.add_argument(
        "--limited-by", default="", metavar="CLUSTER", help="what limits its CPU and memory"
    )
    parser.add_argument(
        "--on-trial", action="store_true", help="it does not end the topology if it cannot run"
    )
    parser.add_argument(
        "--relocated",
        nargs=2,
        action="append",
        default=[],
        metavar=("OLD", "NEW"),
        help="what lay below OLD where the topology was submitted lies below NEW here",
    )
    return parser


def _read(given: argparse.Namespace, link: SupervisorLink) -> StoredTopology:
    """Content of the state store, retried if the starter does not wait itself."""
    while True:
        try:
            return read(given.store, given.topology, given.container)
        except StateStoreError:
            if not (given.local or given.waits):
                raise
        link.heartbeat()
        if select.select([link.lifeline], [], [], STORE_RETRY_SECS)[0]:
            raise HeronError("the parent process is gone")


def _link() -> SupervisorLink:
    """A lifeline at stdin and a status pipe at stdout, as far as these are pipes.

    Both are copies: stdin is nobody's business any more, and stdout will be the log.
    """
    if _is_pipe(0):
        lifeline = os.dup(0)
    else:
        lifeline, _never_closed = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
    status_pipe = None
    if _is_pipe(1):
        status_pipe = os.dup(1)
        os.set_blocking(status_pipe, False)
    return SupervisorLink(lifeline, status_pipe)


def _is_pipe(number: int) -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(number).st_mode)
    except OSError:
        return False


def _console(path: str | None) -> int | None:
    if path is None:
        return None
    try:
        return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # no longer polled
        return None


def read(store_url: str, name: str, container: int) -> StoredTopology:
    """Topology, the packing plan for one container and keys; HeronError naming what the store does
    not have."""
    store = open_store(store_url)
    try:
        topology, keys = store.get(topology_path(name)), store.get(keys_path(name))
        if topology is None or keys is None or store.get(packing_path(name)) is None:
            raise HeronError(f"the state store {store_url} has no topology {name!r}: has it ended?")
        packing = read_packings(store, name).of(container)
        spec = topology_from_json(topology)
        was_up = store.get(physical_path(name)) is not None
        over = over_text(name, store.get(execution_path(name)) or {}, time.time())
    finally:
        store.close()
    if container != MASTER_CONTAINER:  # the master looks at its plans itself
        spec = packing.topology_of(spec)
    return StoredTopology(spec, packing, Keys.stored(keys), was_up, over)


def on_this_machine(given: argparse.Namespace, topology: TopologySpec) -> TopologySpec:
    """The topology with local paths; HeronError if new code is unavailable."""
    found = relocated(topology, given.relocated)
    if given.container == MASTER_CONTAINER or not has_stored_code(found):
        return found
    from heron_engine.scheduler.packaging.stored_code import fetched

    paths = found.search_paths
    return relocated(found, fetched(given.store, given.topology, paths, os.getcwd()))
