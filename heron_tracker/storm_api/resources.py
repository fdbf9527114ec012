"""What Storm's UI tells of resources, workers and where an error was.

Storm counts memory in MB, on and off Java's heap, and CPU in hundredths of a core. Here all memory
counts as on the heap, and what is assigned is what is asked for.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from heron_core.plans import ContainerPlan, Resource
from heron_tracker.heron_api.plans import log_file
from heron_tracker.model.snapshot import TopologySnapshot

Json = dict[str, Any]
MEGABYTE = 2**20
NOTHING = Resource(0.0, 0, 0)
DISPLAY = "schedulerDisplayResource"


def total(containers: Sequence[ContainerPlan]) -> Resource:
    """Of some containers."""
    return sum((each.resource for each in containers), NOTHING)


def topology_resources(snapshot: TopologySnapshot) -> Json:
    """Asked for and assigned."""
    whole = total(snapshot.packing.containers)
    memory_mb, cpu = whole.ram_bytes / MEGABYTE, whole.cpu * 100
    resources: Json = {"replicationCount": 1}
    for word in ("requested", "assigned"):
        resources |= {
            f"{word}MemOnHeap": memory_mb, f"{word}MemOffHeap": 0.0, f"{word}TotalMem": memory_mb,
            f"{word}Cpu": cpu,
        }  # fmt: skip
    return resources


def machine_resources(containers: Sequence[ContainerPlan]) -> Json:
    """Resources of a supervisor: the total is unknown, and reported as the used amount."""
    whole = total(containers)
    memory_mb, cpu = whole.ram_bytes / MEGABYTE, whole.cpu * 100
    return {"totalMem": memory_mb, "usedMem": memory_mb, "totalCpu": cpu, "usedCpu": cpu}


def cluster_resources(containers: Sequence[ContainerPlan]) -> Json:
    """Of the whole, in the same way."""
    used = machine_resources(containers)
    percent = 100.0 if containers else 0.0
    return {
        DISPLAY: False, "totalMem": used["totalMem"], "totalCpu": used["totalCpu"],
        "availMem": 0.0, "availCpu": 0.0, "memAssignedPercentUtil": percent,
        "cpuAssignedPercentUtil": percent,
    }  # fmt: skip


def log_link(snapshot: TopologySnapshot, container: int, file: str, base_url: str) -> str:
    """Where a log is read."""
    query = urlencode({"topology": snapshot.name, "container": container, "path": file})
    return f"{base_url.rstrip('/')}/topologies/containerfiledata?{query}"


def workers(snapshot: TopologySnapshot, base_url: str, pretty: Any) -> list[Json]:
    """The containers; `pretty` writes a duration."""
    rows = []
    for container in snapshot.packing.containers:
        registered = snapshot.registered.get(container.id)
        secs = registered.secs if registered is not None else 0.0
        counts: dict[str, int] = {}
        for instance in container.instances:
            counts[instance.component] = counts.get(instance.component, 0) + 1
        rows.append(
            {
                "supervisorId": snapshot.host_of(container.id), "owner": snapshot.role,
                "host": snapshot.host_of(container.id), "port": container.id,
                "topologyId": snapshot.id, "topologyName": snapshot.name,
                "executorsTotal": len(container.instances), "componentNumTasks": counts,
                "assignedMemOnHeap": container.resource.ram_bytes / MEGABYTE,
                "assignedMemOffHeap": 0.0, "assignedCpu": container.resource.cpu * 100,
                "uptime": pretty(secs), "uptimeSeconds": int(secs),
                "workerLogLink": log_link(
                    snapshot, container.id, f"container-{container.id}.log", base_url
                ),
            }
        )  # fmt: skip
    return rows


def error_location(snapshot: TopologySnapshot, component: str, base_url: str) -> Json:
    """Where a component's last error was; empty for a component without errors."""
    failing = [x for x in snapshot.instances if x.errors and x.component == component]
    where: Json = {"errorHost": "", "errorPort": None, "errorWorkerLogLink": ""}
    if failing:
        one = max(failing, key=lambda row: row.errors)
        link = log_link(snapshot, one.container, log_file(component, one.task), base_url)
        where = {
            "errorHost": snapshot.host_of(one.container), "errorPort": one.container,
            "errorWorkerLogLink": link,
        }  # fmt: skip
    return where
