"""`heronpy autoscale`: the autoscaler of a topology on a self-running cluster."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from heron_cli.cluster_operations import take_up_update, update_on_cluster
from heron_cli.operations import self_running
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology
from heron_core import config as keys
from heron_core.algorithms.autoscale.options import AutoscaleOptions
from heron_core.errors import HeronError, NameInUse, StateStoreError, UsageError
from heron_core.plans import TopologyState, packing_from_json
from heron_core.state_tree import carrier_path, execution_path, packing_path, topology_path
from heron_core.topology import TopologySpec, topology_from_json
from heron_core.typed_json import to_json
from heron_engine.scheduler.autoscaling import Autoscaling
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.operations import TopologyRequests, requester
from heron_io.logs import log_text_to

POLL_SECS = 1.0
"""Poll interval of the topology's state; the autoscaler has another interval."""
AUTOSCALER = "autoscale"
"""Name of the command's node, which refuses a second autoscaler of the topology."""


@click.command("autoscale")
@target_options()
def autoscale_command(target: Target) -> None:
    """Scale the topology NAME on Kubernetes, YARN or Aurora with the load, until the topology or
    this command ends.

    A topology with a scheduler of ours needs no such command. The topology's keys
    (topology.autoscale.mode and others) decide; each decision is an event. The command needs the
    rights of `heronpy update`. A second autoscaler of the topology is refused; after a kill of the
    command the next command resumes an unfinished change.

    \b
    heronpy autoscale words --cluster k8s
    """
    name = target.name()
    with target.running(name) as topology:
        cluster = self_running(topology, target.store_options.config_path)
        if cluster is None:
            raise UsageError(
                f"the scheduler of {name} scales it by {keys.AUTOSCALE_MODE}: this command is for "
                "topologies that a cluster runs by itself"
            )
        spec = _spec(topology)
        if keys.autoscale_mode(keys.with_defaults(spec.config)) == keys.OFF:
            raise UsageError(
                f"{keys.AUTOSCALE_MODE} of {name} is {keys.OFF}: submit the topology with "
                f"-o {keys.AUTOSCALE_MODE}={keys.ON}"
            )
        log_text_to(logging.StreamHandler(sys.stderr), logging.WARNING)
        logging.getLogger("operations").setLevel(logging.INFO)
        with _only_autoscaler(topology) as node:
            take_up_update(topology, cluster)
            _scale(topology, cluster, spec, node)
    click.echo(f"{name} has ended")


def _spec(topology: RunningTopology) -> TopologySpec:
    stored, packing = (
        topology.store.get(path(topology.name)) for path in (topology_path, packing_path)
    )
    if stored is None or packing is None:
        raise HeronError(
            f"{topology.name} is still starting, or has just ended: try again in a few seconds"
        )
    return packing_from_json(packing).topology_of(topology_from_json(stored))


@contextmanager
def _only_autoscaler(topology: RunningTopology) -> Iterator[str]:
    """Path of this command's node; HeronError for a second autoscaler of the topology."""
    path = carrier_path(topology.name, AUTOSCALER)
    _keep_node(topology, path)
    try:
        yield path
    finally:
        topology.store.delete(path)


def _keep_node(topology: RunningTopology, path: str) -> None:
    if topology.store.get(path) == to_json(requester()):
        return
    try:
        topology.store.create(path, to_json(requester()), ephemeral=True)
    except NameInUse:
        other = topology.store.get(path) or {}
        raise HeronError(
            f"{topology.name} has an autoscaler already ({other.get('user', '?')} on "
            f"{other.get('host', '?')}, pid {other.get('pid', '?')}): end that command first"
        ) from None


def _scale(topology: RunningTopology, cluster: SelfRunning, spec: TopologySpec, node: str) -> None:
    """Scale until the end of the topology, also past failures of the state store."""
    scaling = Autoscaling(
        spec,
        AutoscaleOptions.of(spec),
        topology.store,
        topology.client,
        TopologyRequests(topology.store, topology.name),
        has_capacity=False,
        carry_out=lambda plan: update_on_cluster(topology, cluster, plan),
    )
    click.echo(f"{topology.name} is scaled with its load; Ctrl-C ends the autoscaler", err=True)
    while True:
        try:
            if _has_ended(topology):
                return
            _keep_node(topology, node)
            scaling.poll(time.monotonic())
        except StateStoreError as error:  # the store reconnects by itself
            click.echo(f"autoscaling waits: {error}", err=True)
        time.sleep(POLL_SECS)


def _has_ended(topology: RunningTopology) -> bool:
    state = topology.store.get(execution_path(topology.name)) or {}
    is_over = state.get("state") in TopologyState.OVER
    return is_over or topology.store.get(topology_path(topology.name)) is None
