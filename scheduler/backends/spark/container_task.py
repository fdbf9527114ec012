"""What runs in a task of Spark: it starts one container and stays with it.

The container is a child process with three ties to us: a pipe at its stdin that ends with us, the
kernel's parent-death signal, and its voice at our end of its stdout. We in turn hold the line to
the driver. So whatever is killed (driver, executor, this worker, container), what is below it ends.
"""

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field

from heron_core.algorithms.backoff import STABLE_SECS, RestartPolicy
from heron_core.errors import HeronError
from heron_core.exit_codes import FINAL_CODES, ExitCode
from heron_core.supervision import HEARTBEAT, REASON_BYTES_MAX, RELOAD, STATUS_PIPE_BYTES
from scheduler.backends.spark.control_channel import Lines, connect
from scheduler.packaging.bundle import Installed, installed
from scheduler.socket_folders import sockets_folder
from scheduler.user_folder import Home

GRACE_SECS = 8.0
"""A container gives its instances 3 s and its stream manager 2 s."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the driver wants of every task."""

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
    """Whether this is the topology's first start: what cannot begin then never will."""
    environment: dict[str, str]
    here: "Here | None" = None
    """Set if tasks run on the scheduler's machine."""


@dataclass(frozen=True, slots=True)
class Here:
    """Places of the scheduler that tasks on its machine share."""

    logs: str
    cache: str
    sockets: str
    console: str | None
    folder: str
    """Working directory."""


class ContainerEnded(Exception):
    """A container ended by failure; Spark starts its task again."""


@dataclass(frozen=True, slots=True)
class End:
    """How a container's process ended."""

    code: int
    words: str
    ran_secs: float = 0.0
    asked: bool = False
    """Whether the driver wanted it."""
    again: bool = False
    """Whether the driver wants the container to start again."""


def verdict(end: End, attempt: int, first: bool) -> str:
    """What follows: "over" (it was asked to end), "final" (the topology has to end), "restart" (it
    was asked to, here and now), "again" (the task fails, and Spark starts it again somewhere)."""
    if end.asked:
        return "over"
    if end.code in FINAL_CODES or (end.code == ExitCode.UNSTARTED and first and attempt == 0):
        return "final"
    return "restart" if end.again else "again"


def pause_secs(end: End, attempt: int) -> float:
    """How long to wait before the task fails, so that a hopeless container burns no machine."""
    if end.ran_secs >= STABLE_SECS:
        return 0.0
    return RestartPolicy(sys.maxsize, failures=attempt).pause_secs(end.ran_secs) or 0.0


def run(order: Order, containers: Iterable[int]) -> Iterator[int]:
    """The task: stays until its container has ended for good. ContainerEnded if it has not."""
    from pyspark import TaskContext

    context = TaskContext.get()
    (container,) = containers
    attempt = 0 if context is None else context.attemptNumber()
    hello = {"container": container, "host": socket.gethostname(), "pid": os.getpid(),
             "attempt": attempt}  # fmt: skip
    try:
        lines = connect(order.driver, order.secret, hello)
    except OSError as error:
        host, port = order.driver
        raise ContainerEnded(f"the driver at {host}:{port} cannot be reached: {error}") from None
    with closing(lines.sock):
        wanted = "restart"
        while wanted == "restart":
            end = _Container(order, container, lines).run()
            wanted = verdict(end, attempt, order.first)
        if wanted == "again":
            select.select([lines.sock], [], [], pause_secs(end, attempt))
            raise ContainerEnded(f"container {container} ended with {end.code}: {end.words}")
        code = ExitCode.GAVE_UP if end.code == ExitCode.UNSTARTED else end.code
        lines.say({"ended": code, "final": wanted == "final", "reason": end.words})
        yield container


@dataclass
class _Container:
    """One container's process."""

    order: Order
    container: int
    lines: Lines
    _words: bytes = b""
    _heard: float = 0.0
    _asked: bool = False
    _again: bool = False
    _end_by: float = float("inf")
    _started: float = field(default_factory=time.monotonic)

    def run(self) -> End:
        """Start it and stay until it has ended."""
        own_sockets = None if self.order.here else sockets_folder()
        try:
            process = self._start(self._installed(), own_sockets)
        except (HeronError, OSError) as error:
            return End(ExitCode.UNSTARTED, f"on {socket.gethostname()}: {error}")
        try:
            self._stay(process)
        finally:
            process.kill()
            process.wait()
            if own_sockets is not None:
                shutil.rmtree(own_sockets, ignore_errors=True)
        words = self._words.decode("utf-8", "replace").strip()
        ran_secs = time.monotonic() - self._started
        return End(process.returncode, words, ran_secs, self._asked, self._again)

    def _installed(self) -> Installed:
        from pyspark import SparkFiles

        scratch = os.path.join(SparkFiles.getRootDirectory(), "heronpy")
        here = self.order.here
        caches = [here.cache] if here else [Home.of_user().archives, scratch]
        code = [(folder, SparkFiles.get(name)) for folder, name in self.order.code]
        runtime = SparkFiles.get(self.order.runtime)
        return installed(runtime, code, self.order.python, caches)

    def _start(self, code: Installed, own_sockets: str | None) -> "subprocess.Popen[bytes]":
        here, order = self.order.here, self.order
        environment = {**({} if here else os.environ), **order.environment}
        paths = (code.runtime, environment.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        words = ["--store", order.store_url, "--topology", order.topology,
                 "--container", str(self.container), "--logs", self._logs(),
                 "--sockets", here.sockets if here else own_sockets or "",
                 "--bind-host", "127.0.0.1" if here else self._own_address(),
                 *(word for pair in code.moved for word in ("--moved", *pair))]  # fmt: skip
        if here and here.console:
            words += ["--console", here.console]
        self._heard = self._started = time.monotonic()
        return subprocess.Popen(
            [sys.executable, "-m", "scheduler.container", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=here.folder if here else None,
        )

    def _logs(self) -> str:
        """Beside the scheduler's on its machine, else in the same place of this one if there is
        such a place."""
        here = self.order.here
        if here:
            return here.logs
        wanted = Home.of_user().logs(self.order.topology)
        try:
            os.makedirs(wanted, mode=0o700, exist_ok=True)
        except OSError:
            return tempfile.mkdtemp(prefix="heronpy-logs-")
        return wanted

    def _own_address(self) -> str:
        """That by which this machine reaches the driver: others reach it there, too."""
        address: str = self.lines.sock.getsockname()[0]
        return address

    def _stay(self, process: "subprocess.Popen[bytes]") -> None:
        """Until it has ended, the driver wants it to, or nobody is there to want anything."""
        assert process.stdout is not None
        voice = process.stdout.fileno()
        poll = select.poll()
        poll.register(voice, select.POLLIN)
        poll.register(self.lines.sock, select.POLLIN)
        while time.monotonic() < self._end_by:
            ready = {number for number, _ in poll.poll(1000)}
            if self.lines.sock.fileno() in ready and not self._obey(process):
                return
            if voice in ready and not self._hear(voice):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)
                return
            if time.monotonic() - self._heard > self.order.silent_secs:
                self._words = b"it was silent, and was killed"
                return

    def _obey(self, process: "subprocess.Popen[bytes]") -> bool:
        """Let the container end in order if the driver says so, to start again or not; False if
        nobody is left to wait for that, or a second order to end comes."""
        orders = self.lines.receive()
        if orders is None:
            self._asked = True
            return False
        end = any(each.get("end") for each in orders)
        if end and self._asked:
            return False
        self._again = self._again or any(each.get("restart") for each in orders)
        self._asked = self._asked or end
        if (self._asked or self._again) and self._end_by == float("inf"):
            self._end_by = time.monotonic() + GRACE_SECS
            process.send_signal(signal.SIGTERM)
        return True

    def _hear(self, voice: int) -> bool:
        """Take in heartbeats and last words; False once the container has closed its voice."""
        data = os.read(voice, STATUS_PIPE_BYTES)
        self._heard = time.monotonic()
        words = data.replace(HEARTBEAT, b"").replace(RELOAD, b"")
        self._words = (self._words + words)[-REASON_BYTES_MAX:]
        return bool(data)
