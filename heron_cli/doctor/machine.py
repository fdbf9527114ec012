"""Checks of this machine: cores, memory, limits of processes, disk, sockets, host name."""

import os
import resource
import shutil
import socket

from heron_cli.doctor.results import CheckResult
from heron_core.errors import HeronError
from heron_engine.scheduler.container.control_groups import (
    CPU,
    MEMORY,
    GroupAccess,
    granted,
    group_access,
)
from heron_engine.scheduler.machine_limits import (
    FILES_OF_INSTANCE,
    FILES_OF_PROCESS,
    INSTANCE_BYTES_MIN,
)
from heron_engine.scheduler.socket_folders import SOCKETS_PARENT_BYTES_MAX, sockets_folder
from heron_io.private_files import make_private_folders

INSTANCES_EXPECTED = 64
"""A container of so many instances should fit into the limits: more than most topologies have."""
PROCESSES_EXPECTED = 256
FREE_BYTES_EXPECTED = 1 << 30
"""Logs and checkpoints of a day: less is told before it is a problem."""


def machine_results(home: str) -> list[CheckResult]:
    """What the machine gives; `home` is the user's folder of topologies."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    by_groups = granted()
    return [
        cores_result(len(os.sched_getaffinity(0)), by_groups.cores),
        memory_result(memory, by_groups.memory_bytes),
        limits_result(group_access()),
        files_result(files),
        processes_result(processes),
        folder_result(home),
        _sockets_result(),
        _host_result(socket.gethostname()),
    ]


def cores_result(cores: int, granted_cores: float | None) -> CheckResult:
    """`granted_cores`: by the control groups around this process; None without a limit."""
    if granted_cores is not None and granted_cores < cores:
        return CheckResult("cores", "ok", f"{cores}, of which a cgroup grants {granted_cores:g}")
    return CheckResult("cores", "ok", str(cores))


def memory_result(memory_bytes: int, granted_bytes: int | None) -> CheckResult:
    """`granted_bytes`: by the control groups around this process; None without a limit."""
    usable = memory_bytes if granted_bytes is None else min(memory_bytes, granted_bytes)
    instances = usable // INSTANCE_BYTES_MIN
    capacity = f"{usable >> 20} MiB, for {instances:,} idle instances at most"
    if instances < INSTANCES_EXPECTED:
        return CheckResult("memory", "problem", capacity, "give the machine or its cgroup more")
    return CheckResult("memory", "ok", capacity)


def limits_result(found: GroupAccess) -> CheckResult:
    """Whether the kernel can limit containers to the cores and memory of their packing plan."""
    names = {CPU: "cores", MEMORY: "memory"}
    granted = [f"{names[each.controller]}, in {each.directory}" for each in found.bases]
    reasons = "; ".join(found.reasons)
    if not found.reasons:
        return CheckResult("limits of containers", "ok", "; ".join(granted))
    return CheckResult("limits of containers", "absent", "; ".join((*granted, reasons)))


def files_result(limit: int) -> CheckResult:
    """`limit`: of the open files of a process (RLIMIT_NOFILE)."""
    needed = FILES_OF_PROCESS + FILES_OF_INSTANCE * INSTANCES_EXPECTED
    if limit == resource.RLIM_INFINITY:
        return CheckResult("open files", "ok", "unlimited")
    most = max(0, (limit - FILES_OF_PROCESS) // FILES_OF_INSTANCE)
    allowed = f"{limit:,} per process, for {most:,} instances in a container"
    if limit < needed:
        remedy = f"`ulimit -n {needed}`, or LimitNOFILE of systemd"
        return CheckResult("open files", "problem", allowed, remedy)
    return CheckResult("open files", "ok", allowed)


def processes_result(limit: int) -> CheckResult:
    """`limit`: of the user's processes (RLIMIT_NPROC); each instance is a process."""
    if limit == resource.RLIM_INFINITY:
        return CheckResult("processes", "ok", "unlimited")
    if limit < PROCESSES_EXPECTED:
        remedy = f"`ulimit -u {PROCESSES_EXPECTED}` or more: each instance is a process"
        return CheckResult("processes", "problem", f"{limit:,} per user", remedy)
    return CheckResult("processes", "ok", f"{limit:,} per user")


def folder_result(home: str) -> CheckResult:
    """Whether state, logs and checkpoints can be written below `home`, and the free space there."""
    subject = "user's folder"
    try:
        make_private_folders(home)
        if not os.access(home, os.W_OK | os.X_OK):
            raise PermissionError(f"{home} cannot be written to")
        free = shutil.disk_usage(home).free
    except (OSError, HeronError) as error:
        return CheckResult(subject, "problem", str(error), "set HERONPY_HOME to a folder of yours")
    free_text = f"{home}, {free >> 20:,} MiB free"
    if free < FREE_BYTES_EXPECTED:
        return CheckResult(
            subject, "problem", free_text, "free some space for logs and checkpoints"
        )
    return CheckResult(subject, "ok", free_text)


def _sockets_result() -> CheckResult:
    subject = "sockets"
    try:
        folder = sockets_folder()
        try:
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(os.path.join(folder, "doctor"))
                listener.listen(1)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        remedy = (
            f"set TMPDIR to a folder whose path is shorter than {SOCKETS_PARENT_BYTES_MAX} bytes"
        )
        return CheckResult(subject, "problem", str(error), remedy)
    return CheckResult(subject, "ok", f"Unix sockets in {os.path.dirname(folder)}")


def _host_result(name: str) -> CheckResult:
    try:
        address = socket.getaddrinfo(name, None)[0][4][0]
    except OSError:
        remedy = f"add {name} to /etc/hosts: Spark, YARN and topologies on several hosts look it up"
        return CheckResult("host name", "absent", f"{name} has no address", remedy)
    return CheckResult("host name", "ok", f"{name}, {address}")
