"""A real ZooKeeper for tests and `--zookeeper embedded`, from the jars of pyspark.

One server on loopback, ready in about a second. The server ends with this process, also after kill
-9.
"""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType

from heron_core.errors import StateStoreError
from heron_io.java import find_java
from heron_io.state_store.opening import DEFAULT_ROOT

SERVING_TIMEOUT_SECS = 30.0  # a second on an idle machine; a loaded one took ten
SERVING_POLL_SECS = 0.02
STOP_TIMEOUT_SECS = 5.0
ANSWER_TIMEOUT_SECS = 1.0
PORT_ATTEMPTS_MAX = 5  # another process may take a free port before the server does
TICK_MS = 500  # sessions may be as short as two ticks

REMEDY = "pip install 'heronpy-topologies[spark]'"
JARS = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "commons-io-*.jar",
    "slf4j-api-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
    "netty-*.jar",  # for TLS alone
)
JAVA_OPTIONS = (
    "-Xmx128m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dzookeeper.forceSync=no",  # a power cut may cost the last writes, a kill -9 does not
    "-Dzookeeper.preAllocSize=1024",  # KB; the usual 64 MB for each log are for servers
)
# The child requests the signal, which survives exec; a preexec_fn of Popen would run Python
# between fork and exec of a process with threads, and may deadlock.
_DIE_WITH_PARENT = """
import ctypes, os, sys
PR_SET_PDEATHSIG = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(sys.argv[2]))
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent was gone before the server could start")
os.execv(sys.argv[3], sys.argv[3:])
"""


class EmbeddedZooKeeper:
    """A ZooKeeper server with data, log and configuration in `data_dir`.

    A restarted server has the address and data of before.
    """

    def __init__(
        self, data_dir: str | Path, settings: str = "", java_options: tuple[str, ...] = ()
    ) -> None:
        """`settings`: further lines of the configuration; further options of Java."""
        self._directory = Path(data_dir)
        self._settings = settings
        self._java_options = (*JAVA_OPTIONS, *java_options)
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._supervisor: threading.Thread | None = None

    def __enter__(self) -> "EmbeddedZooKeeper":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def address(self) -> str:
        """ "127.0.0.1:PORT", known after the start."""
        return f"127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The URL for `open_store`."""
        return f"zk://{self.address}{DEFAULT_ROOT}"

    @property
    def pid(self) -> int | None:
        """The server's process id; None for a stopped server."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the server and wait until it serves; StateStoreError or JavaMissing, with the
        remedy, after a failure."""
        if self._process is not None:
            return
        java = find_java()
        classpath = find_classpath()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for _ in range(1 if self._port else PORT_ATTEMPTS_MAX):
            port = self._port or _free_port()
            self._launch(java, classpath, port)
            if self._wait_until_serving(port):
                self._port = port
                return
            self.stop()
        log = self._directory / "zookeeper.log"
        raise StateStoreError(f"the embedded ZooKeeper does not start: see {log}")

    def stop(self) -> None:
        """End the server and wait for its end; without effect on a stopped server."""
        process, supervisor = self._process, self._supervisor
        if process is None or supervisor is None:
            return
        process.terminate()
        supervisor.join(STOP_TIMEOUT_SECS)
        if supervisor.is_alive():
            process.kill()
            supervisor.join()
        self._process = self._supervisor = None

    def _launch(self, java: str, classpath: str, port: int) -> None:
        config = self._directory / "zoo.cfg"
        config.write_text(_config(self._directory / "data", port) + self._settings)
        command = [
            *(sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT),
            *(str(os.getpid()), str(int(signal.SIGKILL))),
            *(java, *self._java_options, "-cp", classpath),
            *("org.apache.zookeeper.server.ZooKeeperServerMain", str(config)),
        ]
        launched = threading.Event()
        failures: list[OSError] = []

        def supervise() -> None:
            # The kernel sends the parent-death signal at the end of the forking *thread*, so the
            # thread has to live as long as the server.
            try:
                with (self._directory / "zookeeper.log").open("ab") as log:
                    self._process = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                    )
            except OSError as error:
                failures.append(error)
                return
            finally:
                launched.set()
            self._process.wait()

        self._supervisor = threading.Thread(target=supervise, name="ZooKeeper", daemon=True)
        self._supervisor.start()
        launched.wait()
        if failures:
            raise StateStoreError(f"cannot start the embedded ZooKeeper: {failures[0]}")

    def _wait_until_serving(self, port: int) -> bool:
        """False if the server ended or did not serve in time."""
        supervisor = self._supervisor
        assert supervisor is not None, "launched before"
        deadline = time.monotonic() + SERVING_TIMEOUT_SECS
        while supervisor.is_alive() and time.monotonic() < deadline:
            if _is_serving(port):
                return supervisor.is_alive()  # else another server has the port
            supervisor.join(SERVING_POLL_SECS)
        return False


def find_classpath() -> str:
    """The server's jars, from the installed pyspark, without an import of pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise StateStoreError(f"the embedded ZooKeeper needs the jars of pyspark: {REMEDY}")
    folder = Path(spec.origin).parent / "jars"
    found = [jar for pattern in JARS for jar in sorted(folder.glob(pattern))]
    if not any(jar.name.startswith("zookeeper-jute") for jar in found):
        raise StateStoreError(f"no ZooKeeper jars in {folder}: reinstall pyspark with {REMEDY}")
    return os.pathsep.join(map(str, found))


def _config(data: Path, port: int) -> str:
    return (
        f"tickTime={TICK_MS}\n"
        f"dataDir={data}\n"
        "clientPortAddress=127.0.0.1\n"
        f"clientPort={port}\n"
        "maxSessionTimeout=60000\n"
        "maxClientCnxns=0\n"  # the default of 60 for one address is below a topology's processes
        "admin.enableServer=false\n"
        "4lw.commands.whitelist=*\n"
        "autopurge.purgeInterval=1\n"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _is_serving(port: int) -> bool:
    """Whether the answer to srvr has a mode; ruok is answered before the database is loaded."""
    try:
        with socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_SECS) as connection:
            connection.sendall(b"srvr")
            answer = b""
            while chunk := connection.recv(4096):
                answer += chunk
    except OSError:
        return False
    return b"Mode: " in answer
