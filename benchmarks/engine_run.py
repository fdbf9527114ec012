"""Runs a topology as users do, by the command `heronpy run`, and collects its reports."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.measure import BenchmarkError
from benchmarks.reports import SOCKET_KEY, Listener
from benchmarks.rounds import REPOSITORY

TOPOLOGIES = REPOSITORY / "benchmarks" / "topologies"
TIMEOUT_SECONDS = 110.0
"""A longer run hangs; below the limit of measure.py, whose report has no reason."""
LOOK_SECONDS = 0.2
"""How often a waiting program looks whether the command still runs."""
STOP_SECONDS = 15.0
"""Time for `heronpy run` to stop everything after a signal: its timeouts add up to 8 s."""
QUOTED_LINES = 20


class EngineRun:
    """One `heronpy run`, in a temporary home.

    `topology` names a file of benchmarks/topologies, `config` is passed with -o, `words` unchanged.
    Leaving the context stops a running command.
    """

    def __init__(
        self,
        topology: str,
        config: Mapping[str, Any],
        *,
        until_done: bool = True,
        words: Sequence[str] = (),
        module: str = "heron_cli",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`module` is the command's; `environment`: variables besides the present ones."""
        self._folder = tempfile.TemporaryDirectory(prefix="heronpy-benchmark-")
        self._listener = Listener(os.path.join(self._folder.name, "reports.sock"))
        self._errors = Path(self._folder.name, "stderr.txt")
        settings = {SOCKET_KEY: self._listener.path, **config}
        self._command = [*_command(topology, settings, until_done, module), *words]
        self._variables = environment or {}
        self.started_at = 0.0
        """CLOCK_MONOTONIC seconds just before the command was started."""
        self._process: subprocess.Popen[bytes]

    @property
    def home(self) -> Path:
        """Where the topology's state and logs are."""
        return Path(self._folder.name, "home")

    @property
    def is_running(self) -> bool:
        """Whether the command has not ended yet."""
        return self._process.poll() is None

    def __enter__(self) -> "EngineRun":
        with self._errors.open("wb") as errors:
            self.started_at = time.monotonic()
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                cwd=REPOSITORY,
                env={**_environment(self._folder.name), **self._variables},
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._listener.close()
        self._folder.cleanup()

    def reports(self, timeout_seconds: float = TIMEOUT_SECONDS) -> Iterator[dict[str, Any]]:
        """Every report until the command has ended.

        BenchmarkError for a failed command or a timeout, quoting the command's output.
        """
        deadline = time.monotonic() + timeout_seconds
        while True:
            ended = self._process.poll() is not None
            # What was sent before the end is waiting in the socket by now.
            found = self._listener.receive(0.01 if ended else LOOK_SECONDS)
            if found is not None:
                yield found
            elif ended:
                self._check_end()
                return
            elif time.monotonic() > deadline:
                raise BenchmarkError(f"the engine did not end in time\n{self.final_output()}")

    def first(self, kind: str, number: int = 1) -> list[dict[str, Any]]:
        """The first reports of a kind, as many as asked for; BenchmarkError if they do not come."""
        found: list[dict[str, Any]] = []
        for each in self.reports():
            found += [each] if each["kind"] == kind else []
            if len(found) == number:
                return found
        raise BenchmarkError(f"{len(found)} of {number} {kind!r} came\n{self.final_output()}")

    def stop(self) -> None:
        """End the command as Ctrl-C does, if it still runs."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def final_output(self) -> str:
        """The end of what the command printed."""
        lines = self._errors.read_text("utf-8", "replace").splitlines()
        return "\n".join(lines[-QUOTED_LINES:])

    def _check_end(self) -> None:
        if self._process.returncode:
            code = self._process.returncode
            raise BenchmarkError(f"heronpy run ended with status {code}\n{self.final_output()}")


def _command(topology: str, config: Mapping[str, Any], until_done: bool, module: str) -> list[str]:
    options = [word for key, value in config.items() for word in ("-o", f"{key}={value}")]
    end = "--until-done" if until_done else "--keep-running"
    file = str(TOPOLOGIES / f"{topology}.py")
    return [sys.executable, "-m", module, "run", file, end, *options]


def _environment(home: str) -> dict[str, str]:
    """The present environment, with a temporary home and compiled modules as in an installation."""
    environment = {**os.environ, "HERONPY_HOME": os.path.join(home, "home")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment
