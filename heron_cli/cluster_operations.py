"""Kill and update of a topology run by a cluster (YARN, Aurora) itself.

Steps and the request in the state store, with its progress, equal those of any operation. No
process of the topology carries out requests on these clusters, so the command does: one request
of each kind at a time (scheduler/carriers.py). An interrupted command leaves the request:
`heronpy stats` shows the request, and the next command of equal kind resumes the work.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from heron_cli.operations import ClusterContainers, ShownOperation, follow
from heron_cli.running_topology import RunningTopology, tell_action
from heron_core.action_text import action_text
from heron_core.errors import HeronError
from heron_core.operations import Operation, OperationKind, OperationState
from heron_core.plans import PackingPlan, packing_from_json, packing_to_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.carriers import CarrierClaim, carrier_of, claiming
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.operation_kinds import CONTAINERS, ENGINE, PACKING, OperationKinds
from heron_engine.scheduler.operation_steps import (
    BACK_SECS,
    SAVEPOINT,
    SAVING,
    OperationSteps,
    Steps,
    containers_of,
    stepped,
)
from heron_engine.scheduler.operations import TopologyRequests, requester, update_under_way
from heron_io.polling import POLL_SECS

Rest = Callable[[float], None]


def steps_on(topology: RunningTopology, cluster: SelfRunning) -> OperationSteps:
    """The operations, with the cluster's containers."""
    name, store = topology.name, topology.store
    # An upgrade may have to wait for a new image.
    containers = ClusterContainers(cluster, name, store, max(BACK_SECS, cluster.ready_secs))
    return OperationSteps(store, name, topology.client, containers)


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
    left = f"the kill of {name} is not finished: `heronpy kill {name}` resumes the kill"
    with claiming(topology.store, name, OperationKind.KILL) as claim:
        for number, before in _unfinished(requests, OperationKind.KILL):
            _say_taken_up(before)
            requests.save(number, before.failed("taken over by the next kill"))
        arguments = {"wait_secs": wait_secs, SAVEPOINT: savepoint}
        with _stands(left):
            _carry_out(topology, cluster, OperationKind.KILL, arguments, claim, rest)


def _say_taken_up(request: Operation) -> None:
    """Summary of a request whose command has ended, for people."""
    begun = f"the {request.kind} that {request.requester} asked for at {request.asked_at}"
    url = request.arguments.get(SAVEPOINT)
    if url and SAVEPOINT in request.result:
        begun += f", whose savepoint {url} is complete,"
    elif url and SAVING in request.result:
        begun += f", whose savepoint {url} is incomplete,"
    click.echo(f"{begun} was not finished: this command resumes the request", err=True)


# --- update -----------------------------------------------------------------------------------


def update_on_cluster(
    topology: RunningTopology, cluster: SelfRunning, plan: PackingPlan, rest: Rest = time.sleep
) -> int:
    """Switch the topology to a new packing plan and wait; the number of the request. HeronError if
    the update is aborted."""
    name = topology.name
    touched = sorted(containers_of(steps_on(topology, cluster).stored_plan(), plan))
    arguments = {PACKING: packing_to_json(plan), CONTAINERS: touched}
    with (
        claiming(topology.store, name, OperationKind.UPDATE) as claim,
        _stands(_update_left(name)),
    ):
        return _carry_out(topology, cluster, OperationKind.UPDATE, arguments, claim, rest)


def upgrade_on_cluster(
    topology: RunningTopology,
    cluster: SelfRunning,
    engine: InstalledEngine,
    rest: Rest = time.sleep,
) -> None:
    """Give the containers another engine, one after the other; an upgrade whose command has ended
    is resumed instead. HeronError if a container does not work with the engine: it has its previous
    engine again then."""
    name, requests = topology.name, TopologyRequests(topology.store, topology.name)
    left = f"the upgrade of {name} is not finished: `heronpy update {name} --engine` resumes it"
    with claiming(topology.store, name, OperationKind.UPGRADE) as claim, _stands(left):
        for number, before in _unfinished(requests, OperationKind.UPGRADE):
            _say_taken_up(before)
            _follow(topology, cluster, number, before, claim, rest)
            return
        arguments = {ENGINE: to_json(engine)}
        _carry_out(topology, cluster, OperationKind.UPGRADE, arguments, claim, rest)


def _update_left(name: str) -> str:
    return (
        f"the update of {name} is not finished: the next update resumes the old one, `heronpy "
        f"update {name} --cancel` cancels the update"
    )


def take_up_update(
    topology: RunningTopology, cluster: SelfRunning, rest: Rest = time.sleep
) -> bool:
    """Finish updates of interrupted commands: an update known to the topology master continues,
    any other is undone. Returns whether an update was found. HeronError if a command is carrying
    out an update."""
    requests, is_aborted = TopologyRequests(topology.store, topology.name), False
    with claiming(topology.store, topology.name, OperationKind.UPDATE) as claim:
        for number, before in _unfinished(requests, OperationKind.UPDATE):
            _say_taken_up(before)
            if _is_wanted(topology, cluster, before):
                with _stands(_update_left(topology.name)):
                    _follow(topology, cluster, number, before, claim, rest)
            else:
                _end_unwanted(topology, cluster, number, before)
                is_aborted = True
    return is_aborted


def _is_wanted(topology: RunningTopology, cluster: SelfRunning, update: Operation) -> bool:
    """Whether the topology runs by the update's plan, or is about to."""
    plan = steps_on(topology, cluster).stored_plan()
    return plan == packing_from_json(update.arguments[PACKING])


def _end_unwanted(
    topology: RunningTopology, cluster: SelfRunning, number: int, update: Operation
) -> None:
    """Undo an update that the master does not know or has aborted."""
    name = topology.name
    if (last := topology.client.stats().update) is not None and last.under_way:
        raise update_under_way(name)
    left = set(update.arguments[CONTAINERS]) - containers_of(
        steps_on(topology, cluster).stored_plan()
    )
    cluster.scale(name, [], sorted(left))
    requests = TopologyRequests(topology.store, name)
    requests.save(number, update.failed("the command ended before the update did"))


def cancel_on_cluster(topology: RunningTopology, cluster: SelfRunning) -> None:
    """Cancel the update under way, and wait until all is as before; HeronError if none is."""
    who, requests = str(requester()), TopologyRequests(topology.store, topology.name)
    is_under_way = (update := topology.client.stats().update) is not None and update.under_way
    tell_action(topology, action_text(OperationKind.CANCEL, {}))
    if not is_under_way and take_up_update(topology, cluster):
        return  # the master does not know the update
    follow(steps_on(topology, cluster).cancel_update(who))
    if _is_carried(topology, OperationKind.UPDATE):
        return  # the other command is notified by the topology master and reports the result
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
    claim: CarrierClaim,
    rest: Rest,
) -> int:
    """Request and carry out an operation; its number. HeronError on failure."""
    requests = TopologyRequests(topology.store, topology.name)
    number = requests.ask(kind, arguments)
    request = requests.get(number)
    assert request is not None
    tell_action(topology, action_text(kind, arguments))
    _follow(topology, cluster, number, request, claim, rest)
    return number


def _follow(
    topology: RunningTopology,
    cluster: SelfRunning,
    number: int,
    request: Operation,
    claim: CarrierClaim,
    rest: Rest,
) -> None:
    """Carry out a request step by step, like the scheduler of a local topology; HeronError on
    failure."""
    requests = TopologyRequests(topology.store, topology.name)
    request = request.running()
    requests.save(number, request)
    steps = OperationKinds(steps_on(topology, cluster), requests).of(number, request)
    shown = ShownOperation()
    try:
        while not (request := _noted(requests, number, request, steps, claim)).is_over:
            shown.show(request)
            rest(POLL_SECS)
        shown.show_notes(request)
    finally:
        shown.clear()
    requests.forget_old()
    if request.state is OperationState.FAILED:
        tell_action(topology, f"{request.kind} failed: {request.reason}")
        raise HeronError(request.reason)


def _noted(
    requests: TopologyRequests, number: int, before: Operation, steps: Steps, claim: CarrierClaim
) -> Operation:
    """The request after a step, stored before the next step."""
    claim.keep()
    request = stepped(before, steps)
    if request != before:
        requests.save(number, request)
    return request


@contextmanager
def _stands(text: str) -> Iterator[None]:
    """Report to an interrupting user the unfinished request."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\n{text}", err=True)
        raise
