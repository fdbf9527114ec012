"""Exit codes of heronpy's processes, for other processes and users, with their meaning."""

import signal
from enum import IntEnum

INCOMPLETE = 3
"""Of `heronpy run`: the topology ran to its end, but tuples failed for good, were lost or
discarded, or there was an error outside of a tuple: user code raised, or rows are gone."""

ENDED_IN_ORDER = "ended in order"
"""Start of `describe_end` for a harmless end."""


def describe_end(code: int, reason: str = "") -> str:
    """A process's end in a few words: `code` is the exit code, or the negated signal number;
    `reason` is the process's own explanation."""
    if code == 0:
        words = ENDED_IN_ORDER
    elif code > 0:
        words = f"ended with exit code {code}"
    else:
        words = f"was killed by signal {-code} ({_signal_name(-code)})"
    return f"{words}: {reason}" if reason else words


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "no name"


class ExitCode(IntEnum):
    """Why a process of ours ended. A supervisor decides by it whether to start another one."""

    FAILED = 1
    """An error ended it; the next run may do better."""
    UNSTARTED = 3
    """The process could not start: a dependency is missing, or access was refused."""
    TOPOLOGY_FAILED = 4
    """A supervised process kept ending: the topology has failed."""
    ENDED = 5
    """The topology's work is done."""
    SUPERSEDED = 6
    """The process was replaced while suspended; for a container: another host has taken over its
    number."""
    KILLED = 7
    """The end of the topology was requested: the scheduler ends with the topology."""
    ORPHANED = 70
    """The process that it works for is gone: its parent, or a worker of Spark (EX_SOFTWARE of
    sysexits.h)."""


FINAL_CODES = frozenset({ExitCode.TOPOLOGY_FAILED, ExitCode.ENDED})
"""Exit codes of a container without a restart: the topology is over."""
