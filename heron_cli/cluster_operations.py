"""The kill and the update of a topology that a cluster (YARN, Aurora) runs by itself.

The steps are those of any operation, and so is the request in the state store, with how far it is.
No process of the topology's own carries requests out there, so this command does. A command that is
interrupted leaves its request: `heronpy stats` shows it, and the next command of its kind takes it
up.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from heron_cli.operations import ClusterContainers, ShownOperation, follow
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError, StateStoreError
from heron_core.operations import Operation, OperationKind
from heron_core.plans import PackingPlan, packing_to_json
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.operation_kinds import PACKING
from heron_engine.scheduler.operation_steps import (
    SAVEPOINT,
    SAVING,
    OperationSteps,
    Steps,
    containers_of,
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
    folder; the nodes stay. HeronError if that cannot be, and then the request has failed."""
    name, requests = topology.name, TopologyRequests(topology.store, topology.name)
    for number, before in _unfinished(requests, OperationKind.KILL):
        click.echo(f"{_description(before)} was not finished: this one takes it up", err=True)
        requests.save(number, before.failed("the next kill has taken it up"))
    number = requests.ask(OperationKind.KILL, {"wait_secs": wait_secs, SAVEPOINT: savepoint})
    steps = steps_on(topology, cluster)
    with _stands(f"the kill of {name} is not finished: `heronpy kill {name}` goes on with it"):
        _carry_out(requests, number, steps.kill_with_savepoint, rest)


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
    name, requests = topology.name, TopologyRequests(topology.store, topology.name)
    steps = steps_on(topology, cluster)
    touched = sorted(containers_of(steps.stored_plan(), plan))
    arguments = {PACKING: packing_to_json(plan), CONTAINERS: touched}
    number = requests.ask(OperationKind.UPDATE, arguments)
    left = (
        f"the topology master goes on with the update of {name}: the next update ends what is left"
    )
    with _stands(left):
        _carry_out(requests, number, lambda _: steps.update(plan), rest)


def take_up_update(topology: RunningTopology, cluster: SelfRunning) -> None:
    """End the containers that an update has left whose command did not see its end; HeronError if
    it is still under way."""
    name, requests = topology.name, TopologyRequests(topology.store, topology.name)
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
    for number, before in _unfinished(requests, OperationKind.UPDATE):
        requests.save(number, before.failed(f"cancelled by {who}"))


# --- both -------------------------------------------------------------------------------------


def _unfinished(requests: TopologyRequests, kind: OperationKind) -> list[tuple[int, Operation]]:
    found = requests.all().items()
    return [(number, each) for number, each in found if each.kind is kind and not each.is_over]


def _carry_out(
    requests: TopologyRequests, number: int, steps: Callable[[Operation], Steps], rest: Rest
) -> None:
    """Step by step, each noted before the next one."""
    shown, request = ShownOperation(), requests.get(number)
    assert request is not None
    request = request.running()
    requests.save(number, request)
    try:
        for progress in steps(request):
            changed = request.running(progress.text, progress.result, progress.note)
            if changed != request:
                requests.save(number, changed)
            request = changed
            shown.show_progress(progress)
            rest(POLL_SECS)
        requests.save(number, request.done({}))
        requests.forget_old()
    except StateStoreError:
        raise
    except HeronError as error:
        requests.save(number, request.failed(str(error)))
        raise
    finally:
        shown.clear()


@contextmanager
def _stands(text: str) -> Iterator[None]:
    """Whoever interrupts the command is told what it leaves."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\n{text}", err=True)
        raise
