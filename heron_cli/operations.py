"""Requests an operation and shows its progress; the operation continues if the command ends."""

import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError
from heron_core.operations import Operation, OperationKind, OperationState
from heron_core.plans import PackingPlan, TopologyState
from heron_core.state_tree import execution_path, scheduler_path, topology_path
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.container.engines import OTHERS, Choice
from heron_engine.scheduler.operation_steps import (
    BACK_SECS,
    SAVEPOINT,
    OperationProgress,
    Service,
    Steps,
)
from heron_engine.scheduler.operations import TopologyRequests
from heron_engine.scheduler.registration import forget, is_alive
from heron_io.polling import POLL_SECS, wait_until
from heron_io.state_store.protocol import StateStore

TAKEN_UP_SECS = 20.0
"""A scheduler polls several times a second; a request not taken up in time has no scheduler."""
GONE_SECS = 20.0
"""An executor gives its processes 5 s, the scheduler gives executors 8 s."""


def self_running(topology: RunningTopology, config_path: str | None) -> SelfRunning | None:
    """The back end of a topology run by a cluster itself; None with a scheduler of ours.

    The local cluster file decides: the state store must not choose programs that run on the
    machine.
    """
    node = topology.scheduler
    if node is None or "pid" in node:
        return None
    from heron_engine.scheduler.clusters.backends import backend_of
    from heron_engine.scheduler.clusters.config import cluster_of

    backend = backend_of(cluster_of(node["cluster"], config_path))
    if not isinstance(backend, SelfRunning):
        raise HeronError(
            f"{topology.name} was submitted to an {node['kind']} cluster, and "
            f"{node['cluster']} is {backend.kind} now: use the file that it was submitted with"
        )
    return backend


def ask(topology: RunningTopology, kind: OperationKind, arguments: Mapping[str, Any]) -> Operation:
    """The finished operation; HeronError if the operation fails or is not taken up."""
    requests = TopologyRequests(topology.store, topology.name)
    number = requests.ask(kind, arguments)
    shown = ShownOperation()
    with goes_on(
        f"the {kind} of {topology.name} continues in the background: `heronpy stats "
        f"{topology.name}` shows its progress"
    ):
        operation = _followed(topology, kind, requests, number, shown)
    shown.clear()
    if operation is None:
        raise HeronError(f"{topology.name} has ended meanwhile")
    shown.show_notes(operation)
    if operation.state is OperationState.FAILED:
        raise HeronError(operation.reason)
    return operation


def _followed(
    topology: RunningTopology,
    kind: OperationKind,
    requests: TopologyRequests,
    number: int,
    shown: "ShownOperation",
) -> Operation | None:
    """The finished operation; None if removed with the topology."""
    asked_at = time.monotonic()
    while (operation := requests.get(number)) is not None and not operation.is_over:
        shown.show(operation)
        if (
            operation.state is OperationState.PENDING
            and time.monotonic() - asked_at > TAKEN_UP_SECS
        ):
            raise not_taken_up(topology, kind)
        _check_alive(topology)
        time.sleep(POLL_SECS)
    return operation


def ask_to_wait(
    topology: RunningTopology, kind: OperationKind, arguments: Mapping[str, Any]
) -> None:
    """Store a scheduled request; HeronError if no scheduler takes up the request."""
    requests = TopologyRequests(topology.store, topology.name)
    number = requests.ask(kind, arguments)

    def is_taken_up() -> bool:
        _check_alive(topology)
        operation = requests.get(number)
        return operation is None or operation.state is not OperationState.PENDING

    if not wait_until(is_taken_up, TAKEN_UP_SECS):
        raise not_taken_up(topology, kind)


def ask_to_end(topology: RunningTopology, wait_secs: float, savepoint: str = "") -> None:
    """Have the topology's scheduler end the topology, and wait; if the scheduler dies, clean up
    here. `savepoint`: target of a preceding savepoint; HeronError if the savepoint fails, and
    the topology keeps running."""
    store, name, scheduler = topology.store, topology.name, topology.scheduler
    requests = TopologyRequests(store, name)
    number = requests.ask(OperationKind.KILL, {"wait_secs": wait_secs, SAVEPOINT: savepoint})
    shown = ShownOperation()
    if savepoint:
        with goes_on(f"the savepoint and the kill of {name} go on"):
            _await_savepoint(topology, requests, number, shown)

    def has_ended() -> bool:
        operation = requests.get(number)
        if operation is not None:
            shown.show_notes(operation)
        return store.get(topology_path(name)) is None or not is_alive(scheduler)

    with goes_on(f"the kill of {name} continues"):
        is_over = wait_until(has_ended, wait_secs + GONE_SECS)
    if not is_over:
        operation = requests.get(number)
        if operation is not None and operation.state is OperationState.PENDING:
            raise not_taken_up(topology, OperationKind.KILL)
        raise HeronError(f"{_scheduler_of(topology)} does not end")
    if _is_here(topology):
        wait_until(lambda: not is_alive(scheduler), GONE_SECS)
    if scheduler is not None and store.get(scheduler_path(name)) == scheduler:
        forget(store, name, is_over=True)


def _await_savepoint(
    topology: RunningTopology, requests: TopologyRequests, number: int, shown: "ShownOperation"
) -> None:
    """Wait for the savepoint of a kill."""
    asked_at = time.monotonic()
    while (operation := requests.get(number)) is not None and SAVEPOINT not in operation.result:
        shown.show(operation)
        if operation.state is OperationState.FAILED:
            shown.clear()
            raise HeronError(f"{topology.name} is not killed: {operation.reason}")
        if (
            operation.state is OperationState.PENDING
            and time.monotonic() - asked_at > TAKEN_UP_SECS
        ):
            raise not_taken_up(topology, OperationKind.KILL)
        _check_alive(topology)
        time.sleep(POLL_SECS)
    shown.clear()


def follow(steps: Steps) -> Mapping[str, Any]:
    """Carry out an operation here, because no process of the topology's own can; its result."""
    shown = ShownOperation()
    try:
        while True:
            shown.show_progress(next(steps))
            time.sleep(POLL_SECS)
    except StopIteration as end:
        result: Mapping[str, Any] = end.value
        return result
    finally:
        shown.clear()


@dataclass(frozen=True, slots=True)
class ClusterContainers:
    """The containers of a self-scheduling cluster, controlled by the command."""

    cluster: SelfRunning
    name: str
    store: StateStore
    back_secs: float = BACK_SECS
    _replaced: set[int] = field(default_factory=set)
    """Containers with another engine than before, which end without `stop`."""

    def reserve_capacity(self, plan: PackingPlan | None) -> None:
        """Delegated to the back end."""
        self.cluster.reserve_capacity(self.store, self.name, plan)

    def too_small(self, plan: PackingPlan) -> str:
        """In the back end's words."""
        return self.cluster.too_small(self.store, self.name, plan)

    def waiting(self) -> str:
        """In the back end's words."""
        return self.cluster.waiting(self.store, self.name)

    def unstartable(self, containers: Sequence[int]) -> str:
        """In the back end's words."""
        return self.cluster.unstartable(self.name, containers)

    def restart(self, container: int, service: Service) -> None:
        """The cluster knows the location."""
        self.cluster.restart(self.name, container)

    def scale(self, added: Sequence[int], removed: Sequence[int]) -> None:
        """Delegated to the back end."""
        if added or removed:
            self.cluster.scale(self.name, added, removed)

    def end(self, reason: str) -> None:
        """All containers; the state store lists them while the nodes exist."""
        self.cluster.end(self.name)
        path = execution_path(self.name)
        killed = {"state": TopologyState.KILLED, "reason": reason}
        self.store.put(path, {**(self.store.get(path) or {}), **killed})

    def choose(self, container: int, choice: Choice) -> Choice:
        """The cluster replaces the container at once; containers that are added later are like the
        others. HeronError where containers run the files sent with the topology."""
        if container == OTHERS or choice.engine is None:
            return Choice()
        before = self.cluster.replace_engine(self.name, container, choice.engine)
        if before != choice.engine:
            self._replaced.add(container)
        return Choice(before)

    def stop(self, container: int) -> None:
        """Restarted by the back end, unless the container is being replaced."""
        if container not in self._replaced:
            self.cluster.restart(self.name, container)
        self._replaced.discard(container)


def _check_alive(topology: RunningTopology) -> None:
    if not is_alive(topology.scheduler):
        raise gone(topology.name)


def gone(name: str) -> HeronError:
    """The error of a topology whose scheduler was killed."""
    return HeronError(
        f"the scheduler of {name} was killed: `heronpy kill {name}` removes what is left"
    )


def not_taken_up(topology: RunningTopology, kind: OperationKind) -> HeronError:
    """Error of a request that no scheduler takes up; the request remains."""
    return HeronError(
        f"{_scheduler_of(topology)} did not start the {kind} within {TAKEN_UP_SECS:g} s: a live "
        f"scheduler will; if the scheduler is dead, `heronpy kill {topology.name}` on its "
        "machine removes the topology"
    )


def _scheduler_of(topology: RunningTopology) -> str:
    node = topology.scheduler or {}
    return f"the scheduler of {topology.name} (pid {node.get('pid')} on {node.get('host')})"


def _is_here(topology: RunningTopology) -> bool:
    return (topology.scheduler or {}).get("host") == socket.gethostname()


@contextmanager
def goes_on(text: str) -> Iterator[None]:
    """Report to an interrupting user the operation that continues."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\n{text}", err=True)
        raise


class ShownOperation:
    """Progress of an operation on stderr: a changing line on a terminal, else a line for each
    stage."""

    def __init__(self) -> None:
        self._text = ""
        self._notes = 0
        self._changes = sys.stderr.isatty()

    def show(self, operation: Operation) -> None:
        """The current stage, and new notes."""
        self.show_notes(operation)
        self._show(operation.progress)

    def show_notes(self, operation: Operation) -> None:
        """Notes not shown yet."""
        for note in operation.notes[self._notes :]:
            self.clear()
            click.echo(note, err=True)
        self._notes = len(operation.notes)

    def show_progress(self, progress: OperationProgress) -> None:
        """Progress of an operation carried out by the command."""
        if progress.note:
            self.clear()
            click.echo(progress.note, err=True)
        self._show(progress.text)

    def _show(self, text: str) -> None:
        if not self._changes:
            text = text.partition(":")[0]
        if not text or text == self._text:
            return
        self._text = text
        if self._changes:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
        else:
            click.echo(text, err=True)

    def clear(self) -> None:
        """Clear a changing line."""
        if self._text and self._changes:
            click.echo("\r\x1b[K", nl=False, err=True)
            self._text = ""
