"""Topologies on Spark's masters, submitted and killed as a user does, and their leftovers."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from heron_core.state_tree import scheduler_path
from heron_core.stats import TopologyStats
from heron_engine.scheduler.backends.spark.class_archive import ClassArchive
from heron_engine.scheduler.backends.spark.render import JVM_OPTIONS
from heron_engine.scheduler.backends.spark.spark_home import spark_home
from heron_io.java import find_java, java_home_for_spark
from heron_io.state_store.embedded_zookeeper import EmbeddedZooKeeper
from tests.leftovers import leftovers
from tests.process.process_support import Finished, Master, Place, until

SPARK_SECS = 240.0
"""For operations of ten seconds on an idle machine, and of minutes beside further starts of JVMs: a
JVM, then executors, then containers."""
GONE_SECS = 10.0
"""Time limit of a complete clean-up after a kill."""
LOCAL_CLUSTER = "local-cluster[2,1,600]"
KEPT_BY_WORKERS = ("HOME", "JAVA_HOME", "LANG", "PATH", "USER")


class SparkPlace(Place):
    """A place whose topologies run on Spark."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.home.mkdir()
        (self.home / "archives").symlink_to(_packed(path))
        self.sessions: set[int] = set()
        """Of schedulers in the background: Spark's Python processes carry no other mark."""

    def submit(self, file: object, master: str, *more: object) -> Finished:
        """`heronpy submit` under this place's name; its processes are tracked from then on."""
        words = ("submit", file, "-N", self.name, "--scheduler", "spark", "--master", master, *more)
        finished = self.heronpy(*words, secs=SPARK_SECS)
        if found := self.scheduler():
            self.sessions.add(found["pid"])
        return finished

    def scheduler(self) -> dict[str, Any] | None:
        """The scheduler's node."""
        store = self.store()
        try:
            return store.get(scheduler_path(self.name))
        finally:
            store.close()

    def processes(self) -> list[psutil.Process]:
        """Including the background sessions."""
        found = {each.pid: each for each in super().processes()}
        for each in psutil.process_iter():
            with suppress(psutil.Error, ProcessLookupError):
                of_ours = os.getsid(each.pid) in self.sessions
                if of_ours and each.status() != psutil.STATUS_ZOMBIE:
                    found[each.pid] = each
        return list(found.values())

    def called(self, beginning: str) -> psutil.Process:
        """The only process with this beginning of its title, once started."""
        return until(lambda: self._called(beginning), f"there is {beginning!r}", SPARK_SECS)

    def _called(self, beginning: str) -> psutil.Process | None:
        for each in self.processes():
            with suppress(psutil.Error):
                if " ".join(each.cmdline()).startswith(beginning):
                    return each
        return None

    def container(self, number: int) -> psutil.Process:
        """The executor of a container."""
        return self.called(f"heron: container {number} ({self.name})")

    def executors(self) -> list[psutil.Process]:
        """The JVMs of its executors."""
        found = self.scheduler() or {}
        words = ("CoarseGrainedExecutorBackend", str(found.get("application")))
        return [each for each in psutil.process_iter() if _has_words(each, words)]

    def java_of(self, process: psutil.Process) -> psutil.Process:
        """The JVM above a process."""
        return next(each for each in process.parents() if "java" in each.name())

    def master(self) -> Master:
        """Asks the topology master."""
        return Master(self.store_url, self.name)


def listed(place: SparkPlace) -> list[list[str]]:
    """Name and state of each topology that `list` shows."""
    return [line.split()[:2] for line in place.heronpy("list").succeeded().out.splitlines()]


def _has_words(process: psutil.Process, words: tuple[str, ...]) -> bool:
    with suppress(psutil.Error):
        line = " ".join(process.cmdline())
        is_wanted = all(each in line for each in words)
        return is_wanted and process.status() != psutil.STATUS_ZOMBIE
    return False


def _packed(path: Path) -> Path:
    """Cache of archives, shared by all tests of this run: our own runtime takes seconds."""
    folder = path.parent / "packed"
    folder.mkdir(exist_ok=True)
    return folder


def instances_up(stats: TopologyStats | None) -> int:
    """How many instances a master's numbers have; 0 without."""
    return 0 if stats is None else sum(each.up for each in stats.components.values())


class Standalone:
    """A private Spark master and workers, each as large as declared."""

    def __init__(
        self, folder: Path, environment: dict[str, str], spark: str, hosts: tuple[str, ...]
    ) -> None:
        self._folder = folder
        self._spark = spark
        self._environment = environment
        self.home = Path(environment["HERONPY_HOME"])
        """HERONPY_HOME of processes on the workers."""
        self._temporary = Path(environment["TMPDIR"])
        self._started: list[subprocess.Popen[bytes]] = []
        with socket.socket() as sock:
            sock.bind(("", 0))
            port = sock.getsockname()[1]
        # The name of this machine, not 127.0.0.1: workers may be anywhere then.
        self.host = socket.gethostname()
        self._hosts = hosts
        self.url = f"spark://{self.host}:{port}"
        self._port = port

    def start(self, workers: int) -> None:
        """The master, and registered workers."""
        page = ("--webui-port", "0")
        self._java("master", "master.Master", "--host", self.host, *page, "--port", self._port)
        self._until_told("master", "Starting Spark master at")
        for number in range(workers):
            size = ("--cores", "32", "--memory", "2g", "-d", self._folder / f"work-{number}")
            host = self._hosts[number] if self._hosts else self.host
            self._java(f"worker-{number}", "worker.Worker", "--host", host, *page, *size, self.url)
        for number in range(workers):
            self._until_told(f"worker-{number}", "Successfully registered with master")

    def left(self) -> list[str]:
        """What topologies have left on the workers besides logs and unpacked archives."""
        return [each.name for each in self._temporary.glob("heron*")]

    def logs(self, name: str) -> Path:
        """Where the workers have a topology's logs."""
        return self.home / "topologies" / name / "logs"

    def _java(self, name: str, what: str, *words: object) -> None:
        program = Path(self._spark) / "bin" / "spark-class"
        with self._log(name).open("wb") as log:
            self._started.append(
                subprocess.Popen(
                    [program, f"org.apache.spark.deploy.{what}", *map(str, words)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=self._environment,
                    start_new_session=True,
                )
            )
        leftovers().add(session=self._started[-1].pid)

    def _log(self, name: str) -> Path:
        return self._folder / f"spark-{name}.txt"

    def _until_told(self, name: str, words: str) -> None:
        told = self._log(name)
        until(lambda: words in told.read_text("utf-8"), f"{name} says {words}", SPARK_SECS)

    def stop(self) -> None:
        """End all started processes."""
        for each in reversed(self._started):
            each.kill()
            each.wait()
            leftovers().discard(session=each.pid)


@contextmanager
def standalone(
    folder: Path, workers: int, home: str | None = None, hosts: tuple[str, ...] = ()
) -> Iterator[Standalone]:
    """A running standalone cluster on this machine, with workers independent of this checkout: with
    a separate home and without the tests' variables. `home`: another Spark's. `hosts`: for each
    worker instead of this machine's name, such as loopback addresses."""
    temporary = tempfile.mkdtemp(prefix="heron-test-")
    kept = {name: os.environ[name] for name in KEPT_BY_WORKERS if name in os.environ}
    places = {"HERONPY_HOME": str(folder / "home"), "TMPDIR": temporary}
    classes = "" if home else ClassArchive(find_java(), spark_home()).reading()
    options = {"SPARK_DAEMON_JAVA_OPTS": f"{JVM_OPTIONS} {classes}"}
    environment = {**kept, **places, **options, **java_home_for_spark(str(folder))}
    cluster = Standalone(folder, environment, home or spark_home(), hosts)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(temporary, ignore_errors=True)


def elsewhere(
    place: SparkPlace, cluster: Standalone, zookeeper: EmbeddedZooKeeper, python: object
) -> tuple[object, ...]:
    """The options of a run whose containers are on the cluster, as on remote machines: the tests'
    environment variables are sent along by hand."""
    results = f"spark.executorEnv.TEST_RESULTS={place.results_folder}"
    return ("--scheduler", "spark", "--master", cluster.url, "--python", python,
            "--zookeeper", zookeeper.address, "--spark-config", results)  # fmt: skip


def bare_python(folder: Path) -> Path:
    """A Python of this version without installed packages."""
    command = [sys.executable, "-m", "venv", "--without-pip", "--copies", str(folder)]
    subprocess.run(command, check=True)
    return folder / "bin" / "python"
