"""Real servers as processes of their own on free ports of 127.0.0.1, and their configuration."""

import json
import os
import random
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from heron_io.java import find_java
from tests.process.process_support import until

START_SECS = 120.0
"""Three Java servers at once take ten seconds on two idle cores."""
GONE_SECS = 15.0
PORTS = range(20000, 32000)
"""Below the range of client ports: a client could take a server's port before its start."""
LOG_TAIL = 3000
"""Characters of a log that show why its server ended."""
JAVA_OPTIONS = (
    "-Xmx192m",
    "-XX:TieredStopAtLevel=1",
    # A fifth of what their start takes; from the source of their dependencies.
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
    "-XX:+UseSerialGC",
    "-Djava.net.preferIPv4Stack=true",
)
LOGGING = """\
log4j.rootLogger=INFO, console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


def free_ports(count: int) -> list[int]:
    """Distinct ports of this machine without a listener."""
    with ExitStack() as opened:
        found: list[int] = []
        while len(found) < count:
            port = random.choice(PORTS)
            probe = opened.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind(("127.0.0.1", port))
                found.append(port)
        return found


def answers(port: int) -> bool:
    """Whether a port of this machine has a listener."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Servers:
    """Java servers of one folder of jars, all ended with the tests.

    In their folder, `conf` is on their class path and NAME.log has their output.
    """

    def __init__(
        self,
        folder: Path,
        jars: Path,
        java_options: Sequence[str] = (),
        environment: Mapping[str, str] = {},
    ) -> None:
        self.folder = folder
        self.conf_dir = folder / "conf"
        for each in (self.conf_dir, folder / "tmp"):
            each.mkdir()
        (self.conf_dir / "log4j.properties").write_text(LOGGING)
        options = (*JAVA_OPTIONS, *java_options, f"-Djava.io.tmpdir={folder / 'tmp'}")
        self._java = (find_java(), *options, "-cp", f"{self.conf_dir}{os.pathsep}{jars}/*")
        self._environment = {**os.environ, **environment}
        self._running: dict[str, psutil.Process] = {}
        self._warden = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warden.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # Ctrl-C is for the tests; the warden sees that they end.
            start_new_session=True,
        )

    def start(self, name: str, *words: str, first: Sequence[str] = ()) -> None:
        """`java WORDS`, after `java FIRST` if that is given."""
        command = f"exec {shlex.join((*self._java, *words))}"
        if first:
            command = f"{shlex.join((*self._java, *first))} && {command}"
        order = {
            "command": ["/bin/sh", "-c", command],
            "environment": self._environment,
            "log": str(self._log(name)),
        }
        assert self._warden.stdin is not None
        assert self._warden.stdout is not None
        print(json.dumps(order), file=self._warden.stdin, flush=True)
        self._running[name] = psutil.Process(int(self._warden.stdout.readline()))

    def kill(self, name: str) -> None:
        """kill -9, and wait for the end."""
        process = self._running.pop(name)
        process.kill()
        until(lambda: not process.is_running(), f"{name} is killed", GONE_SECS)

    def is_started(self, name: str) -> bool:
        """Whether it was started, and not killed since."""
        return name in self._running

    def all_run(self) -> None:
        """AssertionError with the end of its log if a server has ended by itself."""
        for name, process in self._running.items():
            assert process.is_running(), f"{name} ended:\n{self.log(name)[-LOG_TAIL:]}"

    def log(self, name: str) -> str:
        """Output of a server so far."""
        return self._log(name).read_text("utf-8", "replace")

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def processes(self) -> list[psutil.Process]:
        """All live processes started here, directly or indirectly."""
        return psutil.Process(self._warden.pid).children(recursive=True)

    def stop(self) -> None:
        """Kill all servers and their descendants."""
        self._warden.communicate(timeout=GONE_SECS)
