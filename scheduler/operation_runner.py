"""Carries out the operations requested on one topology, in a process beside its containers.

The scheduler's own process forks, so it must not have threads or sockets: the runner, its child,
reads the state store and talks to the topology master. The runner ends the topology by exiting
with ExitCode.KILLED, which is final for the scheduler. A killed runner is restarted and
continues from the state store.
"""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from heron_core.action_text import action_text
from heron_core.config import OFF, autoscale_mode, log_settings, with_defaults
from heron_core.errors import HeronError, StateStoreError
from heron_core.exit_codes import ExitCode
from heron_core.operations import CHANGES, EXCLUSIVE, Operation, OperationKind, OperationState
from heron_core.plans import MASTER_CONTAINER, PackingPlan, TopologyState
from heron_core.state_tree import execution_path, restart_requests_path
from heron_core.topology import TopologySpec
from heron_engine.scheduler.action_trail import ActionTrail
from heron_engine.scheduler.container.engines import Choice, Engines
from heron_engine.scheduler.container.own_process import pid_of
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_engine.scheduler.operation_kinds import OperationKinds
from heron_engine.scheduler.operation_steps import OperationSteps, Service, Steps, not_up, stepped
from heron_engine.scheduler.operations import (
    HISTORY_MAX,
    TopologyRequests,
    is_under_way,
    update_under_way,
)
from heron_engine.scheduler.own_nodes import Announcement, NameTaken, OwnNodes
from heron_engine.scheduler.submission import Submission
from heron_io.logs import log_to
from heron_io.master_client import MasterClient
from heron_io.processes import (
    SupervisorLink,
    parent_of,
    signal_process,
    start_heartbeat_thread,
)
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore

log = logging.getLogger("operations")

POLL_SECS = 0.1
"""Between two looks at the requests: at once for a person, and little for a ZooKeeper that serves
hundreds of topologies."""
RETRY_SECS = 1.0
"""After the state store could not be reached."""
SHUTDOWN_SECS = 2.0


class TopologyKilled(Exception):
    """The topology is to end now; says why."""


class ChildContainers(Struct, frozen=True):
    """The containers of a scheduler process of ours, our parent."""

    store: StateStore
    name: str
    scheduler: int
    """Process id."""
    are_children: bool
    """Whether all containers are the scheduler's children; else only the topology master's is."""
    back_secs: float
    sockets: str

    def choose(self, container: int, choice: Choice) -> Choice:
        """File read by the container at its start."""
        engines = Engines(self.sockets)
        before = engines.of(container)
        engines.choose(container, choice)
        return before

    def stop(self, container: int) -> None:
        """SIGTERM to the scheduler's child; without a child, the next one starts by itself."""
        executor = pid_of(self.sockets, container)
        if executor is not None and parent_of(executor) == self.scheduler:
            signal_process(executor, signal.SIGTERM)

    def restart(self, container: int, service: Service) -> None:
        """SIGTERM to the executor above the service, which is the scheduler's child; a container
        elsewhere is restarted by the back end's driver, which finds the request."""
        if not self.are_children and container != MASTER_CONTAINER:
            request = {"container": container, "order": f"{time.time_ns():x}"}
            self.store.put(restart_requests_path(self.name), request)
            return
        executor = parent_of(service[1]) if service[0] == socket.gethostname() else None
        if executor is None or parent_of(executor) != self.scheduler:
            raise not_up(self.name, container)
        signal_process(executor, signal.SIGTERM)

    def reserve_capacity(self, plan: PackingPlan | None) -> None:
        """Processes have as much room as their machine; executors of Spark are as they are."""

    def too_small(self, plan: PackingPlan) -> str:
        """No action."""
        return ""

    def waiting(self) -> str:
        """Spark's driver gives an update up by itself, and says why."""
        return ""

    def unstartable(self, containers: Sequence[int]) -> str:
        """Processes that end are started again; the topology's errors have the reason."""
        return ""

    def scale(self, added: Sequence[int], removed: Sequence[int]) -> None:
        """The scheduler and the drivers follow the plans in the state store."""

    def end(self, reason: str) -> None:
        """Leave it to the scheduler; the state store says so as long as the nodes stand."""
        path = execution_path(self.name)
        with suppress(StateStoreError):
            state = self.store.get(path) or {}
            self.store.put(path, {**state, "state": TopologyState.KILLED, "reason": reason})
        raise TopologyKilled(reason)


class OperationRunner:
    """Advances every request by one step each time."""

    def __init__(self, requests: TopologyRequests, kinds: OperationKinds) -> None:
        self._requests = requests
        self._kinds = kinds
        self._trail = ActionTrail(kinds.steps.client, kinds.steps.clock)
        self._under_way: dict[int, Steps] = {}
        self._over: list[int] = []
        """Finished requests, oldest first, which are not read again."""

    def poll(self) -> None:
        """One step of everything that is asked for. TopologyKilled if the topology is to end now;
        StateStoreError if the store does not answer: then all goes on later."""
        busy: set[str] = set()
        self._trail.tell()
        try:
            for number, request in self._requests.all(without=set(self._over)).items():
                if request.is_over:
                    self._over.append(number)
                elif request.kind is OperationKind.CANCEL and (cancellable := self._cancellable()):
                    self._cancel(number, request, cancellable)
                elif self._may_go_on(request, busy):
                    self._advance(number, request)
            while len(self._over) > HISTORY_MAX:
                self._requests.remove(self._over.pop(0))
        except StateStoreError:
            self._under_way.clear()
            raise

    @staticmethod
    def _may_go_on(request: Operation, busy: set[str]) -> bool:
        """Whether no earlier request is in its way."""
        word = EXCLUSIVE.get(request.kind)
        if word is None or request.kind is OperationKind.UPDATE or request.waits:
            return True
        free = word not in busy
        busy.add(word)
        return free

    def _advance(self, number: int, request: Operation) -> None:
        try:
            if number not in self._under_way:
                request = self._begin(number, request)
            self._note(number, request, stepped(request, self._under_way[number]))
        except (StateStoreError, TopologyKilled):
            raise
        except HeronError as error:
            self._finish(number, request.failed(str(error)))
        except Exception as error:  # nonsense, or a bug: neither may end the scheduler
            log.exception("%s %d", request.kind, number)
            self._finish(number, request.failed(f"the request makes no sense: {error!r}"))

    def _cancellable(self) -> dict[int, Operation]:
        requests = self._requests.all(without=set(self._over))
        return {number: each for number, each in requests.items() if each.waits}

    def _cancel(
        self, number: int, request: Operation, cancellable: Mapping[int, Operation]
    ) -> None:
        self._trail.add(action_text(request.kind, request.arguments), request.requester)
        for other, each in cancellable.items():
            # A PENDING request may have been created just now.
            self._finish(other, each.failed(f"cancelled by {request.requester}"))
        kinds = [str(each.kind) for each in cancellable.values()]
        self._finish(number, request.running().done({"cancelled": kinds}))

    def _begin(self, number: int, request: Operation) -> Operation:
        """Start the request; HeronError if impossible."""
        log.info("%s, asked by %s", request.kind, request.requester)
        if request.state is OperationState.PENDING:
            self._trail.add(action_text(request.kind, request.arguments), request.requester)
        is_new = request.state is OperationState.PENDING and not request.waits
        if request.kind in CHANGES and is_new:
            others = self._requests.all(without={number, *self._over})
            if is_under_way({x: each for x, each in others.items() if x < number}, CHANGES):
                raise update_under_way(self._kinds.steps.name)
        request = request.running()
        self._requests.save(number, request)
        self._under_way[number] = self._kinds.of(number, request)
        return request

    def _note(self, number: int, before: Operation, request: Operation) -> None:
        for note in request.notes[len(before.notes) :]:
            log.info("%s: %s", request.kind, note)
        if request.is_over:
            self._finish(number, request)
        elif request != before:
            self._requests.save(number, request)

    def _finish(self, number: int, request: Operation) -> None:
        log.info("%s: %s%s", request.kind, request.state, request.reason and f": {request.reason}")
        if request.state is OperationState.FAILED:
            self._trail.add(f"{request.kind} failed: {request.reason}", request.requester)
        self._under_way.pop(number, None)
        self._requests.save(number, request)
        self._over.append(number)


def runner_job(
    submission: Submission,
    announced: Announcement,
    are_children: bool,
    back_secs: float,
    sockets: str,
) -> ProcessSpec:
    """The runner as a job of the scheduler, which is to call this itself."""
    scheduler, name = os.getpid(), submission.topology.name
    store_url = submission.store_url

    def main(link: SupervisorLink) -> int:
        path = os.path.join(submission.home.logs(name), "operations.log")
        log_to(path, "operations", settings=log_settings(submission.topology.config))
        start_heartbeat_thread(link)
        link.came_up()
        try:
            with _opened(store_url) as store, MasterClient(store, name) as client:
                containers = ChildContainers(
                    store, name, scheduler, are_children, back_secs, sockets
                )
                requests = TopologyRequests(store, name)
                steps = OperationSteps(store, name, client, containers)
                runner = OperationRunner(requests, OperationKinds(steps, requests))
                scale = _autoscaling(submission.topology, store, client, requests, are_children)
                _serve(runner, OwnNodes(store, announced), scale)
        except (TopologyKilled, NameTaken) as killed:
            log.info("the topology ends: %s", killed)
            link.report(str(killed))
        return ExitCode.KILLED

    return ProcessSpec(
        "operations",
        f"heron: operations ({name})",
        main,
        SHUTDOWN_SECS,
        killed_with_parent=True,
        final_codes=frozenset({ExitCode.KILLED}),
    )


def _autoscaling(
    topology: TopologySpec,
    store: StateStore,
    client: MasterClient,
    requests: TopologyRequests,
    has_capacity: bool,
) -> Callable[[float], None] | None:
    """What is to be called with the time now and then; None if the number of instances is not to
    follow the load."""
    if autoscale_mode(with_defaults(topology.config)) == OFF:
        return None
    # Late import: rarely needed, and the importing process forks for each topology.
    from heron_core.algorithms.autoscale.options import AutoscaleOptions
    from heron_engine.scheduler.autoscaling import Autoscaling

    options = AutoscaleOptions.of(topology)
    return Autoscaling(topology, options, store, client, requests, has_capacity).poll


def _serve(runner: OperationRunner, nodes: OwnNodes, scale: Callable[[float], None] | None) -> None:
    """Carry out requests until one of them is to kill the topology: TopologyKilled; or until the
    topology has lost its name: NameTaken."""
    while True:
        try:
            nodes.poll(time.monotonic())
            runner.poll()
            if scale is not None:
                scale(time.monotonic())
            time.sleep(POLL_SECS)
        except StateStoreError as error:  # it reconnects by itself
            log.warning("%s", error)
            time.sleep(RETRY_SECS)


def _opened(store_url: str) -> StateStore:
    """The state store, as soon as it answers."""
    while True:
        try:
            return open_store(store_url)
        except StateStoreError as error:
            log.warning("no state store yet: %s", error)
            time.sleep(RETRY_SECS)
