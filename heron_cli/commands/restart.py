"""`heronpy restart`: containers end in order and come back.

A container that is a child of the scheduler gets SIGTERM, and its supervisor starts it again. One
in a task of Spark is restarted by its task, which the driver tells: we leave the order in the state
store, where the driver finds it and takes it away.
"""

import secrets
import signal
import socket
from typing import Any

import click

from heron_cli.commands.control import self_running, until
from heron_cli.options.find_topology import Target, target_options
from heron_cli.running_topology import RunningTopology
from heron_core.errors import HeronError, UsageError
from heron_core.plans import MASTER_CONTAINER, TopologyState
from heron_core.state_tree import master_path, packing_path, restart_requests_path
from heron_io.processes import parent_of, signal_process
from heron_spark.options import ENGINE
from scheduler.backends.local import READY_SECS
from scheduler.backends.registry import LOCAL
from scheduler.registration import is_alive

BACK_SECS = 120.0
"""How long a container on a cluster may take to be back; one of this machine READY_SECS."""

Service = tuple[str, int]
"""Host and pid."""


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
        cluster = self_running(topology, target.store_options.config_path)
        chosen = known if container is None else [container]
        if cluster is not None:
            before = {each: _service(topology, each) for each in chosen}
            cluster.restart(name, container)
            if topology.state.get("state") != TopologyState.ENDED:
                for each in chosen:
                    _wait_until_back(topology, each, before[each])
        else:
            _check_is_here(topology)
            for each in chosen:
                _restart(topology, each)
    what = "all containers are" if container is None else f"container {container} is"
    click.echo(f"{name}: {what} restarted")


def _containers(topology: RunningTopology) -> list[int]:
    packing = topology.store.get(packing_path(topology.name)) or {"containers": []}
    return [MASTER_CONTAINER, *(each["id"] for each in packing["containers"])]


def _check_is_here(topology: RunningTopology) -> None:
    """HeronError unless the topology's scheduler runs, and on this machine."""
    place, name = topology.scheduler, topology.name
    if place is None or not is_alive(place):
        raise HeronError(f"the scheduler of {name} is gone: `heronpy kill {name}` removes the rest")
    if place["kind"] == ENGINE:
        raise HeronError(f"{name} is a query of Spark: kill it and submit it again")
    if place["host"] != socket.gethostname():
        raise HeronError(f"{name} runs on {place['host']}: restart it there")


def _restart(topology: RunningTopology, container: int) -> None:
    """Have one container restarted, and wait until everything is there again."""
    assert topology.scheduler is not None
    name, kind = topology.name, topology.scheduler["kind"]
    before = until(lambda: _service(topology, container), READY_SECS)
    if before is None:
        raise _not_up(name, container)
    if kind == LOCAL or container == MASTER_CONTAINER:
        _end_executor(topology, container, before[1])
    else:
        order = {"container": container, "order": secrets.token_hex(8)}
        topology.store.put(restart_requests_path(name), order)
    _wait_until_back(topology, container, before)


def _wait_until_back(topology: RunningTopology, container: int, before: Service | None) -> None:
    back_secs = READY_SECS if (topology.scheduler or {}).get("kind") == LOCAL else BACK_SECS
    if not until(lambda: _is_back(topology, container, before), back_secs):
        raise HeronError(
            f"container {container} of {topology.name} is not back after {back_secs:.0f} s: look "
            f"at `heronpy tail {topology.name}`"
        )


def _end_executor(topology: RunningTopology, container: int, service: int) -> None:
    """SIGTERM to the executor above a process, which is the scheduler's child."""
    assert topology.scheduler is not None
    executor = parent_of(service)
    if executor is None or parent_of(executor) != topology.scheduler["pid"]:
        raise _not_up(topology.name, container)
    signal_process(executor, signal.SIGTERM)


def _not_up(name: str, container: int) -> HeronError:
    return HeronError(f"container {container} of {name} is not up: look at `heronpy tail {name}`")


def _service(topology: RunningTopology, container: int) -> Service | None:
    """The container's topology master or stream manager, None while there is none."""
    if container == MASTER_CONTAINER:
        found = topology.store.get(master_path(topology.name))
    else:
        stats: dict[str, Any] = topology.client.try_ask("stats", wait_secs=1.0) or {}
        found = stats.get("registered", {}).get(container)
    return None if found is None else (str(found["host"]), int(found["pid"]))


def _is_back(topology: RunningTopology, container: int, before: Service | None) -> bool:
    """Another process serves the container, and every container and instance is there."""
    now = _service(topology, container)
    found = topology.client.try_ask("stats", wait_secs=1.0)
    if found is None or now is None or now == before:
        return False
    complete = found["containers"] == found["containers_expected"]
    return complete and all(
        each["up"] == each["instances"] for each in found["components"].values()
    )
