"""The kill and the update of a topology that a cluster (YARN, Aurora) runs by itself.

The steps are those of any operation, and so is the request in the state store, with how far it is.
No process of the topology's own carries requests out there, so this command does: one of each kind
at a time (scheduler/carriers.py). A command that is interrupted leaves its request: `heronpy stats`
shows it, and the next command of its kind takes it up.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from heron_cli.operations import ClusterContainers, ShownOperation, follow
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError
from heron_core.operations import Operation, OperationKind, OperationState
from heron_core.plans import PackingPlan, packing_to_json
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.carriers import CarrierHold, carried, carrier_of, holding
from heron_engine.scheduler.operation_kinds import PACKING, OperationKinds
from heron_engine.scheduler.operation_steps import (
    SAVEPOINT,
    SAVING,
    OperationSteps,
    Steps,
    containers_of,
    stepped,
)
from heron_engine.scheduler.operations import TopologyRequests, requester, update_under_way
from heron_io.polling import POLL_SECS

CONTAINERS = "containers"
"""Argument of an update: the containers of the plan before it and of its own."""
Rest = Callable[[float], None]


def steps_on(topology: RunningTopology, cluster: SelfRunning) -> OperationSteps:
    """The operations, with the cluster's containers."""
    name, store = topology.name, topology.store
    return OperationSteps(store, name, topology.client, ClusterContainers(cluster, name, store))


# --- kill -------------------------------------------------------------------------------------


def end_on_cluster(
    topology: RunningTopology,
    cluster: SelfRunning,
    wait_secs: float,
    savepoint: str = "",
    rest: Rest = time.sleep,
) -> None:
    """End all containers after a drain of at most `wait_secs`, or after a savepoint into that
    folder; the nodes stay. HeronError if that cannot be, and then the request has failed; or if
    another command does it already."""
    name, requests = topology.name, TopologyRequests(topology.store, topology.name)
    left = f"the kill of {name} is not finished: `heronpy kill {name}` goes on with it"
    with holding(topology.store, name, OperationKind.KILL) as hold:
        for number, before in _unfinished(requests, OperationKind.KILL):
            click.echo(f"{_description(before)} was not finished: this one takes it up", err=True)
            requests.save(number, before.failed("the next kill has taken it up"))
        arguments = {"wait_secs": wait_secs, SAVEPOINT: savepoint}
        with _stands(left):
            _carry_out(topology, cluster, OperationKind.KILL, arguments, hold, rest)


def _description(kill: Operation) -> str:
    """What is known of a kill that was not finished, for people."""
    begun = f"the kill that {kill.requester} asked for at {kill.asked_at}"
    url = kill.arguments.get(SAVEPOINT)
    if url and SAVEPOINT in kill.result:
        begun += f", whose savepoint {url} is complete,"
    elif url and SAVING in kill.result:
        begun += f", whose savepoint {url} is incomplete,"
    return begun


# --- update -----------------------------------------------------------------------------------


def update_on_cluster(
    topology: RunningTopology, cluster: SelfRunning, plan: PackingPlan, rest: Rest = time.sleep
) -> None:
    """Have the topology run by another packing plan, and wait until it does; HeronError if that is
    given up."""
    name = topology.name
    touched = sorted(containers_of(steps_on(topology, cluster).stored_plan(), plan))
    arguments = {PACKING: packing_to_json(plan), CONTAINERS: touched}
    left = (
        f"the topology master goes on with the update of {name}: the next update ends what is left"
    )
    with holding(topology.store, name, OperationKind.UPDATE) as hold, _stands(left):
        _carry_out(topology, cluster, OperationKind.UPDATE, arguments, hold, rest)


def take_up_update(topology: RunningTopology, cluster: SelfRunning) -> None:
    """End the containers that an update has left whose command did not see its end; HeronError if
    it is still under way."""
    name, requests = topology.name, TopologyRequests(topology.store, topology.name)
    if _is_carried(topology, OperationKind.UPDATE):
        raise carried(topology.store, name, OperationKind.UPDATE)
    for number, before in _unfinished(requests, OperationKind.UPDATE):
        if (update := topology.client.stats().update) is not None and update.under_way:
            raise update_under_way(name)
        plan = steps_on(topology, cluster).stored_plan()
        left = set(before.arguments[CONTAINERS]) - containers_of(plan)
        cluster.scale(name, [], sorted(left))
        requests.save(number, before.failed("its command has ended before the update did"))


def cancel_on_cluster(topology: RunningTopology, cluster: SelfRunning) -> None:
    """Cancel the update under way, and wait until all is as before; HeronError if none is."""
    who, requests = str(requester()), TopologyRequests(topology.store, topology.name)
    if (update := topology.client.stats().update) is None or not update.under_way:
        take_up_update(topology, cluster)
    follow(steps_on(topology, cluster).cancel_update(who))
    if _is_carried(topology, OperationKind.UPDATE):
        return  # that command hears of it from the topology master, and says so
    for number, before in _unfinished(requests, OperationKind.UPDATE):
        requests.save(number, before.failed(f"cancelled by {who}"))


# --- both -------------------------------------------------------------------------------------


def _is_carried(topology: RunningTopology, kind: OperationKind) -> bool:
    return carrier_of(topology.store, topology.name, kind) is not None


def _unfinished(requests: TopologyRequests, kind: OperationKind) -> list[tuple[int, Operation]]:
    numbered = requests.all().items()
    return [
        (number, request)
        for number, request in numbered
        if request.kind is kind and not request.is_over
    ]


def _carry_out(
    topology: RunningTopology,
    cluster: SelfRunning,
    kind: OperationKind,
    arguments: Mapping[str, Any],
    hold: CarrierHold,
    rest: Rest,
) -> None:
    """Ask for an operation, and do it step by step, as the scheduler of a topology of ours does;
    HeronError if it has failed."""
    requests = TopologyRequests(topology.store, topology.name)
    number = requests.ask(kind, arguments)
    request = requests.get(number)
    assert request is not None
    request = request.running()
    requests.save(number, request)
    steps = OperationKinds(steps_on(topology, cluster), requests).of(number, request)
    shown = ShownOperation()
    try:
        while not (request := _noted(requests, number, request, steps, hold)).is_over:
            shown.show(request)
            rest(POLL_SECS)
        shown.show_notes(request)
    finally:
        shown.clear()
    requests.forget_old()
    if request.state is OperationState.FAILED:
        raise HeronError(request.reason)


def _noted(
    requests: TopologyRequests, number: int, before: Operation, steps: Steps, hold: CarrierHold
) -> Operation:
    """The request after a step, which is noted before the next one."""
    hold.keep()
    request = stepped(before, steps)
    if request != before:
        requests.save(number, request)
    return request


@contextmanager
def _stands(text: str) -> Iterator[None]:
    """Whoever interrupts the command is told what it leaves."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\n{text}", err=True)
        raise
