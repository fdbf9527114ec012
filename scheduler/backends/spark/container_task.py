"""Code of a Spark task: runs and supervises one container.

The task process is the container's agent, and has a connection to the driver. A kill at any
level (driver, executor, worker, container) ends all levels below.
"""

import os
import select
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from typing import Any

from heron_core.algorithms.backoff import STABLE_SECS, RestartPolicy
from heron_core.errors import HeronError
from heron_core.exit_codes import FINAL_CODES, ExitCode
from heron_engine.scheduler.backends.spark.control_channel import JsonLineSocket, connect
from heron_engine.scheduler.container.agent import ContainerAgent
from heron_engine.scheduler.container.agent_core import ContainerEnd
from heron_engine.scheduler.packaging.bundle import Installed, installed
from heron_engine.scheduler.socket_folders import sockets_folder
from heron_engine.scheduler.user_folder import Home


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What every task of an application is to run."""

    topology: str
    store_url: str
    driver: tuple[str, int]
    secret: str
    runtime: str
    """Name of the runtime's archive among the files that Spark distributes."""
    code: tuple[tuple[str, str], ...]
    """(folder where the topology was submitted, name of its archive)"""
    python: str
    silent_secs: float
    first: bool
    """Whether the topology starts for the first time: start failures are then permanent."""
    environment: dict[str, str]
    local: "LocalTask | None" = None
    """Set if tasks run on the scheduler's machine."""


@dataclass(frozen=True, slots=True)
class LocalTask:
    """Folders of the scheduler, shared by tasks on its machine."""

    logs: str
    cache: str
    sockets: str
    console: str | None
    folder: str
    """Working directory."""


class ContainerEnded(Exception):
    """A container ended by failure; Spark starts its task again."""


class NextStep(Enum):
    """What follows from a container's end."""

    OVER = "over"
    """Whether the end was requested."""
    FINAL = "final"
    """The topology has to end."""
    RESTART = "restart"
    """It was asked to start again, here and now."""
    RETRY = "retry"
    """The task fails, and Spark starts it again somewhere."""


def next_step(
    end: ContainerEnd, attempt: int, *, first: bool, end_requested: bool, restart_requested: bool
) -> NextStep:
    """Consequence of the container's end. Pure."""
    if end_requested:
        return NextStep.OVER
    never_began = end.code == ExitCode.UNSTARTED and first and attempt == 0
    if end.code in FINAL_CODES or never_began:
        return NextStep.FINAL
    return NextStep.RESTART if restart_requested else NextStep.RETRY


def pause_secs(end: ContainerEnd, attempt: int) -> float:
    """How long to wait before the task fails, so that a hopeless container burns no machine."""
    if end.ran_secs >= STABLE_SECS:
        return 0.0
    return RestartPolicy(sys.maxsize, failures=attempt).pause_secs(end.ran_secs) or 0.0


def run(spec: TaskSpec, containers: Iterable[int]) -> Iterator[int]:
    """The task: stays until its container has ended for good. ContainerEnded if it has not."""
    from pyspark import TaskContext

    context = TaskContext.get()
    (container,) = containers
    attempt = 0 if context is None else context.attemptNumber()
    with closing(_connected(spec, container, attempt)) as channel:
        task = ContainerTask(spec, container, attempt, channel)
        step = NextStep.RESTART
        while step is NextStep.RESTART:
            end, step = task.run_once()
        if step is NextStep.RETRY:
            select.select([channel.sock], [], [], pause_secs(end, attempt))
            raise ContainerEnded(f"container {container} ended with {end.code}: {end.reason}")
        code = ExitCode.TOPOLOGY_FAILED if end.code == ExitCode.UNSTARTED else end.code
        channel.send({"ended": code, "final": step is NextStep.FINAL, "reason": end.reason})
        yield container


def _connected(spec: TaskSpec, container: int, attempt: int) -> JsonLineSocket:
    hello = {"container": container, "host": socket.gethostname(), "pid": os.getpid(),
             "attempt": attempt}  # fmt: skip
    try:
        return connect(spec.driver, spec.secret, hello)
    except OSError as error:
        host, port = spec.driver
        raise ContainerEnded(f"the driver at {host}:{port} cannot be reached: {error}") from None


class ContainerTask:
    """One container in a task of Spark, and commands of the driver."""

    def __init__(
        self, spec: TaskSpec, container: int, attempt: int, channel: JsonLineSocket
    ) -> None:
        self._spec = spec
        self._container = container
        self._attempt = attempt
        self._channel = channel
        self._end_requested = False
        self._restart_requested = False

    def run_once(self) -> tuple[ContainerEnd, NextStep]:
        """Run the container until the end, and determine the consequence."""
        self._end_requested = self._restart_requested = False
        end = self._run()
        return end, next_step(
            end,
            self._attempt,
            first=self._spec.first,
            end_requested=self._end_requested,
            restart_requested=self._restart_requested,
        )

    def _run(self) -> ContainerEnd:
        own_sockets = None if self._spec.local else sockets_folder()
        try:
            agent = self._agent(self._installed(), own_sockets)
            agent.watch(self._channel.sock.fileno(), lambda: self._obey(agent))
            return agent.run()
        except (HeronError, OSError) as error:
            return ContainerEnd(ExitCode.UNSTARTED, f"on {socket.gethostname()}: {error}")
        finally:
            if own_sockets is not None:
                shutil.rmtree(own_sockets, ignore_errors=True)

    def _installed(self) -> Installed:
        from pyspark import SparkFiles

        spec, local = self._spec, self._spec.local
        scratch = os.path.join(SparkFiles.getRootDirectory(), "heronpy")
        caches = [local.cache] if local else [Home.of_user().archives, scratch]
        code = [(folder, SparkFiles.get(name)) for folder, name in spec.code]
        return installed(SparkFiles.get(spec.runtime), code, spec.python, caches)

    def _agent(self, code: Installed, own_sockets: str | None) -> ContainerAgent:
        spec, local = self._spec, self._spec.local
        arguments = ["--store", spec.store_url, "--topology", spec.topology,
                     "--container", str(self._container), "--logs", self._logs(),
                     "--sockets", local.sockets if local else own_sockets or "",
                     "--bind-host", "127.0.0.1" if local else self._own_address(),
                     *(word for pair in code.relocated
                       for word in ("--relocated", *pair))]  # fmt: skip
        if local and local.console:
            arguments += ["--console", local.console]
        return ContainerAgent(
            arguments,
            spec.silent_secs,
            environment=self._environment(code),
            folder=local.folder if local else None,
        )

    def _environment(self, code: Installed) -> Mapping[str, str]:
        """The submitter's on its machine, else the worker's; the runtime's packages come first."""
        environment = {**({} if self._spec.local else os.environ), **self._spec.environment}
        paths = (code.runtime, environment.get("PYTHONPATH", ""))
        return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def _logs(self) -> str:
        """The scheduler's log folder on its own machine, else an equal local folder if possible."""
        if self._spec.local:
            return self._spec.local.logs
        logs = Home.of_user().logs(self._spec.topology)
        try:
            os.makedirs(logs, mode=0o700, exist_ok=True)
        except OSError:
            return tempfile.mkdtemp(prefix="heronpy-logs-")
        return logs

    def _own_address(self) -> str:
        """Local address used to reach the driver, also reachable by others."""
        address: str = self._channel.sock.getsockname()[0]
        return address

    def _obey(self, agent: ContainerAgent) -> None:
        """End the container gracefully on the driver's request, with or without a restart;
        immediately without a driver, or on a repeated request."""
        commands: list[dict[str, Any]] | None = self._channel.receive()
        if commands is None:
            self._end_requested = True
            agent.unwatch(self._channel.sock.fileno())
            agent.kill("the driver is gone")
            return
        end = any(command.get("end") for command in commands)
        if end and self._end_requested:
            agent.kill("the driver asked twice for its end")
            return
        self._restart_requested |= any(command.get("restart") for command in commands)
        self._end_requested |= end
        if self._end_requested or self._restart_requested:
            agent.stop("stopped by the driver")
