"""The back end of `--scheduler spark`."""

import importlib.util
import os
import shlex
import shutil
import socket
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError, JavaMissing, UsageError
from heron_core.exit_codes import FINAL_CODES
from heron_core.plans import MASTER_CONTAINER
from heron_engine.scheduler.backends.local import container_job
from heron_engine.scheduler.backends.protocol import describe_containers
from heron_engine.scheduler.backends.spark import render
from heron_engine.scheduler.backends.spark.driver import (
    Driver,
    DriverSpec,
    driver_address,
    settings_of,
)
from heron_engine.scheduler.backends.spark.masters import MasterKind, SparkMaster, parse_master
from heron_engine.scheduler.backends.spark.slots import check_slots
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_io.java import find_java

if TYPE_CHECKING:
    from heron_engine.scheduler.submission import Submission

READY_SECS = 240.0
"""A JVM, executors that have to register, and a container's start on each."""
DRIVER_SHUTDOWN_SECS = 12.0
"""Containers get 8 s, Spark's own end the rest."""
CONNECT_SECS = 5.0


class SparkBackend:
    """The topology master locally, every other container in a task of Spark."""

    kind = "spark"
    ready_secs = READY_SECS

    def __init__(self, options: render.DriverOptions) -> None:
        self._options = options
        self._master = parse_master(options.master, os.cpu_count() or 1)

    def check(self, submission: "Submission") -> None:
        """HeronError in one line if Spark, its master or the state store is unusable."""
        master = self._master
        if importlib.util.find_spec("pyspark") is None:
            raise HeronError(
                "--scheduler spark needs pyspark: pip install 'heronpy-topologies[spark]'"
            )
        try:
            find_java()
        except JavaMissing as error:
            raise HeronError(f"--scheduler spark needs Java: {error}") from None
        render.check_image(master, self._options)
        render.check_speculation(self._options)
        _check_store(master, submission.store_url)
        python = self._options.python
        if master.is_one_machine and python is not None and shutil.which(python) is None:
            raise UsageError(f"the workers' Python {python!r} is not a program")
        if master.slots is not None:
            check_slots(master, master.slots, len(submission.packing.containers))
        _check_reachable(master)

    def jobs(self, submission: "Submission", sockets: str) -> list[ProcessSpec]:
        """The topology master's container, and the driver."""
        spec = self._spec(submission, sockets)
        name = submission.topology.name
        return [
            container_job(submission, MASTER_CONTAINER, sockets, spec.address),
            ProcessSpec(
                "Spark driver",
                f"heron: Spark driver ({name})",
                lambda link: Driver(spec, link).run(),
                DRIVER_SHUTDOWN_SECS,
                killed_with_parent=True,
                final_codes=FINAL_CODES,
            ),
        ]

    def _spec(self, submission: "Submission", sockets: str) -> DriverSpec:
        address = driver_address(self._master, submission.store_url)
        return DriverSpec(submission, self._master, self._options, sockets, address)

    def node_fields(self) -> dict[str, Any]:
        """The master; the driver adds the application's id."""
        return {"master": self._master.text}

    def describe(self, submission: "Submission") -> str:
        """Containers."""
        return describe_containers(submission)

    def logs(self, submission: "Submission") -> str:
        """In the user's folder, for logs of the local machine."""
        return submission.home.logs(submission.topology.name)

    def preview(self, submission: "Submission") -> str:
        """The driver's command line."""
        render.check_image(self._master, self._options)
        render.check_speculation(self._options)
        spec = self._spec(submission, "")
        words = render.submit_words(submission.topology.name, self._master, settings_of(spec))
        return f"spark-submit {shlex.join(words)}"


def _check_store(master: SparkMaster, store_url: str) -> None:
    if not master.is_one_machine and store_url.startswith("file:"):
        raise UsageError(
            f"--master {master.text} runs containers on other machines, which cannot read the "
            "state store in this machine's files: give --zookeeper HOST:PORT"
        )


def _check_reachable(master: SparkMaster) -> None:
    """HeronError if no one listens at the address of a standalone master, or of all of them."""
    if master.kind is MasterKind.YARN:
        if not (os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR")):
            raise UsageError("--master yarn needs HADOOP_CONF_DIR, the folder of yarn-site.xml")
        return
    problem: OSError | None = None
    for host, port in master.addresses:
        try:
            socket.create_connection((host.strip("[]"), port), CONNECT_SECS).close()
            return
        except OSError as error:
            problem = error
    if problem is not None:
        raise HeronError(f"no Spark master answers at {master.text}: {problem}")
