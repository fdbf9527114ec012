"""CPU and context switches of all descendants, between two instants.

Processes are not polled in between: with 200 processes polling alone would take a tenth of a core.
A process without a second reading loses its figures, so the measure suits topologies without
deaths; measure.py covers whole lives.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import living_descendants, process_times
from benchmarks.titles import by_role, roles

SWITCHES = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of a process since its start. At a voluntary switch a thread waits: each is a
    wake-up."""

    cpu_seconds: float
    wake_ups: int
    preemptions: int


def usage() -> dict[int, Usage]:
    """Process id -> usage so far."""
    found = {}
    for pid in living_descendants():
        times = process_times(pid)
        if times is not None:
            found[pid] = Usage(times.own_seconds, *switches(pid))
    return found


def switches(pid: int) -> tuple[int, int]:
    """(voluntary, involuntary) context switches of all threads of a process."""
    voluntary = involuntary = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            counts = thread_switches(Path(f"/proc/{pid}/task/{thread}/status"))
            voluntary, involuntary = voluntary + counts[0], involuntary + counts[1]
    except OSError:
        pass  # it is ending
    return voluntary, involuntary


def thread_switches(status: Path) -> tuple[int, int]:
    """(voluntary, involuntary) switches of one thread; OSError after its end."""
    lines = (line.partition(":") for line in status.read_text().splitlines())
    values = {name: value for name, _, value in lines if name in SWITCHES}
    return int(values[SWITCHES[0]]), int(values[SWITCHES[1]])


def used(before: Mapping[int, Usage], after: Mapping[int, Usage]) -> dict[int, Usage]:
    """Usage of each process in between."""
    none = Usage(0.0, 0, 0)
    return {
        pid: Usage(
            now.cpu_seconds - then.cpu_seconds,
            now.wake_ups - then.wake_ups,
            now.preemptions - then.preemptions,
        )
        for pid, now in after.items()
        for then in (before.get(pid, none),)
    }


def cpu_by_role(of_pid: Mapping[int, Usage]) -> dict[str, float]:
    """Role (titles.py) -> CPU-seconds."""
    return by_role({pid: one.cpu_seconds for pid, one in of_pid.items()}, roles())


def wake_ups_by_role(of_pid: Mapping[int, Usage]) -> dict[str, float]:
    """Role (titles.py) -> wake-ups."""
    return by_role({pid: float(one.wake_ups) for pid, one in of_pid.items()}, roles())
