"""`heronpy activate`, `deactivate` and `kill`."""

import socket
import time

import click

from heron_cli.cluster_operations import end_on_cluster
from heron_cli.operations import ClusterContainers, ask, ask_to_end, follow, gone, self_running
from heron_cli.options.cluster import chosen
from heron_cli.options.common import ignored
from heron_cli.options.find_topology import Target, target_options
from heron_cli.options.numbers import wait_option
from heron_cli.running_topology import RunningTopology, tell_action
from heron_cli.stats_text import alignment_text
from heron_core.errors import HeronError
from heron_core.operations import OperationKind
from heron_core.state_tree import packing_path, scheduler_path, topology_path
from heron_engine.scheduler.backends.protocol import SelfRunning
from heron_engine.scheduler.operation_steps import OperationSteps
from heron_engine.scheduler.outcomes import write_ended_outcome
from heron_engine.scheduler.registration import forget, is_alive
from heron_engine.scheduler.savepoints import absolute_url
from heron_engine.scheduler.stored_outcomes import end_of
from heron_engine.scheduler.user_folder import Home
from heron_io.master_client import NoAnswer
from heron_io.processes import user_name


@click.command("activate")
@target_options()
def activate_command(target: Target) -> None:
    """Activate the deactivated topology NAME: its spouts emit again.

    \b
    heronpy activate wordcount
    """
    _change(target, OperationKind.ACTIVATE, "active")


@click.command("deactivate")
@target_options()
def deactivate_command(target: Target) -> None:
    """Deactivate the topology NAME: its spouts stop emitting; tuples in flight are processed.

    \b
    heronpy deactivate wordcount
    """
    _change(target, OperationKind.DEACTIVATE, "paused")


@click.command("checkpoint")
@target_options()
def checkpoint_command(target: Target) -> None:
    """Take a checkpoint of the topology NAME now, and wait until it is complete.

    \b
    heronpy checkpoint wordcount
    """
    name = target.name()
    with target.running(name) as topology:
        cluster = self_running(topology, target.store_options.config_path)
        if cluster is None:
            done = ask(topology, OperationKind.CHECKPOINT, {}).result
        else:
            containers = ClusterContainers(cluster, name, topology.store)
            steps = OperationSteps(topology.store, name, topology.client, containers)
            tell_action(topology, OperationKind.CHECKPOINT)
            done = follow(steps.checkpoint())
    size = f"{done['size_bytes']:,} bytes in {done['secs']:.2f} s"
    aligned = f"; {alignment_text(done['alignment_ms'])}" if done["alignment_ms"] else ""
    click.echo(f"checkpoint {done['number']} of {name} is complete: {size}{aligned}")


def _change(target: Target, kind: OperationKind, word: str) -> None:
    name = target.name()
    with target.running(name) as topology:
        changed = _changed(topology, kind)
    click.echo(f"{name} is {word}" if changed else f"{name} was {word} already")


def _changed(topology: RunningTopology, kind: OperationKind) -> bool:
    if "pid" not in (topology.scheduler or {}) or not is_alive(topology.scheduler):
        # A cluster's own scheduler takes no requests; remaining processes end by themselves.
        try:
            changed = bool(topology.client.ask(kind)["changed"])
        except NoAnswer:
            if is_alive(topology.scheduler):
                raise
            raise gone(topology.name) from None
        tell_action(topology, kind)
        return changed
    return bool(ask(topology, kind, {}).result["changed"])


@click.command("kill")
@target_options()
@wait_option("Time limit for tuples in flight.")
@click.option(
    "--savepoint",
    is_flag=False,
    flag_value="",
    metavar="[FOLDER]",
    help=(
        "Take a savepoint in FOLDER (default: ~/.heronpy/savepoints/NAME-TIME), then end at "
        "once. If the savepoint fails, the topology keeps running. For EFFECTIVELY_ONCE."
    ),
)
@ignored("--timeout", metavar="MS")
def kill_command(target: Target, wait_secs: float, savepoint: str | None) -> None:
    """End the topology NAME: stop its spouts, process the tuples in flight, end all processes.

    With --savepoint its state is kept: `heronpy submit ... --from-savepoint FOLDER` begins where
    it was, also with other code, or with another parallelism of bolts that are grouped by fields.

    \b
    heronpy kill wordcount
    heronpy kill -n wordcount --wait 30
    heronpy kill wordcount --savepoint
    heronpy kill wordcount --savepoint /shared/savepoints/wordcount-before-upgrade
    """
    name = target.name()
    url = None if savepoint is None else _savepoint_url(name, savepoint)
    if not _end_unknown(target, name, url):
        with target.running(name) as topology:
            end(topology, wait_secs, target.store_options.config_path, url or "")
    if url is not None:
        click.echo(
            f"savepoint of {name}: {url}; start a topology from the savepoint with "
            f"--from-savepoint {url}"
        )
    click.echo(f"{name} is killed")


def _end_unknown(target: Target, name: str, savepoint: str | None) -> bool:
    """End a cluster's application missing in the state store; whether an application was found."""
    options = target.store_options
    cluster = chosen(options.cluster, options.config_path)
    if cluster is None:
        return False
    with options.store() as store:
        if all(store.get(path(name)) is not None for path in (topology_path, scheduler_path)):
            return False
        from heron_engine.scheduler.clusters.backends import backend_of

        backend = backend_of(cluster)
        job = backend.known(name) if isinstance(backend, SelfRunning) else ""
        if not job or not isinstance(backend, SelfRunning):
            return False
        lost = f"the state store has lost {name}, and {cluster.name} runs {job}"
        if savepoint is not None:
            raise HeronError(f"{lost}: a savepoint needs the state store's entry")
        click.echo(f"{lost}: ending the job without a drain", err=True)
        backend.end(name)
        forget(store, name, is_over=True)
    return True


def _savepoint_url(name: str, given: str) -> str:
    """The named folder, or a folder named after the topology and the time."""
    if not given:
        return Home.of_user().savepoint(name, time.strftime("%Y%m%d-%H%M%S"))
    return absolute_url(given)


def end(
    topology: RunningTopology,
    wait_secs: float,
    config_path: str | None = None,
    savepoint: str = "",
    *,
    is_over: bool = True,
) -> None:
    """End a topology after a drain of at most `wait_secs`, or after a savepoint into the folder,
    and remove its nodes. `is_over`: the next run starts from scratch (only on a cluster)."""
    cluster, ended = self_running(topology, config_path), None
    if cluster is not None:
        reason = f"killed by {user_name()} on {socket.gethostname()}"
        ended = end_of(topology.state, True, reason)  # a drain changes the nodes' content
        end_on_cluster(topology, cluster, wait_secs, savepoint)
        packing = topology.store.get(packing_path(topology.name))
        write_ended_outcome(Home.of_user(), topology.name, ended, topology.state, packing)
    elif is_alive(topology.scheduler):
        ask_to_end(topology, wait_secs, savepoint)
        return
    elif savepoint:
        raise gone(topology.name)
    else:
        was = f"the scheduler of {topology.name} was killed before"
        click.echo(f"{was}: removing its remains, without a drain", err=True)
    forget(topology.store, topology.name, is_over=is_over, ended=ended)
