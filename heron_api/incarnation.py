"""Identity of a task's process, for components that write to external systems."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Incarnation:
    """One of the successive processes of a task.

    A suspended process (SIGSTOP, a suspended host) is replaced, and may resume later: of two
    processes of a task, the older process must stop writing.
    """

    run: str = ""
    """Identifies a run of a topology, among all runs of the name; a resumed run keeps the value.
    Empty if the engine never replaces a process."""
    born_ms: int = 0
    """Start of the process by the host's clock: a replacement starts later. If hosts' clocks
    differ by more than the delay, the replacement is restarted until its start is later."""
    repeats_batches: bool = False
    """Whether the engine runs and repeats whole batches; `run` is then the checkpoint."""
