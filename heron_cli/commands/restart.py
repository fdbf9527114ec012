"""`heronpy restart`: containers end in order and come back."""

import click

from heron_cli.operations import ClusterContainers, ask, follow, goes_on, gone, self_running
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology, tell_action
from heron_core.action_text import action_text
from heron_core.errors import HeronError, UsageError
from heron_core.operations import OperationKind
from heron_core.plans import MASTER_CONTAINER, TopologyState
from heron_core.state_tree import packing_path
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.carriers import claiming
from heron_engine.scheduler.operation_steps import OperationSteps
from heron_engine.scheduler.registration import is_alive
from heron_spark.options import ENGINE


@click.command("restart")
@target_options()
@click.argument("container", required=False, type=click.IntRange(min=0))
def restart_command(target: Target, container: int | None) -> None:
    """Restart CONTAINER of the topology NAME, or all its containers, one after the other.

    A container's processes end in order and come back; with at least once nothing is lost.
    Container 0 is the topology master's.

    \b
    heronpy restart wordcount
    heronpy restart wordcount 2
    """
    name = target.name()
    with target.running(name) as topology:
        known = _containers(topology)
        if container is not None and container not in known:
            listed = ", ".join(map(str, known))
            raise UsageError(f"{name} has no container {container}; its containers: {listed}")
        cluster = self_running(topology, target.store_options.config_path)
        if cluster is not None:
            _restart_on(cluster, topology, container, known)
        else:
            _check_runs(topology)
            chosen = known if container is None else [container]
            ask(topology, OperationKind.RESTART, {"containers": chosen})
    what = "all containers are" if container is None else f"container {container} is"
    click.echo(f"{name}: {what} restarted")


def _restart_on(
    cluster: SelfRunning, topology: RunningTopology, container: int | None, known: list[int]
) -> None:
    """By the cluster's own means; one whose work is done does not come back."""
    containers = ClusterContainers(cluster, topology.name, topology.store)
    steps = OperationSteps(topology.store, topology.name, topology.client, containers)
    chosen = known if container is None else [container]
    with (
        claiming(topology.store, topology.name, OperationKind.RESTART),
        goes_on(f"containers of {topology.name} may not be restarted: give the command again"),
    ):
        tell_action(topology, action_text(OperationKind.RESTART, {"containers": chosen}))
        before = {number: steps.service(number) for number in chosen}
        cluster.restart(topology.name, container)
        if topology.state.get("state") not in TopologyState.OVER:
            for number in chosen:
                follow(steps.back(number, before[number]))


def _containers(topology: RunningTopology) -> list[int]:
    packing = topology.store.get(packing_path(topology.name)) or {"containers": []}
    return [MASTER_CONTAINER, *(each["id"] for each in packing["containers"])]


def _check_runs(topology: RunningTopology) -> None:
    """HeronError unless the topology's scheduler runs, and has containers."""
    if topology.scheduler is None or not is_alive(topology.scheduler):
        raise gone(topology.name)
    if topology.scheduler["kind"] == ENGINE:
        raise HeronError(
            f"{topology.name} is a Spark query, which cannot be restarted: kill and submit the "
            "topology again"
        )
