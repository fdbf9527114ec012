"""The stand-in's cluster: one process for each job, with a thread for each instance.

Aurora, Mesos and Thermos in one: gives each instance a sandbox and ports, runs its processes in the
order of the job, restarts a service's instance after any end, and ends an instance as Aurora does:
/quitquitquit, /abortabortabort, SIGTERM, SIGKILL. The process ends with its last instance.
"""

import json
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aurora_stand_in import schema

SHUTDOWN_SECS = 5.0
"""After each way to end an instance (HttpLifecycleConfig)."""
PAUSE_SECS = 0.1
"""Before an instance starts again; Aurora waits longer."""
PLACE = Path(os.environ["AURORA_STAND_IN"])
KEPT_FROM_INSTANCES = ("PYTHONPATH", "HERONPY_HOME")
"""Variables of the submitting shell, absent on workers."""


@dataclass
class Instance:
    """An instance, in its sandbox."""

    job: Any
    number: int
    folder: Path
    status: str = "PENDING"
    runs: int = 0
    sandbox: str = ""
    _process: "subprocess.Popen[bytes] | None" = None
    _port: int | None = None
    _wanted: threading.Event = field(default_factory=threading.Event)
    """Set for a restart."""
    _over: threading.Event = field(default_factory=threading.Event)
    _starting: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Run until `stop`."""
        self._wanted.set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self._wanted.is_set():
            self._run()
            self.status = "PENDING"
            self._over.wait(PAUSE_SECS)
        self.status = "KILLED"

    def _run(self) -> None:
        """A life of the instance: a fresh sandbox, all processes in turn."""
        self.runs += 1
        self.sandbox = tempfile.mkdtemp(prefix=f"sandbox-{self.number}-", dir=self.folder)
        ports = {name: _free_port() for name in schema.ports_of(self.job)}
        self._port = ports.get("health")
        job, _ = schema.instance_of(self.job, self.number, "localhost", ports)
        processes = {str(each.name()): each for each in job.task().processes()}
        (constraint,) = job.task().constraints()
        for name in map(str, constraint.order()):
            process = processes[name]
            tries = int(process.max_failures().get())
            if not any(self._succeeds(str(process.cmdline())) for _ in range(tries)):
                return

    def _succeeds(self, line: str) -> bool:
        environment = {k: v for k, v in os.environ.items() if k not in KEPT_FROM_INSTANCES}
        with self._starting, open(os.path.join(self.sandbox, "output"), "ab") as output:
            if not self._wanted.is_set():
                return False
            self._process = subprocess.Popen(
                [*_words_of_host(self.number), "bash", "-c", line],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.sandbox,
                env=environment,
                start_new_session=True,
            )
            self.status = "RUNNING"
        return self._process.wait() == 0

    def abandon(self) -> None:
        """Its machine does not answer: the instance may live on, and is not restarted."""
        self._wanted.clear()
        self._over.set()

    def stop(self) -> None:
        """End the instance for good."""
        with self._starting:
            self._wanted.clear()
        self._over.set()
        self.end_life()
        assert self._thread is not None
        self._thread.join()

    def end_life(self) -> None:
        """End the processes that run now, first in order, then by force."""
        process = self._process
        if process is None:
            return
        for path in ("quitquitquit", "abortabortabort"):
            with suppress(OSError):
                address = f"http://127.0.0.1:{self._port}/{path}"
                urllib.request.urlopen(address, data=b"", timeout=1.0).close()
                if _ends(process):
                    return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            if _ends(process):
                return

    def about(self) -> dict[str, Any]:
        """As `aurora job status --write-json` has a task."""
        return {
            "status": self.status,
            "failureCount": self.runs - 1,
            "assignedTask": {
                "instanceId": self.number,
                "slaveHost": socket.gethostname(),
                "assignedPorts": {"health": self._port},
            },
            "sandbox": self.sandbox,
            "pid": self._process.pid if self._process is not None else None,
        }


def _ends(process: "subprocess.Popen[bytes]") -> bool:
    """Whether the process ends in time; its own thread reaps."""
    deadline = time.monotonic() + SHUTDOWN_SECS
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    return process.poll() is not None


def _words_of_host(number: int) -> list[str]:
    """Words before the command line of an instance, for a start on another host."""
    path = PLACE / "settings.json"
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    words: list[str] = known.get("hosts", {}).get(str(number), [])
    return words


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


class Cluster:
    """The instances of one job."""

    def __init__(self, job: Any, folder: Path) -> None:
        self._job = job
        self._folder = folder
        self.instances: dict[int, Instance] = {}
        self.lock = threading.Lock()

    def add(self, numbers: list[int]) -> None:
        for number in numbers:
            self.instances[number] = Instance(self._job, number, self._folder)
            self.instances[number].start()

    def kill(self, numbers: list[int]) -> None:
        """End instances for good, all at the same time."""
        threads = [threading.Thread(target=self.instances[number].stop) for number in numbers]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for number in numbers:
            del self.instances[number]

    def restart(self, numbers: list[int]) -> None:
        """End the lives of instances, with new lives after."""
        threads = [threading.Thread(target=self.instances[number].end_life) for number in numbers]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def replace(self, numbers: list[int]) -> None:
        """Start instances elsewhere, as their machines are silent."""
        for number in numbers:
            self.instances[number].abandon()
        self.add(numbers)

    def status(self, numbers: list[int]) -> list[dict[str, Any]]:
        """State of all instances."""
        return [self.instances[number].about() for number in sorted(self.instances)]


def serve(folder: Path, path: str, key: tuple[str, str, str, str], bindings: dict[str, str]) -> int:
    """A job's cluster, from its creation to its last instance's end."""
    job = schema.load_job(path, key, bindings)
    cluster = Cluster(job, folder)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            call = json.loads(self.rfile.readline())
            with cluster.lock:
                answer = getattr(cluster, call["do"])(call["numbers"])
            self.wfile.write(json.dumps(answer).encode() + b"\n")
            if not cluster.instances:
                threading.Thread(target=self.server.shutdown).start()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        cluster.add(list(range(int(job.instances().get()))))
        (folder / "port.part").write_text(str(server.server_address[1]), "ascii")
        (folder / "port.part").rename(folder / "port")
        server.serve_forever(poll_interval=0.05)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    place, file, name, bound = sys.argv[1:]
    cluster_word, role, environment, job_name = name.split("/")
    sys.exit(
        serve(Path(place), file, (cluster_word, role, environment, job_name), json.loads(bound))
    )
