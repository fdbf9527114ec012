"""Which process of a task it is that writes something outside."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One of the processes that serve a task, one after the other.

    A process that is frozen (SIGSTOP, a suspended host) is replaced, and may wake up later: then
    there are two, and the older one must not write any more.
    """

    run: str = ""
    """Tells a run of a topology from all others, also from those of its name; a run that resumes
    has the same. Empty where a process is never replaced."""
    born_ms: int = 0
    """When the process began, by its host's clock: a replacement begins later. Hosts' clocks that
    differ by more than that cost a few restarts of the replacement, until it is the younger one."""
    repeats_batches: bool = False
    """Whether the engine runs whole batches, and those that fail again: `run` is its checkpoint."""
