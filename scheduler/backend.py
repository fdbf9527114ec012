"""What a scheduler's back end is: how the containers of a topology are started on some cluster.

Around every back end the same scheduler process serves (`scheduler.local`): it announces itself,
supervises the back end's jobs, and cleans up whatever ends them. A back end says what is wrong
before anything is written, and which processes its scheduler runs.
"""

from typing import TYPE_CHECKING, Any, Protocol

from scheduler.supervisor import Job

if TYPE_CHECKING:
    from scheduler.local import Launch


class Backend(Protocol):
    """A way to run containers."""

    @property
    def kind(self) -> str:
        """Its name: --scheduler takes it, and the scheduler's node says it."""

    @property
    def ready_secs(self) -> float:
        """How long all instances may take to be up before `submit` says that some are missing."""

    def check(self, launch: "Launch") -> None:
        """HeronError in one line if the topology cannot run here; nothing is written yet."""

    def jobs(self, launch: "Launch", sockets: str) -> list[Job]:
        """The scheduler's own child processes. The topology's socket files go into `sockets`, which
        only its owner may enter and which is removed at the end."""

    def about(self) -> dict[str, Any]:
        """What the scheduler's node says besides kind, host and pid."""

    def preview(self, launch: "Launch") -> str:
        """For --dry-run: what would be started, pure; empty if the packing plan says it all."""
