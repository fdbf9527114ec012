"""What a scheduler's back end is: how the containers of a topology are started on some cluster.

There are two kinds. Around a `Supervised` one a scheduler process of ours (`scheduler.daemon`)
serves: it announces itself, supervises the back end's jobs, and cleans up whatever ends them. A
`SelfRunning` one hands the containers to a cluster that starts them again by itself; then nobody of
ours stays on the submitting machine, and the scheduler's node has no pid. Either says what is wrong
before anything is written.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from heron_core.number_text import counted
from heron_core.plans import PackingPlan
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_engine.scheduler.submission import Submission
from heron_io.state_store.protocol import StateStore


def describe_containers(submission: Submission) -> str:
    """What a back end that runs containers says of them."""
    return counted(len(submission.packing.containers), "container")


class Backend(Protocol):
    """A way to run containers."""

    @property
    def kind(self) -> str:
        """Its name: --scheduler takes it, and the scheduler's node says it."""

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
    """A cluster runs the containers, and starts again those that end."""

    def deploy(self, submission: Submission) -> None:
        """Hand a registered topology to the cluster. HeronError in one line if it is refused; then
        nothing of it is left there."""

    def known(self, name: str) -> str:
        """What the cluster itself runs by the topology's name, in words; empty if nothing."""

    def end(self, name: str) -> None:
        """End all containers and remove what was put on the cluster; one that has nothing of the
        topology any more is no error. What the state store does not know goes by its name."""

    def restart(self, name: str, container: int | None) -> None:
        """Start one container again, None for all of them; HeronError if there is none such."""

    def reserve_capacity(self, store: StateStore, name: str, plan: PackingPlan | None) -> None:
        """Begin to make containers that run as large as `plan` needs them, where the cluster can;
        None: it is not needed any more. HeronError if one of the plan is larger than any can be."""

    def too_small(self, store: StateStore, name: str, plan: PackingPlan) -> str:
        """What the cluster is still to do of that, in words; empty if nothing."""

    def waiting(self, store: StateStore, name: str) -> str:
        """Which containers the cluster has not given, in its words; empty if none is known."""

    def scale(self, name: str, added: Sequence[int], removed: Sequence[int]) -> None:
        """Start the containers `added`, or end those `removed`, of a topology that runs.

        `heronpy update` calls it with the added ones when the new packing plan stands in the state
        store, and with the removed ones when the physical plan is without them. A cluster's own
        master that follows the packing plan has nothing to do. HeronError if it cannot be done;
        then none of the added ones is left.
        """
