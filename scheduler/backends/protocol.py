"""Back ends of a scheduler: start of a topology's containers on a cluster.

Two kinds exist. A `Supervised` back end runs inside a scheduler process (`scheduler.daemon`),
which announces itself, supervises the back end's jobs, and cleans up after any end. A
`SelfRunning` back end hands the containers to a cluster that restarts them itself; then no
process of ours remains on the submitting machine, and the scheduler's node has no pid. Both
report problems before writing.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from heron_core.number_text import counted
from heron_core.plans import PackingPlan
from heron_engine.scheduler.container.engines import InstalledEngine
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_engine.scheduler.packaging.code_folder import CodeFolder
from heron_engine.scheduler.submission import Submission
from heron_io.state_store.protocol import StateStore


def describe_containers(submission: Submission) -> str:
    """Description of containers by their back end."""
    return counted(len(submission.packing.containers), "container")


class Backend(Protocol):
    """A way to run containers."""

    @property
    def kind(self) -> str:
        """Name for --scheduler and for the scheduler's node."""

    @property
    def ready_secs(self) -> float:
        """How long all instances may take to be up before `submit` says that some are missing."""

    def check(self, submission: Submission) -> None:
        """HeronError in one line if the topology cannot run here; nothing is written yet."""

    def node_fields(self) -> dict[str, Any]:
        """What the scheduler's node says besides kind, host and pid."""

    def describe(self, submission: Submission) -> str:
        """What is about to run the instances, for people: asked before it is started."""

    def logs(self, submission: Submission) -> str:
        """Where logs are, for people."""

    def preview(self, submission: Submission) -> str:
        """For --dry-run: what would be started, pure; empty if the packing plan says it all."""


@runtime_checkable
class Supervised(Backend, Protocol):
    """Our scheduler process runs the containers."""

    def jobs(self, submission: Submission, sockets: str) -> list[ProcessSpec]:
        """The scheduler's own child processes. The topology's socket files go into `sockets`, which
        only its owner may enter and which is removed at the end."""


@runtime_checkable
class SelfRunning(Backend, Protocol):
    """A cluster runs and restarts the containers."""

    @property
    def code_folder(self) -> CodeFolder | None:
        """Folder of code archives too large for the state store; None: refused."""

    def deploy(self, submission: Submission) -> None:
        """Hand a registered topology to the cluster. HeronError in one line if rejected, without
        leftovers."""

    def known(self, name: str) -> str:
        """What the cluster itself runs by the topology's name, in words; empty if nothing."""

    def end(self, name: str) -> None:
        """End all containers and remove the cluster's files; a topology unknown to the cluster
        is ignored. The name is sufficient."""

    @property
    def engine(self) -> InstalledEngine | None:
        """The engine in the cluster's file, which an upgrade gives to running containers; None:
        containers keep the engine of the submission."""

    def replace_engine(self, name: str, container: int, engine: InstalledEngine) -> InstalledEngine:
        """Replace a container by one with another engine; returns the engine before. HeronError
        where containers keep theirs. Without effect if the container has the engine."""

    def restart(self, name: str, container: int | None) -> None:
        """Restart one container, None for all; HeronError for an unknown container."""

    def reserve_capacity(self, store: StateStore, name: str, plan: PackingPlan | None) -> None:
        """Start to enlarge running containers for `plan`, if supported; None: no longer needed.
        HeronError if a container of the plan exceeds the cluster's maximum."""

    def too_small(self, store: StateStore, name: str, plan: PackingPlan) -> str:
        """Pending enlargements, in words; empty if none."""

    def waiting(self, store: StateStore, name: str) -> str:
        """Containers not granted by the cluster, in its words; empty if none is known."""

    def unstartable(self, name: str, containers: Sequence[int]) -> str:
        """Why some of the containers cannot start however long an operation waits, such as a
        missing image, in the cluster's words; empty while that is not sure. Asked several times a
        second."""

    def scale(self, name: str, added: Sequence[int], removed: Sequence[int]) -> None:
        """Start the `added` containers, or end the `removed` containers, of a running topology.

        `heronpy update` calls the method with added containers when the new packing plan is in
        the state store, and with removed ones when the physical plan excludes them. A cluster
        master that follows the packing plan needs no action. HeronError on failure, without any
        of the added containers left.
        """
