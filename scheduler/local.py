"""The scheduler process of a topology, and the local back end: all containers on this machine.

`register` writes the topology's state, `start` forks the scheduler, which runs its back end's jobs
and starts again those that end: of the local back end an executor for each container. In the
foreground the scheduler ends with the command line that started it (its lifeline); detached, it
lives on. Whatever ends it, it ends its jobs, removes the topology's state and sockets, and leaves
logs and an outcome file.
"""

import json
import logging
import math
import os
import shutil
import socket
import time
from dataclasses import dataclass, field, replace
from typing import Any

from heron_core import config as keys
from heron_core.errors import HeronError, NameInUse
from heron_core.plans import (
    MASTER_CONTAINER,
    PackingPlan,
    TopologyState,
    packing_to_json,
)
from heron_core.state_tree import (
    execution_path,
    keys_path,
    master_path,
    packing_path,
    physical_path,
    restart_requests_path,
    scheduler_path,
    topology_path,
)
from heron_core.topology import TopologySpec, topology_to_json
from heron_io.logs import log_to
from heron_io.processes import Child, SupervisorLink, fork_child, started_at
from heron_io.security import Keys
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from scheduler.backends.protocol import Backend, SelfRunning, Supervised, containers_told
from scheduler.container import executor
from scheduler.container.supervisor import Job, Outcome, Supervisor
from scheduler.update_plans import read_packings
from scheduler.user_folder import Home, sockets_folder

log = logging.getLogger("scheduler")

EXECUTOR_GRACE_SECS = 8.0
"""An executor gives its instances 3 s and its stream manager 2 s."""
EXECUTOR_RESTARTS = 10

STATES_OF_CODES = {
    executor.ENDED_CODE: TopologyState.ENDED,
    executor.GAVE_UP_CODE: "FAILED",
}


READY_SECS = 30.0
"""A topology whose instances are not all there after this long has a problem worth telling."""


class LocalBackend:
    """Every container is an executor that the scheduler forks."""

    kind = "local"
    ready_secs = READY_SECS

    def check(self, launch: "Launch") -> None:
        """Nothing is needed but this machine."""

    def jobs(self, launch: "Launch", sockets: str) -> list[Job]:
        """An executor for each container, the topology master's first."""
        containers = (MASTER_CONTAINER, *(each.id for each in launch.packing.containers))
        return [container_job(launch, each, sockets) for each in containers]

    def about(self) -> dict[str, Any]:
        """Nothing more."""
        return {}

    def told(self, launch: "Launch") -> str:
        """Containers."""
        return containers_told(launch)

    def logs(self, launch: "Launch") -> str:
        """In the user's folder."""
        return launch.home.logs(launch.topology.name)

    def preview(self, launch: "Launch") -> str:
        """The packing plan says it all."""
        return ""


@dataclass(frozen=True, slots=True)
class Launch:
    """A topology to run from this machine."""

    topology: TopologySpec
    packing: PackingPlan
    store_url: str
    home: Home
    foreground: bool
    keys: Keys = field(default_factory=Keys.new)
    console: int | None = None
    """Pipe of a foreground command line that shows what components print."""
    remove_at_end: tuple[str, ...] = ()
    """Folders that are the run's own, such as an embedded ZooKeeper's data."""
    backend: Backend = field(default_factory=LocalBackend)
    waits_for_room: bool = False
    """`submit` goes on waiting where the cluster has no room."""

    @property
    def ready_secs(self) -> float:
        """How long all instances may take to be up."""
        return math.inf if self.waits_for_room else self.backend.ready_secs


def register(launch: Launch) -> None:
    """Write the topology's nodes; NameInUse if one of that name runs, HeronError if the back end
    cannot run it."""
    launch.backend.check(launch)
    name = launch.topology.name
    store = open_store(launch.store_url)
    try:
        _remove_stale(store, name)
        store.create(topology_path(name), topology_to_json(launch.topology))
        if isinstance(launch.backend, SelfRunning):
            store.put(scheduler_path(name), _location(launch))
        store.put(packing_path(name), packing_to_json(launch.packing))
        store.put(keys_path(name), launch.keys.to_json())
        state = {
            "state": TopologyState.RUNNING,
            "reason": "",
            "submitted_at": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "host": socket.gethostname(),
            "user": os.environ.get("USER") or str(os.getuid()),
            "logs": launch.home.logs(name),
        }
        store.put(execution_path(name), state)
    except NameInUse:
        place = store.get(scheduler_path(name)) or {}
        pid, host = place.get("pid"), place.get("host")
        who = f"on cluster {place['cluster']}" if "cluster" in place else f"scheduler pid {pid}"
        raise NameInUse(
            f"a topology called {name!r} is running already ({who}, submitted on {host}): "
            f"choose another name with -N, or `heronpy kill {name}`"
        ) from None
    finally:
        store.close()


def deploy(launch: Launch) -> None:
    """Hand a registered topology to a cluster that runs it by itself; if that is refused, its nodes
    go again, and HeronError says why."""
    assert isinstance(launch.backend, SelfRunning)
    launch.home.clean_logs(launch.topology.name)
    try:
        launch.backend.deploy(launch)
    except BaseException:
        _forget(launch)
        raise


def start(launch: Launch) -> Child:
    """Fork the scheduler of a registered topology. Call it before any zmq context exists."""
    name = launch.topology.name
    launch.home.clean_logs(name)

    def main(lifeline: int) -> int:
        if not launch.foreground:
            lifeline = _leave_terminal()
        return _serve(launch, lifeline)

    return fork_child(f"heron: scheduler ({name})", main, killed_with_parent=False)


def _leave_terminal() -> int:
    """Become a daemon; returns a lifeline that never ends."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    forever, _held_open = os.pipe()
    return forever


def _serve(launch: Launch, lifeline: int) -> int:
    name = launch.topology.name
    sockets = sockets_folder()
    log_to(os.path.join(launch.home.logs(name), "scheduler.log"), "scheduler")
    outcome = Outcome(executor.GAVE_UP_CODE, "the scheduler failed")
    try:
        _announce(launch, sockets)
        outcome = _supervise(launch, lifeline, sockets)
    except Exception as error:
        log.exception("the scheduler fails")
        outcome = Outcome(executor.GAVE_UP_CODE, f"the scheduler failed: {error}")
    finally:
        shutil.rmtree(sockets, ignore_errors=True)
        _write_outcome(launch.home.outcome_file(name), outcome)
        if not launch.remove_at_end:  # else the store is the run's own, and goes as a whole
            _forget(launch)
        for each in launch.remove_at_end:
            shutil.rmtree(each, ignore_errors=True)
    log.info("the scheduler ends: %s", outcome.reason)
    return outcome.code


def _supervise(launch: Launch, lifeline: int, sockets: str) -> Outcome:
    assert isinstance(launch.backend, Supervised)
    jobs = launch.backend.jobs(launch, sockets)
    config = keys.with_defaults(launch.topology.config)
    silent_secs = keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS)
    return Supervisor(
        jobs,
        SupervisorLink(lifeline),
        EXECUTOR_RESTARTS,
        executor.GAVE_UP_CODE,
        silent_secs,
        lambda: _reloaded(launch, sockets),
    ).run()


def _reloaded(launch: Launch, sockets: str) -> list[Job]:
    """The topology is scaled: the jobs of both packing plans, each by the one it is to start by."""
    assert isinstance(launch.backend, Supervised)
    store = open_store(launch.store_url)
    try:
        packings = read_packings(store, launch.topology.name)
    finally:
        store.close()
    found: dict[str, Job] = {}
    for packing in (packings.current, packings.wanted):
        for job in launch.backend.jobs(replace(launch, packing=packing), sockets):
            found.setdefault(job.name, job)
    return list(found.values())


def container_job(
    launch: Launch, container: int, sockets: str, bind_host: str = "127.0.0.1"
) -> Job:
    """A container on this machine, as a job of the scheduler."""
    name = launch.topology.name
    place = executor.Place(
        launch.topology,
        launch.packing,
        container,
        launch.store_url,
        launch.keys,
        launch.home.logs(name),
        sockets,
        launch.console,
        bind_host,
    )
    return Job(
        f"container {container}",
        f"heron: container {container} ({name})",
        lambda ties: executor.run(place, ties),
        EXECUTOR_GRACE_SECS,
        killed_with_parent=False,
        final_codes=frozenset({executor.ENDED_CODE, executor.GAVE_UP_CODE}),
    )


def _announce(launch: Launch, sockets: str) -> None:
    """Say who schedules the topology, for kill and for whoever finds the name taken."""
    store = open_store(launch.store_url)
    try:
        ours = {"pid": os.getpid(), "started": started_at(os.getpid()), "sockets": sockets}
        store.put(scheduler_path(launch.topology.name), {**_location(launch), **ours})
    finally:
        store.close()


def _location(launch: Launch) -> dict[str, Any]:
    """The scheduler's node, without what only a scheduler process of ours has."""
    return {
        "kind": launch.backend.kind,
        "host": socket.gethostname(),
        **launch.backend.about(),
    }


def _write_outcome(path: str, outcome: Outcome) -> None:
    state = STATES_OF_CODES.get(outcome.code, TopologyState.KILLED)
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"state": state, "reason": outcome.reason}, file)
    except OSError as error:  # a full disk must not keep the rest from being cleaned up
        log.error("how the run ended could not be written: %s", error)


def outcome_of(home: Home, name: str) -> dict[str, str]:
    """How the last run of a topology ended: state and reason; empty if nothing is known."""
    try:
        with open(home.outcome_file(name), encoding="utf-8") as file:
            found: dict[str, str] = json.load(file)
            return found
    except (OSError, ValueError):
        return {}


def _forget(launch: Launch) -> None:
    try:
        store = open_store(launch.store_url)
        try:
            forget(store, launch.topology.name)
        finally:
            store.close()
    except HeronError as error:
        log.warning("the topology's state could not be removed: %s", error)


def forget(store: StateStore, name: str) -> None:
    """Remove all nodes of a topology; its existence ends last.

    The sockets of a scheduler that was killed here go as well, nobody else knows where they are.
    """
    place = store.get(scheduler_path(name))
    if place is not None and place.get("host") == socket.gethostname():
        shutil.rmtree(place.get("sockets", ""), ignore_errors=True)
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
    store.delete(topology_path(name))


def _remove_stale(store: StateStore, name: str) -> None:
    """A scheduler that was killed together with its machine left its nodes: take them away."""
    if store.get(topology_path(name)) is not None and not is_alive(store.get(scheduler_path(name))):
        forget(store, name)


def is_alive(place: Any | None) -> bool:
    """Whether the scheduler at `place` (its node's value) still runs; one elsewhere is trusted, and
    so is a cluster that runs containers by itself: it has no pid."""
    if place is None:
        return False
    if "pid" not in place or place.get("host") != socket.gethostname():
        return True
    return bool(started_at(place["pid"]) == place["started"])
