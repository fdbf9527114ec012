"""`heronpy activate`, `deactivate` and `kill`."""

import signal
import time
from collections.abc import Callable
from typing import Any

import click

from heron_cli.running import RunningTopology, running
from heron_cli.stores import zookeeper_option
from heron_core.errors import HeronError
from heron_io.processes import signal_process
from scheduler.local import forget, is_alive

LOOK_SECS = 0.05
GONE_SECS = 20.0
"""An executor gives its processes 5 s, the scheduler its executors 8 s."""


@click.command("activate")
@click.argument("name")
@zookeeper_option
def activate_command(name: str, zookeeper: str | None) -> None:
    """Let the spouts of the paused topology NAME emit again."""
    _change(name, zookeeper, "activate", "active")


@click.command("deactivate")
@click.argument("name")
@zookeeper_option
def deactivate_command(name: str, zookeeper: str | None) -> None:
    """Pause the topology NAME: its spouts emit nothing, what is in flight is processed."""
    _change(name, zookeeper, "deactivate", "paused")


def _change(name: str, zookeeper: str | None, command: str, word: str) -> None:
    with running(name, zookeeper) as topology:
        answer = topology.client.ask(command)
    click.echo(f"{name} is {word}" if answer["changed"] else f"{name} was {word} already")


@click.command("kill")
@click.argument("name")
@click.option(
    "--wait",
    "wait_secs",
    type=click.FloatRange(min=0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long what is in flight may take to be processed.",
)
@zookeeper_option
def kill_command(name: str, wait_secs: float, zookeeper: str | None) -> None:
    """End the topology NAME: first its spouts, then what is in flight, then all processes."""
    with running(name, zookeeper) as topology:
        alive = is_alive(topology.scheduler)
        if alive and wait_secs:
            _drain(topology, wait_secs)
        if alive:
            _end_scheduler(topology)
        forget(topology.store, name)
    click.echo(f"{name} is killed")


def _drain(topology: RunningTopology, wait_secs: float) -> None:
    if topology.client.try_ask("drain") is None:
        click.echo("the topology master does not answer: ending without a drain", err=True)
        return

    def quiet() -> Any:
        stats = topology.client.try_ask("stats", wait_secs=1.0)
        return stats is None or stats["quiet"]

    if not _until(quiet, wait_secs):
        click.echo(f"still busy after {wait_secs:g} s: ending anyway", err=True)


def _end_scheduler(topology: RunningTopology) -> None:
    place = topology.scheduler
    assert place is not None
    import socket

    if place["host"] != socket.gethostname():
        raise HeronError(f"{topology.name} runs on {place['host']}: kill it there")
    signal_process(place["pid"], signal.SIGTERM)
    if not _until(lambda: not is_alive(place), GONE_SECS):
        raise HeronError(f"the scheduler of {topology.name} (pid {place['pid']}) does not end")


def _until(condition: Callable[[], Any], secs: float) -> bool:
    deadline = time.monotonic() + secs
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_SECS)
    return True
