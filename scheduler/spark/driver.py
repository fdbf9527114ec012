"""The driver: a process of the scheduler that runs one Spark job of a long task per container.

It has the JVM as its child, counts slots, starts the job in a thread and then listens to the tasks.
A task that fails is started again by Spark; one that says its container has ended for good ends the
topology. When the scheduler ends the driver, it has the containers end in order first.
"""

import logging
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.errors import HeronError
from heron_io.logs import log_to
from heron_io.processes import Ties, Waker, start_pulse
from heron_io.state_store import CREDENTIALS_VARIABLE, open_store, scheduler_path
from scheduler import executor
from scheduler.bundle import Bundle, bundled, zipped_packages
from scheduler.restarts import RestartPolicy
from scheduler.spark import render, worker
from scheduler.spark.link import Links, Told
from scheduler.spark.masters import STARTED_BY_US, Kind, Master
from scheduler.spark.session import (
    environment_of,
    executors,
    failures,
    kill_children,
    reason_of,
    spark_context,
)
from scheduler.spark.slots import Registering

if TYPE_CHECKING:
    from pyspark import SparkContext

    from scheduler.local import Launch

log = logging.getLogger("spark")

CONTAINERS_GRACE_SECS = worker.GRACE_SECS + 1.0
LOOK_SECS = 0.5
REGISTERING_LOOK_SECS = 0.1
START_FAILURES = 4
"""Failed tasks while not every container has been there once: then it is the place that is wrong.
Spark itself gives up after as many."""
GANG_RESTARTS = 10
FAILED_CODE = 1
"""The application is lost: the scheduler starts another one."""
SENT_VARIABLES = (CREDENTIALS_VARIABLE, "HERONPY_STREAMPARSE")
"""Environment variables that go to containers on other machines; Spark's own way for more is
spark.executorEnv.NAME."""


@dataclass(frozen=True, slots=True)
class DriverPlace:
    """What a driver runs."""

    launch: "Launch"
    master: Master
    wishes: render.SparkWishes
    sockets: str
    address: str
    """Of this machine, as the workers see it."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    code: int
    reason: str


@dataclass
class Driver:
    """The process of one Spark application."""

    place: DriverPlace
    ties: Ties
    first: bool = True
    _links: Links = field(init=False)
    _outcome: _Outcome | None = None
    _starting: bool = True
    _seen: set[int] = field(default_factory=set)
    _job: "_Job | None" = None

    @property
    def _name(self) -> str:
        return self.place.launch.topology.name

    def run(self) -> int:
        """The application from its start to its end; returns the exit code and says why."""
        log_to(os.path.join(self.place.launch.home.logs(self._name), "spark.log"), "spark")
        start_pulse(self.ties)
        signal.signal(signal.SIGTERM, self._terminated)
        folder = tempfile.mkdtemp(prefix="spark-", dir=self.place.sockets)
        tempfile.tempdir = folder  # pyspark's own files go with it, however this ends
        self._links = Links(self.place.address)
        try:
            self.first = self._is_first()
            self._apply(folder)
        except HeronError as error:
            self._end(executor.GAVE_UP_CODE if self.first else FAILED_CODE, str(error))
        finally:
            kill_children()
            self._links.close()
            shutil.rmtree(folder, ignore_errors=True)
        assert self._outcome is not None
        log.info("the application ends: %s", self._outcome.reason)
        self.ties.say(self._outcome.reason)
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

    def _is_first(self) -> bool:
        store = open_store(self.place.launch.store_url)
        try:
            return "application" not in (store.get(scheduler_path(self._name)) or {})
        finally:
            store.close()

    def _apply(self, folder: str) -> None:
        place = self.place
        launch = place.launch
        chosen = settings_of(place)
        bundle = bundled(launch.topology.search_paths, launch.home.archives, folder)
        local = place.address if place.master.is_one_machine else None
        environment = environment_of(folder, place.master, place.wishes.python, local)
        words = render.submit_words(self._name, place.master, chosen)
        log.info("spark-submit %s", " ".join(words))
        with spark_context(words, environment, place.master.text) as context:
            self._announce(str(context.applicationId))
            self._wait_for_slots(context, chosen)
            self._send(context, bundle, folder)
            self._serve(context, self._order(bundle))

    def _announce(self, application: str) -> None:
        store = open_store(self.place.launch.store_url)
        try:
            path = scheduler_path(self._name)
            store.put(path, {**(store.get(path) or {}), "application": application})
        finally:
            store.close()
        log.info("application %s at %s", application, self.place.master.text)

    def _wait_for_slots(self, context: "SparkContext", chosen: Mapping[str, str]) -> None:
        master, need = self.place.master, len(self.place.launch.packing.containers)
        if master.kind is Kind.LOCAL:
            return  # there are as many as its name says, which was checked
        each = render.slots_each(master, chosen)
        registering = Registering(master, need, time.monotonic())
        while not registering.enough(executors(context) * each, time.monotonic()):
            time.sleep(REGISTERING_LOOK_SECS)

    def _send(self, context: "SparkContext", bundle: Bundle, folder: str) -> None:
        context.addPyFile(zipped_packages(folder))
        for path in (bundle.runtime, *(path for _, path in bundle.code)):
            context.addFile(path)

    def _order(self, bundle: Bundle) -> worker.Order:
        launch = self.place.launch
        one_machine = self.place.master.is_one_machine
        names = os.environ if one_machine else SENT_VARIABLES
        config = keys.with_defaults(launch.topology.config)
        return worker.Order(
            self._name,
            launch.store_url,
            self._links.address,
            self._links.secret,
            os.path.basename(bundle.runtime),
            tuple((folder, os.path.basename(path)) for folder, path in bundle.code),
            bundle.python,
            keys.seconds(config, keys.LIVENESS_TIMEOUT_SECS),
            self.first,
            {name: os.environ[name] for name in names if name in os.environ},
            self._here() if one_machine else None,
        )

    def _here(self) -> worker.Here:
        launch = self.place.launch
        console = launch.console
        return worker.Here(
            launch.home.logs(self._name),
            launch.home.archives,
            self.place.sockets,
            # Through /proc another process reaches the pipe that we have inherited.
            None if console is None else f"/proc/{os.getpid()}/fd/{console}",
            os.getcwd(),
        )

    def _serve(self, context: "SparkContext", order: worker.Order) -> None:
        """Listen until the topology is to end, or the application is lost."""
        waker = Waker()
        signal.set_wakeup_fd(waker.signal_fd, warn_on_full_buffer=False)
        self._links.also_watch(waker.readable)
        policy = RestartPolicy(GANG_RESTARTS)
        self._starting = False
        self._start_job(context, order, waker)
        while self._outcome is None:
            for told in self._links.serve(LOOK_SECS):
                self._hear(told)
            waker.clear()
            assert self._job is not None
            if self._outcome is None and not self._job.alive:
                self._job_ended(context, order, waker, policy)
            if len(self._seen) < len(self.place.launch.packing.containers):
                self._check_start(context)
        self._end_containers(context)

    def _start_job(self, context: "SparkContext", order: worker.Order, waker: Waker) -> None:
        containers = [each.id for each in self.place.launch.packing.containers]
        gang = self.place.wishes.gang
        self._job = _Job(context, containers, order, gang, f"heron: {self._name}", waker)

    def _job_ended(
        self, context: "SparkContext", order: worker.Order, waker: Waker, policy: RestartPolicy
    ) -> None:
        """A gang starts again as a whole; otherwise the application is lost."""
        assert self._job is not None
        problem, ran_secs = self._job.problem, self._job.ran_secs
        pause = policy.pause_secs(ran_secs) if self.place.wishes.gang else None
        log.warning("the job ended after %.1f s: %s", ran_secs, problem)
        if pause is None:
            self._end(FAILED_CODE, f"the Spark application is lost: {problem}")
            return
        time.sleep(pause)
        self._start_job(context, order, waker)

    def _hear(self, told: Told) -> None:
        data: dict[str, Any] | None = told.data
        if data is None:
            log.info("container %d: its task is gone", told.container)
        elif "host" in data:
            self._seen.add(told.container)
            log.info(
                "container %d runs on %s, worker pid %s, attempt %s",
                told.container, data["host"], data.get("pid"), data.get("attempt"),
            )  # fmt: skip
        elif data.get("final"):
            reason = str(data.get("reason", ""))
            self._end(int(data["ended"]), reason or f"container {told.container} ended")

    def _check_start(self, context: "SparkContext") -> None:
        """HeronError if tasks fail before every container has been there once."""
        assert self._job is not None
        try:
            number, told = failures(context, self._job.group)
        except Exception as error:  # the JVM is gone: the job will end as well
            log.info("the failures cannot be counted: %s", error)
            return
        if number >= START_FAILURES:
            self._end(
                executor.GAVE_UP_CODE if self.first else FAILED_CODE,
                f"containers do not start on Spark's executors: {told or 'see spark.log'}",
            )

    def _end_containers(self, context: "SparkContext") -> None:
        """In order, as far as they are there; then the job."""
        assert self._job is not None
        self._links.end_all()
        deadline = time.monotonic() + CONTAINERS_GRACE_SECS
        while self._job.alive and time.monotonic() < deadline:
            self._links.serve(REGISTERING_LOOK_SECS)
        if self._job.alive:
            log.warning("containers do not end: cancelled")
            try:
                context.cancelJobGroup(self._job.group)
            except Exception as error:
                log.info("nothing to cancel: %s", error)


class _Job:
    """The job in its thread."""

    def __init__(
        self,
        context: "SparkContext",
        containers: list[int],
        order: worker.Order,
        gang: bool,
        group: str,
        waker: Waker,
    ) -> None:
        self.group = group
        self.problem = "it ended without a reason"
        self._began = time.monotonic()
        self._waker = waker

        def run() -> None:
            try:
                context.setJobGroup(group, "one task for each container", True)
                rdd = context.parallelize(containers, len(containers))
                task = partial(worker.run, order)
                (rdd.barrier().mapPartitions(task) if gang else rdd.mapPartitions(task)).collect()
            except Exception as error:
                self.problem = reason_of(str(error))
            finally:
                self._waker.wake()

        self._thread = threading.Thread(target=run, name="job", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    @property
    def ran_secs(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began


def settings_of(place: DriverPlace) -> dict[str, str]:
    """Spark's settings for a driver."""
    return render.settings(place.launch.packing, place.master, place.wishes, place.address)


def driver_address(master: Master, store_url: str) -> str:
    """This machine's address as the workers see it: that from which it reaches the Spark master,
    or, where that has no address of its own, ZooKeeper."""
    if master.is_one_machine or master.kind in STARTED_BY_US:
        return "127.0.0.1"
    others = list(master.addresses)
    if store_url.startswith("zk://"):
        servers = store_url.removeprefix("zk://").partition("/")[0].split(",")
        others += [
            (host, int(port)) for host, _, port in (each.rpartition(":") for each in servers)
        ]
    for host, port in others:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.connect((host, port))
                found: str = sock.getsockname()[0]
                return found
        except OSError:
            continue
    return socket.gethostbyname(socket.gethostname())
