"""Processes of a topology that may be harmed: owned by the user, on the local host."""

import os
import socket
from collections.abc import Iterator
from typing import Any

from heron_cli.chaos.faults import HarmedProcess
from heron_cli.running_topology import RunningTopology
from heron_core.state_tree import master_path
from heron_core.stats import EVERY_COMPONENT, TopologyStats
from heron_io.processes import parent_of

TITLE = "heron: "
"""Common prefix of the process titles of a topology."""


def processes_up(
    topology: RunningTopology,
) -> tuple[dict[str, HarmedProcess], TopologyStats | None]:
    """Returns (name -> running process that may be signalled, the topology's statistics); empty
    while the topology master does not answer."""
    stats = topology.client.try_stats(component=EVERY_COMPONENT)
    if stats is None:
        return {}, None
    node = topology.store.get(master_path(topology.name))
    processes = (*_instances(stats), *_managers(stats), *_master(node))
    return {each.name: each for each in processes}, stats


def is_ours(pid: int) -> bool:
    """Whether the process belongs to a topology and to the user."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            title = file.read(len(TITLE))
        return title == TITLE.encode() and os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _instances(stats: TopologyStats) -> Iterator[HarmedProcess]:
    here = {number for number, _, _ in _registered_here(stats)}
    for each in stats.instances or ():
        if each.up and each.pid is not None and each.container in here and is_ours(each.pid):
            yield HarmedProcess("instance", each.instance, each.pid)


def _managers(stats: TopologyStats) -> Iterator[HarmedProcess]:
    """Stream managers, and their parents, the executors."""
    for number, pid, needs in _registered_here(stats):
        if not is_ours(pid):
            continue
        yield HarmedProcess("stream-manager", f"stream manager {number}", pid, needs)
        executor = parent_of(pid)
        if executor is not None and is_ours(executor):
            everything = needs | {f"stream manager {number}"}
            yield HarmedProcess("container", f"container {number}", executor, everything)


def _registered_here(stats: TopologyStats) -> Iterator[tuple[int, int, frozenset[str]]]:
    """(container, pid of its stream manager, names of its instances) on the local host."""
    for number, each in stats.registered.items():
        if each.host == socket.gethostname() and number in stats.containers:
            rows = stats.instances or ()
            yield (
                number,
                each.pid,
                frozenset(row.instance for row in rows if row.container == number),
            )


def _master(node: Any) -> Iterator[HarmedProcess]:
    if not isinstance(node, dict) or node.get("host", socket.gethostname()) != socket.gethostname():
        return
    pid = node.get("pid")
    if isinstance(pid, int) and is_ours(pid):
        yield HarmedProcess("topology-master", "topology master", pid)
