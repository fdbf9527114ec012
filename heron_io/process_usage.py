"""Resource usage of a process: memory from /proc (elsewhere 0: unknown), CPU from times(2)."""

import os
import time
from collections.abc import Iterator

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

_USER_TICKS_AT = 11
"""Of /proc/PID/stat behind the name: utime, stime, cutime, cstime (proc(5))."""


def resident_bytes(pid: int | str = "self") -> int:
    """Resident memory of a process, shared pages included."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def waited_for_core_secs() -> float | None:
    """Time since the start during which the main thread was runnable without a core; None if
    unknown."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return None


def idle_core_secs() -> float | None:
    """How long a core of this machine has been idle since its start, the mean of all of them; None
    where that is not known. Waiting for a disk is idle, too."""
    try:
        with open("/proc/stat", encoding="ascii") as file:
            lines = [line.split() for line in file if line.startswith("cpu")]
    except OSError:
        return None
    (_, _, _, _, idle, waiting, *_), *cores = lines
    return (int(idle) + int(waiting)) / os.sysconf("SC_CLK_TCK") / len(cores)


def proportional_bytes(pid: int) -> int:
    """Like `resident_bytes`, with a proportional share of shared pages (PSS), which is far more
    expensive for the kernel."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            line = next(each for each in file if each.startswith("Pss:"))
            return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resident_bytes(pid)


def family_bytes(pid: int, exact_above: float) -> int:
    """Memory of a process and its descendants, such as a multi-lang child. Forked processes
    initially share most pages: usage above `exact_above` is measured with proportional shares."""
    family = (pid, *descendants(pid))
    resident = sum(map(resident_bytes, family))
    return resident if resident <= exact_above else sum(map(proportional_bytes, family))


def descendants(pid: int) -> Iterator[int]:
    """Process ids below a process."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children = [int(child) for child in file.read().split()]
        except OSError:  # ended just now
            continue
        for child in children:
            yield child
            yield from descendants(child)


def cpu_secs_of_tree(pid: int) -> float | None:
    """CPU seconds of a process, the ended children included, and of all descendants; None without
    /proc."""
    ticks = 0
    for member in (pid, *descendants(pid)):
        try:
            with open(f"/proc/{member}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            if member == pid:
                return None
            continue  # ended just now: the parent has the time
        own_and_children = fields[_USER_TICKS_AT : _USER_TICKS_AT + 4]
        ticks += sum(map(int, own_and_children))
    return ticks / os.sysconf("SC_CLK_TCK")


class OwnUsage:
    """Sampled CPU and memory of the current process."""

    def __init__(self) -> None:
        self._at, self._cpu_secs = time.monotonic(), time.process_time()

    def measure(self) -> dict[str, float]:
        """Share of a core since the last sample, waits for a core since the start, and memory."""
        at, cpu_secs = time.monotonic(), time.process_time()
        elapsed, used = at - self._at, cpu_secs - self._cpu_secs
        self._at, self._cpu_secs = at, cpu_secs
        share = used / elapsed if elapsed > 0 else 0.0
        return {
            "cpu_share": share,
            "core_waited_secs": waited_for_core_secs() or 0.0,
            "memory_bytes": resident_bytes(),
        }
