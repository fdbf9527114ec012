"""Processes started by user code end with their instances, also after kill -9.

A bolt's own children (Popen, multiprocessing, os.fork) lack our pipes. A supervisor is the
subreaper of its descendants (Linux, prctl(2)): when a process dies, the kernel reparents its
children to the supervisor, which kills new children. Other systems lack subreapers.

A child detached from its living instance (a daemon's double fork) cannot be attributed, and ends
with the supervisor.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterable

from heron_io.polling import wait_until
from heron_io.processes import signal_process

PR_SET_CHILD_SUBREAPER = 36
PF_EXITING = 0x4
FLAGS_FIELD = 6
"""In /proc/PID/stat (proc(5)), counted from the state on, which follows the name."""
KILLED_WAIT_SECS = 2.0
"""For killed processes to end at the very end; one in an uninterruptible call is left to init."""


def to_kill(
    children: Iterable[int],
    own: Collection[int],
    earlier: Collection[int],
    someone_died: bool,
    is_exiting: Callable[[int], bool],
) -> set[int]:
    """The children orphaned by the death of a process: neither our `own`, started or already
    killed, nor present before. They may arrive before the dead process can be reaped, while it
    `is_exiting`.
    """
    newcomers = set(children) - set(own) - set(earlier)
    died = bool(newcomers) and (someone_died or any(map(is_exiting, own)))
    return newcomers if died else set()


class Orphans:
    """Children of a supervisor started by other processes."""

    def __init__(self) -> None:
        """Become a subreaper."""
        self._earlier: set[int] = set()
        """Children that arrived without a death among our own."""
        self._killed: set[int] = set()
        self.is_subreaper = sys.platform == "linux" and not ctypes.CDLL(None).prctl(
            PR_SET_CHILD_SUBREAPER, 1
        )

    def sweep(self, own: Collection[int], reaped: Collection[int], died: bool) -> int:
        """After the end of `reaped`, including one of our own if `died`: kill their children, and
        children of earlier kills. Returns the number.
        """
        if not self.is_subreaper:
            return 0
        died = died or not self._killed.isdisjoint(reaped)
        self._killed.difference_update(reaped)
        children = children_of_this_process()
        ours = {
            *own,
            *self._killed,
        }  # children of killed processes are seen before these are reaped
        lost = to_kill(children, ours, self._earlier, died, is_exiting)
        self._earlier = children - ours - lost
        for pid in lost:
            signal_process(pid, signal.SIGKILL)
        self._killed |= lost
        return len(lost)

    def kill_all(self, own: Collection[int] = ()) -> None:
        """At the end: kill all descendants, repeatedly."""
        if self.is_subreaper:
            wait_until(lambda: not self._kill_and_reap(own), KILLED_WAIT_SECS)

    @staticmethod
    def _kill_and_reap(own: Collection[int]) -> set[int]:
        left = children_of_this_process() - set(own)
        for pid in left:
            signal_process(pid, signal.SIGKILL)
        for pid in left:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        return left


def is_exiting(pid: int) -> bool:
    """Whether an unreaped child is ending or has ended (Linux)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            flags = int(file.read().rpartition(")")[2].split()[FLAGS_FIELD])
    except OSError:
        return True
    return bool(flags & PF_EXITING)


def children_of_this_process() -> set[int]:
    """Process ids of our children, adopted ones as well (Linux)."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return set(map(int, file.read().split()))
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return set(_children_by_status())


def _children_by_status() -> Iterable[int]:
    ours = os.getpid()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == ours:
                    yield int(name)
        except OSError:  # it has just ended
            continue
