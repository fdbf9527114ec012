"""Containers and hosts: every process with its CPU, memory and network."""

from dataclasses import dataclass

from heron_core.number_text import NOTHING, duration, share, short, size
from heron_core.plans import ContainerPlan
from heron_core.stats import BUSY_SHARE, InstanceStats
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.pages.cells import BAD, GOOD, WARNING, PageCell, PageColumn, PageRow, PageTable
from heron_tracker.pages.links import component_page, topology_page
from heron_tracker.pages.network_view import instance_cells, network_table, secs_between
from heron_tracker.pages.topology_view import busy_cell, count_cell

CONTAINERS = (
    PageColumn("container", "Container", is_number=True),
    PageColumn("host", "Host"),
    PageColumn("state", "State"),
    PageColumn("since", "Registered for", is_number=True),
    PageColumn("pid", "Stream manager's pid", is_number=True),
    PageColumn("instances", "Instances", is_number=True),
    PageColumn("cpu", "CPU of instances", is_number=True),
    PageColumn("memory", "Memory of instances", is_number=True),
    PageColumn("waiting", "Tuples waiting", is_number=True),
    PageColumn("dropped", "Dropped", is_number=True),
)
PROCESSES = (
    PageColumn("instance", "Instance"),
    PageColumn("container", "Container", is_number=True),
    PageColumn("host", "Host"),
    PageColumn("pid", "pid", is_number=True),
    PageColumn("cpu", "CPU", is_number=True),
    PageColumn("busy", "Busy", is_number=True),
    PageColumn("memory", "Memory", is_number=True),
    PageColumn("receiving", "Received/s", is_number=True),
    PageColumn("sending", "Sent/s", is_number=True),
    PageColumn("restarts", "Restarts", is_number=True),
    PageColumn("log", "Log"),
)


@dataclass(frozen=True, slots=True)
class ContainersPage:
    """What it shows."""

    summary: tuple[tuple[str, str], ...]
    containers: PageTable
    processes: PageTable
    network: PageTable


def containers_page(
    snapshot: TopologySnapshot, previous: TopologySnapshot | None = None
) -> ContainersPage:
    """All containers and processes, as far as their numbers are known; `previous`: an older
    snapshot, for what is sent a second."""
    before = (
        {instance.task: instance for instance in previous.instances} if previous is not None else {}
    )
    secs = secs_between(snapshot, previous)
    rows = snapshot.instances
    hosts = {snapshot.host_of(container.id) for container in snapshot.packing.containers}
    summary = (
        ("Hosts", ", ".join(sorted(hosts)) or NOTHING),
        ("Cluster", snapshot.cluster),
        ("CPU of instances", _cores(sum(row.cpu_share for row in rows))),
        ("Memory of instances", size(sum(row.memory_bytes for row in rows))),
        ("Topology master", _master(snapshot)),
    )
    containers = tuple(_container(snapshot, container) for container in snapshot.packing.containers)
    processes = tuple(_process(snapshot, row, instance_cells(row, before, secs)) for row in rows)
    return ContainersPage(
        summary,
        PageTable(CONTAINERS, containers),
        PageTable(PROCESSES, processes),
        network_table(snapshot, previous),
    )


def _cores(cpu_share: float) -> str:
    return f"{cpu_share:.2f} cores"


def _master(snapshot: TopologySnapshot) -> str:
    node = snapshot.master
    return f"pid {node.get('pid')} on {node.get('host')}" if node else "none at present"


def _container(snapshot: TopologySnapshot, plan: ContainerPlan) -> PageRow:
    stats = snapshot.stats
    registered = snapshot.registered.get(plan.id)
    manager = stats.stream_managers.get(plan.id) if stats is not None else None
    rows = [instance for instance in snapshot.instances if instance.container == plan.id]
    is_up = stats is not None and plan.id in stats.containers
    waiting = sum(manager.waiting_tuples.values()) if manager is not None else 0
    cpu, memory = sum(x.cpu_share for x in rows), sum(x.memory_bytes for x in rows)
    return PageRow(
        str(plan.id),
        {
            "container": PageCell(plan.id),
            "host": PageCell(snapshot.host_of(plan.id)),
            "state": PageCell("up", tone=GOOD) if is_up else PageCell("silent", tone=BAD),
            "since": PageCell(registered.secs, duration(registered.secs))
            if registered is not None
            else PageCell(-1.0, NOTHING),
            "pid": PageCell(registered.pid if registered is not None else NOTHING),
            "instances": PageCell(len(plan.instances)),
            "cpu": PageCell(cpu, _cores(cpu)),
            "memory": PageCell(memory, size(memory)),
            "waiting": PageCell(waiting, short(waiting)),
            "dropped": count_cell(manager.dropped if manager is not None else 0),
        },
    )


def _process(
    snapshot: TopologySnapshot, instance: InstanceStats, network: dict[str, PageCell]
) -> PageRow:
    component = instance.component
    log = f"{component}-{instance.task}.log"
    return PageRow(
        instance.instance,
        {
            "instance": PageCell(instance.instance, href=component_page(snapshot.name, component)),
            "container": PageCell(instance.container),
            "host": PageCell(snapshot.host_of(instance.container)),
            "pid": PageCell(instance.pid if instance.pid is not None else NOTHING),
            "cpu": PageCell(
                instance.cpu_share, share(instance.cpu_share), share=instance.cpu_share,
                tone=WARNING if instance.cpu_share >= BUSY_SHARE else "",
            ),
            "busy": busy_cell(instance.capacity, counts=False),
            "memory": PageCell(instance.memory_bytes, size(instance.memory_bytes)),
            **network,
            "restarts": count_cell(instance.restarts),
            "log": PageCell(log, href=topology_page(snapshot.name, "logs", file=log)),
        },
    )  # fmt: skip
