"""The exit codes that our processes tell each other, and what each of them means."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Why a process of ours ended. A supervisor decides by it whether to start another one."""

    FAILED = 1
    """An error ended it; the next run may do better."""
    UNSTARTED = 3
    """It could not begin: what it needs is not there, or it was refused."""
    GAVE_UP = 4
    """A process that it supervises kept ending: the topology has failed."""
    ENDED = 5
    """The topology's work is done."""
    SUPERSEDED = 6
    """Another process has replaced it while it was stopped."""
    KILLED = 7
    """Somebody asked for the topology's end: its scheduler ends with it."""
    ORPHANED = 70
    """Its parent died (EX_SOFTWARE of sysexits.h)."""


FINAL_CODES = frozenset({ExitCode.GAVE_UP, ExitCode.ENDED})
"""Exit codes of a container after which nobody starts it again: the topology is over."""
