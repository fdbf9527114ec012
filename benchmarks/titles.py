"""The engine's processes by their titles: whose CPU and whose memory."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.measure import living_descendants, process_times

COMMAND = "command"
"""`heronpy run` itself."""
SERVICES = {
    "heron: stream manager": "stream manager",
    "heron: topology master": "topology master",
    "heron: container": "executor",
    "heron: scheduler": "scheduler",
    "heron: operations": "operations",
}
"""Prefix of a title -> role; instances have the title `heron: NAME[INDEX] task …`"""


def roles() -> dict[int, str]:
    """Process id -> role, for all descendants; instances by name."""
    return {pid: role_of(title) for pid in living_descendants() if (title := title_of(pid))}


def role_of(title: str) -> str:
    """The role of a process with this title."""
    for beginning, role in SERVICES.items():
        if title.startswith(beginning):
            return role
    return title.removeprefix("heron: ").partition("[")[0] if "] task " in title else COMMAND


def title_of(pid: int) -> str:
    """Title as in ps, empty after the process's end."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return ""
    return b" ".join(words).decode("utf-8", "replace")


def cpu_seconds() -> dict[int, float]:
    """Process id -> own CPU time so far, for all descendants."""
    times = {pid: process_times(pid) for pid in living_descendants()}
    return {pid: one.own_seconds for pid, one in times.items() if one is not None}


def by_role(values: Mapping[int, float], role_of_pid: Mapping[int, str]) -> dict[str, float]:
    """Sums over the processes of each role."""
    found: dict[str, float] = {}
    for pid, value in values.items():
        role = role_of_pid.get(pid, COMMAND)
        found[role] = found.get(role, 0.0) + value
    return found
