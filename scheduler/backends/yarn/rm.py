"""The application master's clients of YARN: AMRMClient for containers, NMClient to start them."""

import os
from collections.abc import Iterator
from typing import Any

from heron_engine.scheduler.backends.yarn import render
from heron_engine.scheduler.backends.yarn.configuration import from_files, patient
from heron_engine.scheduler.backends.yarn.events import (
    Allocated,
    Ask,
    ContainerCompleted,
    Event,
    Grant,
    NotResized,
    Recovered,
    Resized,
    Status,
)
from heron_engine.scheduler.backends.yarn.jvm import HadoopError, YarnJvm, hadoop
from heron_engine.scheduler.backends.yarn.records import YarnRecords

NO_PORT = -1
UNTRACKED = ""
"""The topology has no web page of its own."""
LOST_ATTEMPT = ("ApplicationAttemptNotFoundException", "InvalidApplicationMasterRequestException")
"""Exception of the resource manager for a replaced application master."""


class MasterSuperseded(Exception):
    """The resource manager has another application master for the application, or none."""


class ResourceManager:
    """Synchronous: every call returns when YARN has answered, or raises HadoopError in seconds."""

    def __init__(
        self, jvm: YarnJvm, spec: render.ApplicationSpec, environment: dict[str, str]
    ) -> None:
        self._spec = spec
        self._environment = environment
        self._records = YarnRecords(jvm)
        self._asked: dict[int, Any] = {}
        self._containers: dict[str, Any] = {}
        """YARN's records of granted containers."""
        with hadoop("Hadoop's configuration cannot be used"):
            configuration = patient(jvm, from_files(jvm, [os.path.abspath(render.CONFIG)]))
            self._api = jvm.classes.org.apache.hadoop.yarn.client.api
            self._rm = self._api.AMRMClient.createAMRMClient()
            self._nm = self._api.NMClient.createNMClient()
            # Started containers continue after the master's end: the next attempt takes them over.
            self._nm.cleanupRunningContainersOnStop(False)
            for client in (self._rm, self._nm):
                client.init(configuration)
                client.start()
            self.file_system = jvm.classes.org.apache.hadoop.fs.FileSystem.get(configuration)
            self._path = jvm.classes.org.apache.hadoop.fs.Path

    def register(self, host: str) -> tuple[Grant, ...]:
        """Make ourselves known; returns the containers of earlier attempts that still run."""
        with hadoop("the resource manager does not register us"):
            answer = self._rm.registerApplicationMaster(host, NO_PORT, UNTRACKED)
            return tuple(map(self._known, answer.getContainersFromPreviousAttempts()))

    def heartbeat(self) -> Iterator[Event]:
        """Send a heartbeat with requests; yields the resource manager's events.

        MasterSuperseded if the attempt is replaced, HadoopError without an answer.
        """
        try:
            with hadoop("the resource manager does not answer"):
                answer = self._rm.allocate(0.5)
        except HadoopError as error:
            if error.kind.rpartition(".")[2] in LOST_ATTEMPT:
                raise MasterSuperseded(error.said) from None
            raise
        for recovered in answer.getContainersFromPreviousAttempts():
            yield Recovered(self._known(recovered))
        for status in answer.getCompletedContainersStatuses():
            yield self._completed(status)
        for allocated in answer.getAllocatedContainers():
            yield Allocated(self._known(allocated))
        for updated in answer.getUpdatedContainers():
            yield self._resized(updated.getContainer())
        for update_error in answer.getUpdateErrors():
            container = update_error.getUpdateContainerRequest().getContainerId()
            yield NotResized(str(container.toString()), str(update_error.getReason()))

    def _known(self, container: Any) -> Grant:
        """A container that is ours."""
        grant = _grant(container)
        self._containers[grant.id] = container
        return grant

    def _resized(self, container: Any) -> Event:
        """Its node manager has to hear of more, or the resource manager takes it back; of less it
        may have heard already."""
        before = self._containers.get(str(container.getId().toString()))
        grant, size = self._known(container), _size(container)
        try:
            with hadoop(f"{grant.host} does not change the size of {grant.id}"):
                self._nm.updateContainerResource(container)
        except HadoopError as error:
            if before is None or not _size(before).covers(size):
                return NotResized(grant.id, str(error))
        return Resized(grant.id, size)

    def _completed(self, status: Any) -> ContainerCompleted:
        container = str(status.getContainerId().toString())
        self._containers.pop(container, None)
        text = str(status.getDiagnostics() or "")
        return ContainerCompleted(container, int(status.getExitStatus()), text)

    def ask(self, number: int, ask: Ask, partition: str) -> None:
        """From the next heartbeat on. `partition`: of the node; empty: the queue decides."""
        priority = self._records.api.Priority.newInstance(number)
        relaxed = True  # no node was named
        request = self._api.AMRMClient.ContainerRequest(
            self._records.resource(ask), None, None, priority, relaxed, partition or None
        )
        self._rm.addContainerRequest(request)
        self._asked[number] = request

    def take_back(self, number: int) -> None:
        """Withdraw the request; also needed after a grant, or YARN would grant a second
        container."""
        request = self._asked.pop(number, None)
        if request is not None:
            self._rm.removeContainerRequest(request)

    def start(self, grant: Grant) -> None:
        """Have the node manager start container `grant.number`; HadoopError if rejected."""
        launch = self._records.launch(
            self._spec.resources,
            self._environment,
            render.container_command(self._spec, grant.number),
            self._records.own_tokens(),
        )
        with hadoop(f"{grant.host} does not start {grant.id}"):
            self._nm.startContainer(self._containers[grant.id], launch)

    def resize(self, container: str, ask: Ask, grows: bool) -> None:
        """Ask for another size of a container that runs, from the next heartbeat on."""
        known = self._containers.get(container)
        if known is None:
            return
        kinds = self._records.api.ContainerUpdateType
        request = self._records.api.UpdateContainerRequest.newInstance(
            known.getVersion(),
            known.getId(),
            kinds.INCREASE_RESOURCE if grows else kinds.DECREASE_RESOURCE,
            self._records.resource(ask),
            None,
        )
        with hadoop(f"{container} cannot have another size"):
            self._rm.requestContainerUpdate(known, request)

    def release(self, container: str) -> None:
        """Release a container; its node manager kills the processes."""
        with hadoop(f"{container} cannot be released"):
            self._rm.releaseAssignedContainer(self._records.api.ContainerId.fromString(container))

    def unregister(self, status: Status, reason: str) -> None:
        """The application has ended."""
        final = getattr(self._records.api.FinalApplicationStatus, status.value)
        with hadoop("the resource manager does not take our end"):
            self._rm.unregisterApplicationMaster(final, reason, UNTRACKED)

    def remove_files(self) -> None:
        """The topology's own files on the cluster's file system."""
        with hadoop(f"{self._spec.folder} cannot be removed"):
            self.file_system.delete(self._path(self._spec.folder), True)


def _grant(container: Any) -> Grant:
    return Grant(
        str(container.getId().toString()),
        int(container.getPriority().getPriority()),
        str(container.getNodeId().toString()),
        str(container.getNodeHttpAddress()),
        _size(container),
    )


def _size(container: Any) -> Ask:
    resource = container.getResource()
    return Ask(int(resource.getMemorySize()), int(resource.getVirtualCores()))
