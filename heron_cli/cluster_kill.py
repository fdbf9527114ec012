"""The kill of a topology that a cluster (YARN, Aurora) runs by itself.

The steps are those of any kill, and so is the request in the state store, with how far it is. No
process of the topology's own carries requests out there, so this command does. A command that is
interrupted leaves its request: `heronpy stats` shows it, and the next kill takes it up.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from heron_cli.operations import ClusterContainers, Shown
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError, StateStoreError
from heron_core.operations import Kind, Operation
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.operation_steps import SAVEPOINT, SAVING, OperationSteps
from heron_engine.scheduler.operations import Requests
from heron_io.polling import POLL_SECS


def end_on_cluster(
    topology: RunningTopology,
    cluster: SelfRunning,
    wait_secs: float,
    savepoint: str = "",
    rest: Callable[[float], None] = time.sleep,
) -> None:
    """End all containers after a drain of at most `wait_secs`, or after a savepoint into that
    folder; the nodes stay. HeronError if that cannot be, and then the request has failed."""
    name, store = topology.name, topology.store
    requests = Requests(store, name)
    for number, before in requests.all().items():
        if before.kind is Kind.KILL and not before.is_over:
            click.echo(_taken_up(before), err=True)
            requests.save(number, before.failed("the next kill has taken it up"))
    number = requests.ask(Kind.KILL, {"wait_secs": wait_secs, SAVEPOINT: savepoint})
    request = requests.get(number)
    assert request is not None
    steps = OperationSteps(store, name, topology.client, ClusterContainers(cluster, name, store))
    with _stands(name):
        _carry_out(requests, number, request, steps, rest)


def _taken_up(request: Operation) -> str:
    """What is known of a kill that was not finished, for people."""
    begun = f"the kill that {request.requester} asked for at {request.asked_at}"
    url = request.arguments.get(SAVEPOINT)
    if url and SAVEPOINT in request.result:
        begun += f", whose savepoint {url} is complete,"
    elif url and SAVING in request.result:
        begun += f", whose savepoint {url} is incomplete,"
    return f"{begun} was not finished: this one takes it up"


def _carry_out(
    requests: Requests,
    number: int,
    request: Operation,
    steps: OperationSteps,
    rest: Callable[[float], None],
) -> None:
    """Step by step, each noted before the next one."""
    shown, request = Shown(), request.running()
    requests.save(number, request)
    try:
        for progress in steps.kill_with_savepoint(request):
            changed = request.running(progress.text, progress.result, progress.note)
            if changed != request:
                requests.save(number, changed)
            request = changed
            shown.show_progress(progress)
            rest(POLL_SECS)
        requests.save(number, request.done({}))
    except StateStoreError:
        raise
    except HeronError as error:
        requests.save(number, request.failed(str(error)))
        raise
    finally:
        shown.clear()


@contextmanager
def _stands(name: str) -> Iterator[None]:
    """Whoever interrupts the command is told what it leaves."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(
            f"\nthe kill of {name} is not finished: `heronpy kill {name}` goes on with it", err=True
        )
        raise
