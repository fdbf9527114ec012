"""Cluster data for the pages of Storm's UI: configuration, Nimbus, owners, machines.

Nimbus is the service itself. Quotas of owners are not supported and shown as N/A, as in Storm.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from heron_core.config.settings import DEFAULTS
from heron_core.validation import choices
from heron_core.version import version_of_heronpy
from heron_tracker.envelope import NotFound
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.storm_api.resources import DISPLAY, topology_resources, workers
from heron_tracker.storm_api.views import pretty, supervisor_summary, topology_row

Json = dict[str, Any]
ROWS_OF_A_PAGE = 20
"""Storm's ui.pagination."""
TITLE = "heronpy"
NO_QUOTA = dict.fromkeys(
    ("memoryGuarantee", "memoryGuaranteeRemaining", "cpuGuarantee", "cpuGuaranteeRemaining",
     "isolatedNodes"),
    "N/A",
)  # fmt: skip


def cluster_configuration() -> Json:
    """What the pages are made by, and the defaults of topologies."""
    return {
        "ui.pagination": ROWS_OF_A_PAGE,
        "ui.title": TITLE,
        **{name: value for name, value in DEFAULTS.items() if value is not None},
    }


def nimbus_summary(host: str, port: int, uptime_secs: float) -> Json:
    """The service."""
    row = {
        "host": host,
        "port": port,
        "nimbusLogLink": "",
        "status": "Leader",
        "version": version_of_heronpy(),
        "nimbusUpTime": pretty(uptime_secs),
        "nimbusUpTimeSeconds": str(int(uptime_secs)),
    }
    return {"nimbuses": [row]}


def owner_resources(snapshots: Sequence[TopologySnapshot]) -> Json:
    """Users with topologies."""
    return {
        "owners": [
            _owner(owner, of_owner) for owner, of_owner in sorted(_by_owner(snapshots).items())
        ],
        DISPLAY: False,
    }


def owner(snapshots: Sequence[TopologySnapshot], name: str, now: float) -> Json:
    """One user with topologies; NotFound without topologies."""
    owners = _by_owner(snapshots)
    of_owner = owners.get(name)
    if of_owner is None:
        known = choices("owners", name, owners)
        raise NotFound(f"user {name!r:.100} has no topologies: {known:.500}")
    rows = [topology_row(snapshot, now) for snapshot in of_owner]
    return {**_owner(name, of_owner), "topologies": rows, DISPLAY: False}


def _by_owner(snapshots: Sequence[TopologySnapshot]) -> Mapping[str, list[TopologySnapshot]]:
    owners: dict[str, list[TopologySnapshot]] = {}
    for snapshot in snapshots:
        owners.setdefault(snapshot.role, []).append(snapshot)
    return owners


def _owner(name: str, snapshots: Sequence[TopologySnapshot]) -> Json:
    resources = [topology_resources(snapshot) for snapshot in snapshots]
    tasks = sum(len(snapshot.packing.instances) for snapshot in snapshots)
    sums = {key: sum(each[key] for each in resources) for key in resources[0]}
    return {
        "owner": name,
        "totalTopologies": len(snapshots),
        "totalTasks": tasks,
        "totalExecutors": tasks,
        "totalWorkers": sum(len(snapshot.packing.containers) for snapshot in snapshots),
        "totalReqOnHeapMem": sums["requestedMemOnHeap"],
        "totalReqOffHeapMem": sums["requestedMemOffHeap"],
        "totalReqMem": sums["requestedTotalMem"],
        "totalReqCpu": sums["requestedCpu"],
        "totalAssignedOnHeapMem": sums["assignedMemOnHeap"],
        "totalAssignedOffHeapMem": sums["assignedMemOffHeap"],
        "totalMemoryUsage": sums["assignedTotalMem"],
        "totalCpuUsage": sums["assignedCpu"],
        **NO_QUOTA,
    }


def supervisor(snapshots: Sequence[TopologySnapshot], host: str, base_url: str) -> Json:
    """One machine with its workers; NotFound without workers. The id is the name."""
    known_machines = supervisor_summary(snapshots)["supervisors"]
    machines = [row for row in known_machines if row["host"] == host]
    if not machines:
        known = choices("hosts", host, [row["host"] for row in known_machines])
        raise NotFound(f"no container runs on {host!r:.100}: {known:.500}")
    rows = [row for snapshot in snapshots for row in workers(snapshot, base_url, pretty)]
    return {
        "supervisors": machines,
        "workers": [row for row in rows if row["host"] == host],
        DISPLAY: False,
    }
