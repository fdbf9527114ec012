"""The local back end: all containers on this machine, each an executor of the scheduler process."""

from typing import Any

from heron_core import config as keys
from heron_core.exit_codes import FINAL_CODES
from heron_core.plans import MASTER_CONTAINER
from heron_engine.scheduler.backends.protocol import describe_containers
from heron_engine.scheduler.container import executor, own_process
from heron_engine.scheduler.container.control_groups import check_limits
from heron_engine.scheduler.container.shutdown_timeouts import CONTAINER_SHUTDOWN_SECS
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_engine.scheduler.machine_limits import check_this_machine
from heron_engine.scheduler.submission import Submission

READY_SECS = 30.0
"""Time after which missing instances are reported."""


class LocalBackend:
    """Every container is an executor that the scheduler forks."""

    kind = "local"
    ready_secs = READY_SECS

    def check(self, submission: Submission) -> None:
        """Checks memory and files of the machine, and its control groups if limits are required."""
        check_this_machine(submission.packing)
        config = keys.with_defaults(submission.topology.config)
        if keys.value_of(config, keys.CONTAINER_LIMITS) == keys.LIMITS_REQUIRED:
            check_limits()

    def jobs(self, submission: Submission, sockets: str) -> list[ProcessSpec]:
        """An executor for each container, the topology master's first."""
        containers = (MASTER_CONTAINER, *(each.id for each in submission.packing.containers))
        return [container_job(submission, each, sockets) for each in containers]

    def node_fields(self) -> dict[str, Any]:
        """No additional data."""
        return {}

    def describe(self, submission: Submission) -> str:
        """Containers."""
        return describe_containers(submission)

    def logs(self, submission: Submission) -> str:
        """In the user's folder."""
        return submission.home.logs(submission.topology.name)

    def preview(self, submission: Submission) -> str:
        """Determined by the packing plan alone."""
        return ""


def container_job(
    submission: Submission, container: int, sockets: str, bind_host: str = "127.0.0.1"
) -> ProcessSpec:
    """A container on this machine, as a job of the scheduler."""
    topology, name = submission.topology, submission.topology.name
    if container != MASTER_CONTAINER:  # the master looks at its plans itself
        topology = submission.packing.topology_of(topology)
    spec = executor.ContainerSpec(
        topology,
        submission.packing,
        container,
        submission.store_url,
        submission.keys,
        submission.home.logs(name),
        sockets,
        submission.console,
        bind_host,
        predecessor=submission.predecessor,
        was_up=submission.was_up,
    )
    return ProcessSpec(
        f"container {container}",
        f"heron: container {container} ({name})",
        lambda link: own_process.run(spec, link),
        CONTAINER_SHUTDOWN_SECS,
        killed_with_parent=False,
        final_codes=FINAL_CODES,
    )
