"""`heronpy activate`, `deactivate` and `kill`."""

import signal
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from heron_cli.options.common import ignored
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError
from heron_core.plans import TopologyState
from heron_io.processes import signal_process
from scheduler.backends.protocol import SelfRunning
from scheduler.registration import forget, is_alive

Found = TypeVar("Found")

LOOK_SECS = 0.05
GONE_SECS = 20.0
"""An executor gives its processes 5 s, the scheduler its executors 8 s."""


@click.command("activate")
@target_options()
def activate_command(target: Target) -> None:
    """Let the spouts of the paused topology NAME emit again.

    \b
    heronpy activate wordcount
    """
    _change(target, "activate", "active")


@click.command("deactivate")
@target_options()
def deactivate_command(target: Target) -> None:
    """Pause the topology NAME: its spouts emit nothing, what is in flight is processed.

    \b
    heronpy deactivate wordcount
    """
    _change(target, "deactivate", "paused")


def _change(target: Target, command: str, word: str) -> None:
    name = target.name()
    with target.running(name) as topology:
        answer = topology.client.ask(command)
    click.echo(f"{name} is {word}" if answer["changed"] else f"{name} was {word} already")


wait_option = click.option(
    "--wait",
    "wait_secs",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long what is in flight of a topology to be killed may take to be processed.",
)


@click.command("kill")
@target_options()
@wait_option
@ignored("--timeout", metavar="MS")
def kill_command(target: Target, wait_secs: float) -> None:
    """End the topology NAME: first its spouts, then what is in flight, then all processes.

    \b
    heronpy kill wordcount
    heronpy kill -n wordcount --wait 30
    """
    name = target.name()
    with target.running(name) as topology:
        end(topology, wait_secs, target.store_options.config_path)
    click.echo(f"{name} is killed")


def end(topology: RunningTopology, wait_secs: float, config_path: str | None = None) -> None:
    """End a topology after a drain of at most `wait_secs`, and remove its nodes."""
    alive = is_alive(topology.scheduler)
    cluster = self_running(topology, config_path)
    if alive and wait_secs and topology.state.get("state") not in (TopologyState.ENDED, "FAILED"):
        _drain(topology, wait_secs)
    if cluster is not None:
        cluster.end(topology.name)
    elif alive:
        _end_scheduler(topology)
    forget(topology.store, topology.name)


def self_running(topology: RunningTopology, config_path: str | None) -> SelfRunning | None:
    """The back end of a topology that a cluster runs by itself; None if a scheduler of ours does.

    The cluster's file is looked up here: what the state store says is not to choose the programs
    that run on this machine.
    """
    place = topology.scheduler
    if place is None or "pid" in place:
        return None
    from scheduler.clusters.backends import backend_of
    from scheduler.clusters.config import cluster_of

    found = backend_of(cluster_of(place["cluster"], config_path))
    if not isinstance(found, SelfRunning):
        raise HeronError(
            f"{topology.name} was submitted to an {place['kind']} cluster, and "
            f"{place['cluster']} is {found.kind} now: use the file that it was submitted with"
        )
    return found


def _drain(topology: RunningTopology, wait_secs: float) -> None:
    if topology.client.try_ask("drain") is None:
        click.echo("the topology master does not answer: ending without a drain", err=True)
        return

    def quiet() -> Any:
        stats = topology.client.try_ask("stats", wait_secs=1.0)
        return stats is None or stats["quiet"]

    if not until(quiet, wait_secs):
        click.echo(f"still busy after {wait_secs:g} s: ending anyway", err=True)


def _end_scheduler(topology: RunningTopology) -> None:
    place = topology.scheduler
    assert place is not None
    if place["host"] != socket.gethostname():
        raise HeronError(f"{topology.name} runs on {place['host']}: kill it there")
    signal_process(place["pid"], signal.SIGTERM)
    if not until(lambda: not is_alive(place), GONE_SECS):
        raise HeronError(f"the scheduler of {topology.name} (pid {place['pid']}) does not end")


def until(condition: Callable[[], Found], secs: float) -> Found:
    """The first true value of `condition`, or its last one after `secs`."""
    deadline = time.monotonic() + secs
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(LOOK_SECS)
    return found
