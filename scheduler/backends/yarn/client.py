"""What the command line asks of the resource manager: YarnClient's calls, in our words."""

import json
import re
import urllib.request
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from heron_core.errors import HeronError, UsageError
from heron_engine.scheduler.backends.yarn import render
from heron_engine.scheduler.backends.yarn.configuration import from_folder, patient
from heron_engine.scheduler.backends.yarn.diagnostics import Capacity, final_output
from heron_engine.scheduler.backends.yarn.events import Ask
from heron_engine.scheduler.backends.yarn.jvm import HadoopError, YarnJvm, hadoop, own_jars
from heron_engine.scheduler.backends.yarn.partitions import check_partitions
from heron_engine.scheduler.backends.yarn.records import YarnRecords
from heron_engine.scheduler.backends.yarn.staging import Staging

ENDED = frozenset({"FINISHED", "FAILED", "KILLED"})
"""YarnApplicationState of an application that is over."""
RUNNING_QUEUE = "RUNNING"
_UNREACHABLE = re.compile(
    r"Connection refused|timed out|unknown host|No route to host|Network is unreachable"
    r"|Invalid host name",
    re.IGNORECASE,
)
VERSION_SECS = 3.0
"""The web server of a resource manager that has just answered."""


class Report(Struct, frozen=True):
    """Report of the resource manager on an application."""

    state: str
    status: str
    """FinalApplicationStatus: UNDEFINED until it is over."""
    words: str
    containers: int = 0
    """Current containers, including the application master's."""

    @property
    def is_over(self) -> bool:
        """Whether the application has ended, in any way."""
        return self.state in ENDED


class YarnNode(Struct, frozen=True):
    """Resources of a node manager."""

    total: Capacity
    free: Capacity


class Client:
    """A YarnClient in a separate JVM; failures take seconds."""

    def __init__(self, conf_folder: str, staging: str | None) -> None:
        self._conf_folder = conf_folder
        self._jvm = YarnJvm(own_jars(), own_group=True)
        try:
            with hadoop(f"the configuration in {conf_folder} cannot be used"):
                self.configuration = from_folder(self._jvm, conf_folder)
                self.records = YarnRecords(self._jvm)
                bounded = patient(self._jvm, self.configuration)
                self.address = str(bounded.get("yarn.resourcemanager.address") or "")
                package = self._jvm.classes.org.apache.hadoop.yarn.client.api
                self._yarn = package.YarnClient.createYarnClient()
                self._yarn.init(bounded)
                self._yarn.start()
            self._bounded, self._staging_folder = bounded, staging
            self._application: Any = None
        except BaseException:
            self._jvm.close()
            raise

    def close(self) -> None:
        """End the JVM."""
        self._jvm.close()

    @property
    def user(self) -> str:
        """The user name for Hadoop."""
        return self.records.user()

    def configuration_xml(self) -> str:
        """The configuration as a file for the application master."""
        writer = self._jvm.classes.java.io.StringWriter()
        with hadoop("the configuration cannot be written"):
            self.configuration.writeXml(writer)
        return str(writer.toString())

    def staging(self) -> Staging:
        """Our folder on the cluster's file system; HeronError if that cannot be reached."""
        return Staging(self._jvm, self._bounded, self._staging_folder)

    def node_count(self) -> int:
        """Number of node managers; HeronError without a resource manager."""
        with self._asking():
            return int(self._yarn.getYarnClusterMetrics().getNumNodeManagers())

    def version(self) -> str:
        """Hadoop version of the resource manager, available only from its web server."""
        address = str(self._bounded.get("yarn.resourcemanager.webapp.address") or "")
        try:
            url = f"http://{address}/ws/v1/cluster/info"
            with urllib.request.urlopen(url, timeout=VERSION_SECS) as answer:
                return f"Hadoop {json.load(answer)['clusterInfo']['resourceManagerVersion']}"
        except (OSError, ValueError, KeyError):
            return "Hadoop of an unknown version"

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """HeronError in one line without an answer, HadoopError for a rejection."""
        try:
            with hadoop(f"the resource manager{self._where} does not answer as it should"):
                yield
        except HadoopError as error:
            matched = _UNREACHABLE.search(error.said)
            if matched is None:
                raise
            raise HeronError(
                f"no resource manager answers{self._where} ({matched[0]}): start it, or correct "
                f"yarn.resourcemanager.address in {self._conf_folder}"
            ) from None

    @property
    def _where(self) -> str:
        return f" at {self.address}" if self.address else ""

    def nodes(self) -> list[YarnNode]:
        """The running node managers."""
        states = [self.records.api.NodeState.RUNNING]
        with self._asking():
            array = self._jvm.array(self.records.api.NodeState, states)
            return [_node(each) for each in self._yarn.getNodeReports(array)]

    def queue_problem(self, queue: str) -> str | None:
        """Reason why a queue rejects submissions, in one line."""
        with self._asking():
            info = self._yarn.getQueueInfo(queue)
            if info is None:
                known = ", ".join(self._leaves())
                return f"YARN has no queue {queue!r} (its queues: {known}): set yarn: queue"
            state = str(info.getQueueState().toString())
            if state != RUNNING_QUEUE:
                return f"the queue {queue} of YARN is {state.lower()}: set yarn: queue"
            if not self._may_submit(queue):
                return (
                    f"{self.records.user()} may not submit to the queue {queue} of YARN: ask for "
                    "it (its acl_submit_applications), or set yarn: queue"
                )
        return None

    def check_partitions(self, wanted: Collection[str], queue: str) -> None:
        """UsageError for a partition unknown to YARN, without nodes, or closed to the queue."""
        if not wanted:
            return
        with self._asking():
            labels = [str(each.getName()) for each in self._yarn.getClusterNodeLabels()]
            by_label = self._yarn.getLabelsToNodes()
            nodes = {label: len(by_label.get(label) or ()) for label in labels}
            info = self._yarn.getQueueInfo(queue)
            accessible = {str(each) for each in info.getAccessibleNodeLabels() or ()}
        check_partitions(wanted, nodes, accessible, queue)

    def _leaves(self) -> list[str]:
        every = [str(each.getQueueName()) for each in self._yarn.getAllQueues()]
        return [each for each in every if each != "root"]

    def _may_submit(self, queue: str) -> bool:
        short = queue.rpartition(".")[2]
        for each in self._yarn.getQueueAclsInfo():
            if str(each.getQueueName()).rpartition(".")[2] == short:
                return "SUBMIT_APPLICATIONS" in {str(x.toString()) for x in each.getUserAcls()}
        return True  # a scheduler without the information

    def queue_free(self, queue: str) -> Capacity | None:
        """What the queue may still release up to its maximum, if the scheduler tells."""
        with self._asking():
            info = self._yarn.getQueueInfo(queue)
            statistics = None if info is None else info.getQueueStatistics()
            if statistics is None or statistics.getAvailableMemoryMB() < 0:
                return None
            guaranteed = Capacity(
                int(statistics.getAvailableMemoryMB()), int(statistics.getAvailableVCores())
            )
            taken = Capacity(
                int(statistics.getAllocatedMemoryMB()), int(statistics.getAllocatedVCores())
            )
            # Relative to the queue above it: of a nested one we do not know the share of the whole.
            share = float(info.getMaximumCapacity()) if queue.count(".") <= 1 else 0.0
        return queue_capacity(guaranteed, taken, share if 0.0 < share <= 1.0 else 0.0, self.nodes())

    def new_application(self) -> tuple[str, Ask]:
        """An id for an application, and the largest container that YARN gives."""
        with self._asking():
            self._application = self._yarn.createApplication()
            response = self._application.getNewApplicationResponse()
            most = response.getMaximumResourceCapability()
            largest = Ask(int(most.getMemorySize()), int(most.getVirtualCores()))
            return str(response.getApplicationId().toString()), largest

    def submit(
        self,
        name: str,
        options: render.YarnOptions,
        resources: Sequence[render.LocalResource],
        command: str,
        staging: Staging,
    ) -> None:
        """Submit the new application; HeronError with YARN's reason if it is refused."""
        context = self._application.getApplicationSubmissionContext()
        with hadoop(f"YARN does not take {name}"):
            tokens = self.records.file_system_tokens(staging.file_system, self._bounded)
            launch = self.records.launch(resources, dict(options.environment), command, tokens)
            context.setApplicationName(name)
            context.setApplicationType(render.TYPE)
            context.setApplicationTags(set(render.tags(name)))
            context.setQueue(options.queue)
            context.setAMContainerSpec(launch)
            context.setResource(self.records.resource(options.master))
            if options.partition:
                context.setNodeLabelExpression(options.partition)
            context.setKeepContainersAcrossApplicationAttempts(True)
            context.setAttemptFailuresValidityInterval(render.ATTEMPTS_WINDOW_MS)
            if options.attempts is not None:
                context.setMaxAppAttempts(options.attempts)
        try:
            with hadoop(f"YARN does not take {name}"):
                self._yarn.submitApplication(context)
        except HadoopError as error:
            raise HeronError(f"YARN does not take {name}: {plain(error.said)}") from None

    def report(self, application: str) -> Report | None:
        """YARN's report on an application; None for an unknown id."""
        try:
            with self._asking():
                application_report = self._yarn.getApplicationReport(self._id(application))
                return Report(
                    str(application_report.getYarnApplicationState().toString()),
                    str(application_report.getFinalApplicationStatus().toString()),
                    final_output(str(application_report.getDiagnostics() or "")),
                    _containers(application_report),
                )
        except HadoopError as error:
            if error.kind.endswith("ApplicationNotFoundException"):
                return None
            raise

    def kill(self, application: str) -> None:
        """Have YARN kill an application and all its containers."""
        try:
            with hadoop(f"YARN does not kill {application}"):
                self._yarn.killApplication(self._id(application))
        except HadoopError as error:
            if not error.kind.endswith("ApplicationNotFoundException"):
                raise

    def _id(self, application: str) -> Any:
        return self.records.api.ApplicationId.fromString(application)

    def named(self, name: str, user: str = "") -> Iterator[str]:
        """Ids of unfinished applications with the name; only of a user if given."""
        with self._asking():
            for each in self._yarn.getApplications({render.TYPE}):
                over = str(each.getYarnApplicationState().toString()) in ENDED
                is_theirs = user not in ("", str(each.getUser()))
                if not over and not is_theirs and str(each.getName()) == name:
                    yield str(each.getApplicationId().toString())


def queue_capacity(
    guaranteed: Capacity, taken: Capacity, share: float, nodes: Sequence[YarnNode]
) -> Capacity:
    """Remaining capacity of a queue: its guaranteed share, or more, up to its maximum share of
    the cluster and the nodes' free resources. Pure. An unknown `share` is 0 or less."""
    total, free = (
        Capacity(
            sum(each.memory_mb for each in capacities), sum(each.vcores for each in capacities)
        )
        for capacities in ([node.total for node in nodes], [node.free for node in nodes])
    )
    most = Capacity(
        int(total.memory_mb * share) - taken.memory_mb, int(total.vcores * share) - taken.vcores
    )
    return Capacity(
        max(guaranteed.memory_mb, min(most.memory_mb, free.memory_mb)),
        max(guaranteed.vcores, min(most.vcores, free.vcores)),
    )


def _containers(report: Any) -> int:
    usage = report.getApplicationResourceUsageReport()
    return 0 if usage is None else max(0, int(usage.getNumUsedContainers()))


def _node(report: Any) -> YarnNode:
    total, used = report.getCapability(), report.getUsed()
    memory, vcores = int(total.getMemorySize()), int(total.getVirtualCores())
    taken = (0, 0) if used is None else (int(used.getMemorySize()), int(used.getVirtualCores()))
    free = Capacity(memory - taken[0], vcores - taken[1])
    return YarnNode(Capacity(memory, vcores), free)


def plain(said: str) -> str:
    """YARN's reason without ids and class names."""
    words = re.sub(r"(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ?", "", said)
    return re.sub(r"^Failed to submit (application_\d+_\d+) to YARN ?: ?", "", words)


def check_queue(client: Client, queue: str) -> None:
    """UsageError if nothing can be submitted to the queue."""
    problem = client.queue_problem(queue)
    if problem is not None:
        raise UsageError(problem)
