"""The driver: a process of the scheduler that runs a long task of Spark for each container.

The driver has the JVM as its child, counts slots, starts a job, listens to the job's tasks and
follows the plan: added containers get a further job, removed containers are stopped once the
topology runs without them. Spark restarts a failed task; a task that reports the final end of its
container ends the topology. When the scheduler ends the driver, the containers are stopped
gracefully first.
"""

import logging
import math
import os
import random
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from heron_core import config as keys
from heron_core.algorithms.backoff import UNLIMITED, RestartPolicy
from heron_core.config import log_settings
from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.plans import PackingPlan
from heron_core.records import replace
from heron_core.state_tree import scheduler_path
from heron_engine.scheduler.addresses import LOOPBACK, own_address
from heron_engine.scheduler.backends.spark import container_task, render
from heron_engine.scheduler.backends.spark.class_archive import ClassArchive
from heron_engine.scheduler.backends.spark.control_channel import ChannelServer, TaskMessage
from heron_engine.scheduler.backends.spark.jobs import Jobs, ThreadJob
from heron_engine.scheduler.backends.spark.masters import STARTED_BY_US, MasterKind, SparkMaster
from heron_engine.scheduler.backends.spark.plans import difference
from heron_engine.scheduler.backends.spark.session import (
    environment_of,
    executors,
    kill_children,
    reason_of,
    request_executors,
    spark_context,
    text_of,
)
from heron_engine.scheduler.backends.spark.slots import RegistrationWait, check_slots
from heron_engine.scheduler.backends.spark.spark_home import spark_home
from heron_engine.scheduler.backends.spark.state_watch import StateWatch
from heron_engine.scheduler.container.shutdown_timeouts import CONTAINER_SHUTDOWN_SECS
from heron_engine.scheduler.container_sizes import CONTAINER_SIZE
from heron_engine.scheduler.own_nodes import WAITING
from heron_engine.scheduler.packaging.bundle import Bundle, bundled, zipped_packages
from heron_io.java import find_java
from heron_io.logs import log_to
from heron_io.processes import SupervisorLink, start_heartbeat_thread
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_io.state_store.zookeeper_access import ACCESS_VARIABLES
from heron_io.waker import Waker

if TYPE_CHECKING:
    from pyspark import SparkContext

    from heron_engine.scheduler.submission import Submission

log = logging.getLogger("spark")

CONTAINERS_SHUTDOWN_SECS = CONTAINER_SHUTDOWN_SECS + 1.0
POLL_SECS = 0.5
REGISTERING_POLL_SECS = 0.1
REQUEST_SECS = 10.0
"""Between two requests for missing executors: a new one takes some seconds to register."""
END, RESTART = {"end": True}, {"restart": True}
"""Messages to a task."""
SENT_VARIABLES = (*ACCESS_VARIABLES, "HERONPY_STREAMPARSE")
"""Environment variables that go to containers on other machines; Spark's own way for more is
spark.executorEnv.NAME."""


class DriverSpec(Struct, frozen=True):
    """Parameters of a driver."""

    submission: "Submission"
    master: SparkMaster
    options: render.DriverOptions
    sockets: str
    address: str
    """Address of the machine, as seen by the workers."""


class _Outcome(Struct, frozen=True):
    code: int
    reason: str


@dataclass
class Driver:
    """The process of one Spark application."""

    spec: DriverSpec
    link: SupervisorLink
    first: bool = False
    """Whether the topology has had no application yet; not known before the state store answers."""
    _channels: ChannelServer = field(init=False)
    _state_watch: StateWatch = field(init=False)
    _jobs: Jobs = field(init=False)
    _waker: Waker = field(default_factory=Waker)
    _policy: RestartPolicy = field(default_factory=lambda: RestartPolicy(UNLIMITED, random.random))
    """Of a barrier stage."""
    _slots_each: int = 1
    """Containers that an executor has room for."""
    _ending: frozenset[int] = frozenset()
    """Containers that the plan has no more, and whose tasks are not over yet."""
    _refused: frozenset[int] = frozenset()
    """Containers of the plan that cannot start: the update is about to be undone."""
    _request_at: float = 0.0
    """Earliest time of the next request for missing executors."""
    _outcome: _Outcome | None = None
    _starting: bool = True

    @property
    def _name(self) -> str:
        return self.spec.submission.topology.name

    def run(self) -> int:
        """The application from its start to its end; returns the exit code and says why."""
        path = os.path.join(self.spec.submission.home.logs(self._name), "spark.log")
        config = self.spec.submission.topology.config
        log_to(path, "spark", settings=log_settings(config))
        start_heartbeat_thread(self.link)
        self.link.came_up()  # a start failure is reported by exit code
        signal.signal(signal.SIGTERM, self._terminated)
        folder = tempfile.mkdtemp(prefix="spark-", dir=self.spec.sockets)
        tempfile.tempdir = folder  # pyspark's own files are removed with it, after any end
        self._channels = ChannelServer(self.spec.address)
        try:
            store = open_store(self.spec.submission.store_url)
            try:
                self.first = "application" not in (store.get(scheduler_path(self._name)) or {})
                self._state_watch = StateWatch(store, self._name, self._waker)
                self._apply(folder, store)
            except HeronError as error:
                self._show_waiting(store, str(error))  # until the next attempt, if there is one
                raise
            finally:
                store.close()
        except HeronError as error:
            self._end(self._unstarted_code, str(error))
        except Exception as error:
            if not type(error).__module__.startswith("py4j"):
                raise
            self._end(self._unstarted_code, f"Spark's driver fails: {reason_of(text_of(error))}")
        finally:
            kill_children()
            self._channels.close()
            shutil.rmtree(folder, ignore_errors=True)
        assert self._outcome is not None
        log.info("the application ends: %s", self._outcome.reason)
        self.link.report(self._outcome.reason)
        return self._outcome.code

    def _terminated(self, *_: object) -> None:
        if self._starting:
            # There are no containers yet, and an exception from here may be swallowed anywhere.
            kill_children()
            os._exit(0)
        self._end(0, "SIGTERM")

    def _end(self, code: int, reason: str) -> None:
        """The first outcome counts."""
        if self._outcome is None:
            self._outcome = _Outcome(code, reason)

    @property
    def _unstarted_code(self) -> int:
        """A container that never ran is not retried; a container that ran is restarted by the
        scheduler."""
        return ExitCode.TOPOLOGY_FAILED if self.first else ExitCode.FAILED

    def _apply(self, folder: str, store: StateStore) -> None:
        self.spec = spec = _by_plan(self.spec, self._state_watch.plan())
        submission = spec.submission
        classes = ClassArchive(find_java(), spark_home()).reading()
        chosen = render.with_jvm_options(settings_of(spec), classes)
        bundle = bundled(submission.topology.search_paths, submission.home.archives, folder)
        local = spec.address if spec.master.is_one_machine else None
        environment = environment_of(folder, spec.master, spec.options.python, local)
        words = render.submit_words(self._name, spec.master, chosen)
        log.info("spark-submit %s", " ".join(words))
        self._show_waiting(store, f"Spark starts at {spec.master.text}")
        with spark_context(words, environment, spec.master.text) as context:
            self._announce(str(context.applicationId), store)
            self._slots_each = render.slots_each(spec.master, chosen)
            self._wait_for_slots(context, store)
            self._show_waiting(store, "")
            self._send(context, bundle, folder)
            task_spec, is_barrier = self._task_spec(bundle), spec.options.is_barrier
            self._jobs = Jobs(context, task_spec, is_barrier, self._name, self._waker)
            self._serve(context)

    def _announce(self, application: str, store: StateStore) -> None:
        path = scheduler_path(self._name)
        sizes = render.container_size(self.spec.master, settings_of(self.spec))
        found = {"application": application, CONTAINER_SIZE: sizes}
        store.put(path, {**(store.get(path) or {}), **found})
        log.info("application %s at %s", application, self.spec.master.text)

    def _show_waiting(self, store: StateStore, text: str) -> None:
        """Publish the reason of a start that takes long, for the commands that wait; empty: none.
        Without a state store the log has the reason."""
        try:
            path = scheduler_path(self._name)
            node = {**(store.get(path) or {})}
            if text != node.pop(WAITING, ""):
                store.put(path, {**node, WAITING: text} if text else node)
        except HeronError as error:
            log.warning("the reason of the wait is not published (%s): %s", text, error)

    def _wait_for_slots(self, context: "SparkContext", store: StateStore) -> None:
        master, need = self.spec.master, len(self.spec.submission.packing.containers)
        if master.kind is MasterKind.LOCAL:
            return  # the number in its name was checked
        asked = render.executor_words(master, settings_of(self.spec))
        wait = RegistrationWait(master, need, time.monotonic(), asked=asked)
        while not wait.enough(have := self._slots(context), time.monotonic()):
            self._show_waiting(store, wait.text(have))
            time.sleep(REGISTERING_POLL_SECS)

    def _slots(self, context: "SparkContext") -> int:
        return executors(context) * self._slots_each

    def _send(self, context: "SparkContext", bundle: Bundle, folder: str) -> None:
        context.addPyFile(zipped_packages(folder))
        for path in (bundle.runtime, *(path for _, path in bundle.code)):
            context.addFile(path)

    def _task_spec(self, bundle: Bundle) -> container_task.TaskSpec:
        submission = self.spec.submission
        one_machine = self.spec.master.is_one_machine
        names = os.environ if one_machine else SENT_VARIABLES
        config = keys.with_defaults(submission.topology.config)
        return container_task.TaskSpec(
            self._name,
            submission.store_url,
            self._channels.address,
            self._channels.secret,
            os.path.basename(bundle.runtime),
            tuple((folder, os.path.basename(path)) for folder, path in bundle.code),
            bundle.python,
            keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS),
            self.first,
            {name: os.environ[name] for name in names if name in os.environ},
            self._local_task() if one_machine else None,
        )

    def _local_task(self) -> container_task.LocalTask:
        submission = self.spec.submission
        console = submission.console
        return container_task.LocalTask(
            submission.home.logs(self._name),
            submission.home.archives,
            self.spec.sockets,
            # Through /proc another process reaches the pipe that we have inherited.
            None if console is None else f"/proc/{os.getpid()}/fd/{console}",
            os.getcwd(),
        )

    def _serve(self, context: "SparkContext") -> None:
        """Listen until the topology is to end, or the application is lost."""
        signal.set_wakeup_fd(self._waker.signal_fd, warn_on_full_buffer=False)
        self._channels.also_watch(self._waker.readable)
        self._starting = False
        self._jobs.start(self._planned())
        while self._outcome is None:
            for message in self._channels.serve(POLL_SECS):
                self._on_message(message)
            self._waker.clear()
            if self._outcome is None and (lost := self._jobs.lost()) is not None:
                self._job_lost(lost)
            self._follow_plan()
            self._restart_one()
            self._request_missing(context)
            for job in self._jobs.starting:
                self._check_start(job, context)
        self._end_containers()

    def _planned(self) -> list[int]:
        return [each.id for each in self.spec.submission.packing.containers]

    def _job_lost(self, job: ThreadJob) -> None:
        """A barrier stage starts again as a whole; otherwise the application is lost."""
        pause = self._policy.pause_secs(job.ran_secs) if self.spec.options.is_barrier else None
        log.warning("the job ended after %.1f s: %s", job.ran_secs, job.problem)
        if pause is None:
            self._end(ExitCode.FAILED, f"the Spark application is lost: {job.problem}")
            return
        time.sleep(pause)
        self._jobs.start(job.containers)

    def _on_message(self, message: TaskMessage) -> None:
        data: dict[str, Any] | None = message.data
        if data is None:
            log.info("container %d: its task is lost", message.container)
        elif "host" in data:
            self._jobs.seen(message.container)
            log.info(
                "container %d runs on %s, worker pid %s, attempt %s",
                message.container, data["host"], data.get("pid"), data.get("attempt"),
            )  # fmt: skip
            if message.container in self._ending:
                self._channels.send(message.container, END)
        elif data.get("final"):
            reason = str(data.get("reason", ""))
            self._end(int(data["ended"]), reason or f"container {message.container} ended")
        else:
            log.info("container %d has stopped as requested", message.container)
            self._jobs.over(message.container)

    # --- changes of the plan, and requests -------------------------------------------------------

    def _follow_plan(self) -> None:
        plan = self._state_watch.plan()
        if plan is None or self._outcome is not None:
            return
        change = difference(plan, self._jobs.containers)
        for job in [each for each in self._jobs.starting if each.containers <= change.end]:
            self._jobs.drop(job)  # of an update that was undone: it may never have had a slot
        for number in change.end - self._ending:
            log.info("container %d is not needed any more", number)
            self._channels.send(number, END)
        self._ending = change.end
        if change.start and change.start != self._refused:
            self._add(plan, change.start)
        elif not change.start:
            self._refused = frozenset()

    def _add(self, plan: PackingPlan, numbers: frozenset[int]) -> None:
        """Start a further job of added containers, or have the update undone."""
        master, need = self.spec.master, len(plan.containers)
        try:
            if self.spec.options.is_barrier:
                raise HeronError(
                    f"{self._name} was submitted with --gang, so containers cannot be added: "
                    "kill the topology and submit it with another parallelism"
                )
            if master.slots is not None:
                check_slots(master, master.slots, need, runs=True)
        except HeronError as error:
            self._refuse(numbers, str(error))
            return
        log.info("adding containers: %s", ", ".join(map(str, sorted(numbers))))
        self._jobs.start(numbers, RegistrationWait(master, need, time.monotonic(), runs=True))

    def _refuse(self, numbers: frozenset[int], reason: str) -> None:
        self._refused = numbers
        self._state_watch.refuse(reason)

    def _restart_one(self) -> None:
        number = self._state_watch.take_restart()
        if number is None:
            return
        log.info("restarting container %d", number)
        if not self._channels.send(number, RESTART):
            log.info("container %d is just coming back", number)

    def _request_missing(self, context: "SparkContext") -> None:
        """Have a standalone master replace executors that are lost, whichever master it is now."""
        now = time.monotonic()
        is_standalone = self.spec.master.kind is MasterKind.STANDALONE
        if not is_standalone or self.spec.options.is_barrier or now < self._request_at:
            return
        self._request_at = now + REQUEST_SECS
        need = math.ceil(len(self._jobs.containers) / self._slots_each)
        try:
            if (registered := executors(context)) < need:
                log.info("%d of %d executors are registered: asking again", registered, need)
                request_executors(context, need)
        except Exception as error:  # the JVM is gone: the job will end as well
            log.warning("executors cannot be asked for: %s", text_of(error))

    def _check_start(self, job: ThreadJob, context: "SparkContext") -> None:
        """Check for failing tasks, or missing executors, before all containers have run once: a
        failure of the first job ends the topology, added containers are released.
        """
        problem = job.start_problem()
        if job.registering is None:
            if problem is not None:
                self._end(self._unstarted_code, problem)
            return
        try:
            if self.spec.master.kind not in STARTED_BY_US:
                job.registering.enough(self._slots(context), time.monotonic())
        except HeronError as error:
            problem = problem or str(error)
        if problem is not None:
            numbers = frozenset(job.containers)
            self._jobs.drop(job)
            self._refuse(numbers, problem)

    def _end_containers(self) -> None:
        """Stop the registered containers gracefully; then cancel the jobs."""
        self._channels.end_all()
        deadline = time.monotonic() + CONTAINERS_SHUTDOWN_SECS
        while self._jobs.alive and time.monotonic() < deadline:
            self._channels.serve(REGISTERING_POLL_SECS)
        for job in self._jobs.alive:
            log.warning("containers do not end: cancelled")
            job.cancel()


def _by_plan(spec: DriverSpec, plan: PackingPlan | None) -> DriverSpec:
    """The spec with the current plan, possibly changed since the submission."""
    return (
        spec if plan is None else replace(spec, submission=replace(spec.submission, packing=plan))
    )


def settings_of(spec: DriverSpec) -> dict[str, str]:
    """Spark's settings for a driver."""
    return render.settings(spec.submission.packing, spec.master, spec.options, spec.address)


def driver_address(master: SparkMaster, store_url: str) -> str:
    """Local address as seen by the workers: the address used to reach the Spark master, or,
    without one, ZooKeeper."""
    if master.is_one_machine or master.kind in STARTED_BY_US:
        return LOOPBACK
    return own_address(store_url, master.addresses)
