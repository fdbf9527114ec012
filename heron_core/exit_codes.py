"""The exit codes that our processes tell each other and users, and what each of them means."""

import signal
from enum import IntEnum

INCOMPLETE = 3
"""Of `heronpy run`: the topology ran to its end, but tuples failed for good, were lost or
discarded, or there was an error outside of a tuple: user code raised, or rows are gone."""

ENDED_IN_ORDER = "ended in order"
"""How `describe_end` begins for a process that nobody has to worry about."""


def describe_end(code: int, reason: str = "") -> str:
    """How a process ended, in a few words: `code` is its exit code, or minus the number of the
    signal that ended it; `reason` is what it said about that."""
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
    """It could not begin: what it needs is not there, or it was refused."""
    TOPOLOGY_FAILED = 4
    """A process that it supervises kept ending: the topology has failed."""
    ENDED = 5
    """The topology's work is done."""
    SUPERSEDED = 6
    """Another process has replaced it while it was stopped; of a container: another container has
    its number, on another host."""
    KILLED = 7
    """Somebody asked for the topology's end: its scheduler ends with it."""
    ORPHANED = 70
    """The process that it works for is gone: its parent, or a worker of Spark (EX_SOFTWARE of
    sysexits.h)."""


FINAL_CODES = frozenset({ExitCode.TOPOLOGY_FAILED, ExitCode.ENDED})
"""Exit codes of a container after which nobody starts it again: the topology is over."""
