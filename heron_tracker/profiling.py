"""Storm's profiling of a worker: py-spy over all processes of a container, started and stopped by
requests that come minutes apart.

The last profile of a worker stays in memory until the worker is profiled again: a line for each
stack with its number of samples, the format of flame graphs.
"""

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from heron_core.stats import InstanceStats
from heron_io.processes import parent_of
from heron_tracker.envelope import AGAIN, BadRequest, NotFound, Unavailable
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.stacks import (
    FOLDED_CHARACTERS_MAX,
    SAMPLES_PER_SEC,
    answer_of,
    program,
)

PROFILES_AT_ONCE = 2
"""Processes of py-spy: each looks at all instances of a container, fifty times a second."""
PROFILES_KEPT = 8
"""Workers of which the last profile is kept."""
MINUTES_MAX = 60
REFUSED_SECS = 1.0
"""Startup time of py-spy, after which a missing permission would have been reported."""
WRITTEN_SECS = 20.0
"""Time for py-spy to write its results after the request to end."""


@dataclass(frozen=True, slots=True)
class StormWorker:
    """A container, as Storm names it: host and port."""

    topology: str
    host: str
    container: int

    @property
    def id(self) -> str:
        """HOST:PORT, as in Storm; the port is the container's number."""
        return f"{self.host}:{self.container}"


@dataclass(frozen=True, slots=True)
class Recording:
    """A running or finished py-spy."""

    popen: "subprocess.Popen[str]"
    pid: int
    ends_at: float
    folder: "tempfile.TemporaryDirectory[str]"

    @property
    def file(self) -> str:
        """File of its stacks, once finished."""
        return os.path.join(self.folder.name, "stacks")


def worker_of(
    snapshot: TopologySnapshot, host_port: str
) -> tuple[StormWorker, list[InstanceStats]]:
    """HOST-CONTAINER or HOST:CONTAINER, as the executors of a component tell it, with its
    instances."""
    host, _, number = host_port.replace(":", "-").rpartition("-")
    if not number.isdecimal() or not host:
        raise BadRequest(
            f"{host_port!r:.200} is not a HOST-PORT; a port is the number of a container"
        )
    rows = [
        instance
        for instance in snapshot.instances
        if str(instance.container) == number and snapshot.host_of(instance.container) == host
    ]
    if not rows:
        raise NotFound(f"{snapshot.name} has no instances in container {number} on {host!r:.200}")
    return StormWorker(snapshot.id, host, rows[0].container), rows


@dataclass(slots=True)
class Profilers:
    """All that were started; the methods may be called from any thread."""

    clock: Callable[[], float] = time.monotonic
    _running: dict[StormWorker, Recording] = field(default_factory=dict)
    _profiles: dict[StormWorker, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, snapshot: TopologySnapshot, host_port: str, minutes: int) -> StormWorker:
        """Record until `stop`, at most so many minutes; Unavailable says why it cannot be."""
        worker, rows = worker_of(snapshot, host_port)
        with self._lock:
            self._take_ended()
            if worker in self._running:
                raise Unavailable(f"{worker.id} is being profiled: stop that first")
            if len(self._running) >= PROFILES_AT_ONCE:
                raise Unavailable(f"{PROFILES_AT_ONCE} workers are being profiled: stop one first")
            pid = _executor(worker, rows)
            self._running[worker] = _recording(pid, minutes * 60.0, self.clock())
        return worker

    def dump(self, snapshot: TopologySnapshot, host_port: str) -> StormWorker:
        """Keep the profile so far, and continue for the remaining time."""
        worker, _ = worker_of(snapshot, host_port)
        with self._lock:
            self._take_ended()
            recording = self._end(worker)
            secs = recording.ends_at - self.clock()
            if secs >= 1:
                self._running[worker] = _recording(recording.pid, secs, self.clock())
        return worker

    def stop(self, snapshot: TopologySnapshot, host_port: str) -> StormWorker:
        """Keep what was recorded, and end."""
        worker, _ = worker_of(snapshot, host_port)
        with self._lock:
            self._take_ended()
            if worker not in self._profiles or worker in self._running:
                self._end(worker)
        return worker

    def profile(self, snapshot: TopologySnapshot, host_port: str) -> str:
        """The last profile of a worker; NotFound without one."""
        worker, _ = worker_of(snapshot, host_port)
        with self._lock:
            self._take_ended()
            found = self._profiles.get(worker)
        if found is None:
            raise NotFound(f"there is no profile of {worker.id}: dump it, or stop its profiling")
        return found

    def close(self) -> None:
        """End all profilers and drop their recordings."""
        with self._lock:
            for each in self._running.values():
                each.popen.kill()
                each.popen.communicate()
                each.folder.cleanup()
            self._running.clear()

    def _take_ended(self) -> None:
        """Finished profilers have written their recordings."""
        for worker in [w for w, each in self._running.items() if each.popen.poll() is not None]:
            try:
                self._end(worker)
            except Unavailable:  # its processes have ended early: no recording exists
                continue

    def _end(self, worker: StormWorker) -> Recording:
        recording = self._running.pop(worker, None)
        if recording is None:
            raise NotFound(f"{worker.id} is not being profiled: start that first")
        while len(self._profiles) >= PROFILES_KEPT:
            self._profiles.pop(next(iter(self._profiles)))
        self._profiles[worker] = _written(recording)
        return recording


def _executor(worker: StormWorker, rows: list[InstanceStats]) -> int:
    """The process whose children are the container's instances."""
    if worker.host != socket.gethostname():
        raise Unavailable(f"{worker.id} runs on another machine: run py-spy there")
    found = next((parent_of(row.pid) for row in rows if row.pid is not None), None)
    if found is None:
        raise Unavailable(f"the instances of {worker.id} have not reported yet: {AGAIN}")
    return found


def _recording(pid: int, secs: float, now: float) -> Recording:
    folder = tempfile.TemporaryDirectory(prefix="heronpy-")
    recording = Recording(
        subprocess.Popen(
            [program(), "record", "--pid", str(pid), "--subprocesses", "--duration",
             str(int(secs)), "--rate", str(SAMPLES_PER_SEC), "--format", "raw", "--output",
             os.path.join(folder.name, "stacks")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, errors="replace",
        ),
        pid, now + secs, folder,
    )  # fmt: skip
    try:
        recording.popen.wait(REFUSED_SECS)
    except subprocess.TimeoutExpired:
        return recording
    try:
        _checked(recording, recording.popen.communicate()[1])
    except Unavailable:
        folder.cleanup()
        raise
    return recording


def _checked(recording: Recording, complaints: str) -> None:
    code = recording.popen.returncode
    answer_of(["py-spy", "record"], recording.pid, code, "", complaints)


def _written(recording: Recording) -> str:
    """Its stacks, once finished."""
    with recording.folder:
        try:
            if recording.popen.poll() is None:
                recording.popen.send_signal(signal.SIGINT)
            _, complaints = recording.popen.communicate(timeout=WRITTEN_SECS)
        except subprocess.TimeoutExpired:
            recording.popen.kill()
            recording.popen.communicate()
            raise Unavailable(
                f"py-spy has not written its recording within {WRITTEN_SECS:g} s: profile again"
            ) from None
        _checked(recording, complaints)
        try:
            with open(recording.file, encoding="utf-8", errors="replace") as stacks:
                return stacks.read(FOLDED_CHARACTERS_MAX)
        except FileNotFoundError:
            return ""  # not a single sample was taken
