"""`heronpy restart`: containers end in order and come back."""

import signal
import socket
from typing import Any

import click

from heron_cli.control import self_running, until
from heron_cli.running import RunningTopology
from heron_cli.target import Target, target_options
from heron_core.errors import HeronError, UsageError
from heron_core.plans import MASTER_CONTAINER
from heron_io.processes import parent_of, signal_process
from heron_io.state_store import master_path, packing_path
from scheduler.local import READY_SECS, is_alive


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
            raise UsageError(f"{name} has no container {container} (its containers: {listed})")
        cluster = self_running(topology, target.place.config_path)
        if cluster is not None:
            cluster.restart(name, container)
        else:
            _check_is_here(topology)
            for each in known if container is None else [container]:
                _restart(topology, each)
    what = "all containers are" if container is None else f"container {container} is"
    click.echo(f"{name}: {what} restarted")


def _containers(topology: RunningTopology) -> list[int]:
    packing = topology.store.get(packing_path(topology.name)) or {"containers": []}
    return [MASTER_CONTAINER, *(each["id"] for each in packing["containers"])]


def _check_is_here(topology: RunningTopology) -> None:
    """HeronError unless the containers are children of a scheduler on this machine."""
    place, name = topology.scheduler, topology.name
    if place is None or not is_alive(place):
        raise HeronError(f"the scheduler of {name} is gone: `heronpy kill {name}` removes the rest")
    if place["kind"] != "local":
        raise HeronError(
            f"restart is not supported by {place['kind']}: kill {name} and submit it again"
        )
    if place["host"] != socket.gethostname():
        raise HeronError(f"{name} runs on {place['host']}: restart it there")


def _restart(topology: RunningTopology, container: int) -> None:
    """SIGTERM to the container's executor, which its scheduler starts again; waits for all."""
    assert topology.scheduler is not None
    name, scheduler = topology.name, topology.scheduler["pid"]
    before = until(lambda: _service(topology, container), READY_SECS)
    executor = parent_of(before) if before else None
    if executor is None or parent_of(executor) != scheduler:
        raise HeronError(
            f"container {container} of {name} is not up: look at `heronpy tail {name}`"
        )
    signal_process(executor, signal.SIGTERM)
    if not until(lambda: _is_back(topology, container, before), READY_SECS):
        raise HeronError(
            f"container {container} of {name} is not back after {READY_SECS:.0f} s: look at "
            f"`heronpy tail {name}`"
        )


def _service(topology: RunningTopology, container: int) -> int | None:
    """Pid of the container's topology master or stream manager, None while there is none."""
    if container == MASTER_CONTAINER:
        place = topology.store.get(master_path(topology.name))
        return None if place is None else int(place["pid"])
    found: dict[str, Any] = topology.client.try_ask("stats", wait_secs=1.0) or {}
    pid = found.get("registered", {}).get(container, {}).get("pid")
    return None if pid is None else int(pid)


def _is_back(topology: RunningTopology, container: int, before: int | None) -> bool:
    """Another process serves the container, and every container and instance is there."""
    now = _service(topology, container)
    found = topology.client.try_ask("stats", wait_secs=1.0)
    if found is None or now is None or now == before:
        return False
    complete = found["containers"] == found["containers_expected"]
    return complete and all(
        each["up"] == each["instances"] for each in found["components"].values()
    )
