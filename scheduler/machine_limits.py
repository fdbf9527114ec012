"""Limits of the machine: an oversized topology is rejected before the start."""

import os
import resource

from heron_core import config as keys
from heron_core.errors import TopologyError
from heron_core.plans import PackingPlan
from heron_engine.scheduler.container.control_groups import granted

INSTANCE_BYTES_MIN = 8 * 1024 * 1024
"""Private memory of an idle instance; user code needs more."""
FILES_OF_PROCESS = 48
"""Descriptors that a process of ours needs without any instance: libraries, sockets, logs."""
FILES_OF_INSTANCE = 2
"""Two sockets of each instance in a stream manager (158 were open with 61 of them), two pipes in
an executor (143)."""


def check_this_machine(packing: PackingPlan) -> None:
    """TopologyError if all of these containers cannot run here."""
    check_memory(len(packing.instances), _memory_bytes())
    check_files(packing, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def check_memory(instances: int, memory_bytes: int) -> None:
    """TopologyError for more instances than fit into memory, even if idle."""
    most = memory_bytes // INSTANCE_BYTES_MIN
    if instances > most:
        raise TopologyError(
            f"{instances} instances do not fit into this machine, whose memory of "
            f"{memory_bytes >> 20} MiB holds {most} at most ({INSTANCE_BYTES_MIN >> 20} MiB each): "
            f"use fewer, or a cluster ({keys.INSTANCES_MAX} is the limit of a topology anywhere)"
        )


def check_files(packing: PackingPlan, limit: int) -> None:
    """TopologyError if a process of ours would run out of file descriptors."""
    most = max(len(each.instances) for each in packing.containers)
    needed = FILES_OF_PROCESS + FILES_OF_INSTANCE * most
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise TopologyError(
            f"a process may have {limit} open files here, and with {most} instances in a container "
            f"{needed} are needed: raise the limit (`ulimit -n {needed}`, LimitNOFILE of systemd), "
            "or use more containers"
        )


def _memory_bytes() -> int:
    machine_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    granted_bytes = granted().memory_bytes
    return machine_bytes if granted_bytes is None else min(machine_bytes, granted_bytes)
