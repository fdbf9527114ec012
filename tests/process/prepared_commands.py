"""Commands of heronpy, forked by the prepared Python of tests/process/prepared_python.py.

A new Python is started where imports would see other variables of the environment, and for the
first call of each command in a process of the tests: this call fails if an import is missing.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import BinaryIO, Protocol

from tests.process import prepared_python
from tests.process.prepared_python import ENDED, SIGNALS

SEEN_BY_IMPORTS = ("PYTHON", "HERONPY_", "LD_", "LC_", "LANG", "TZ", "MALLOC", "ASAN_", "UBSAN_")
"""Beginnings of the variables read by Python at its start, or by heronpy at an import."""
READ_BY_COMMANDS = {"HERONPY_HOME", "HERONPY_INSECURE", "HERONPY_ZOOKEEPER"}
"""Of these variables, the ones read by a running command."""
KILLED = -signal.SIGKILL


class Process(Protocol):
    """The part of a command's process for tests."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...
    def send_signal(self, sig: int, /) -> None: ...


class Used:
    """Seconds of a core, used by ended commands: they are not children of the tests."""

    secs = 0.0


class Forked:
    """A command, forked by the prepared Python."""

    def __init__(self, pid: int, end: int) -> None:
        self.pid = pid
        self._end, self._watch = end, select.poll()
        self._watch.register(end, select.POLLIN)
        self._turn = threading.Lock()
        self._code: int | None = None

    def poll(self) -> int | None:
        """Exit code; None until the end."""
        return self._ended_within(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Exit code; TimeoutExpired after so many seconds."""
        code = self._ended_within(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"heronpy (pid {self.pid})", timeout or 0.0)
        return code

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, sig: int) -> None:
        """Without effect after the end."""
        if self.poll() is None:
            os.kill(self.pid, sig)

    def _ended_within(self, secs: float | None) -> int | None:
        if self._code is None and self._watch.poll(None if secs is None else secs * 1000):
            with self._turn:  # of threads with the same end in view
                self._read_end()
        return self._code

    def _read_end(self) -> None:
        if self._code is not None:
            return
        told = os.read(self._end, ENDED.size)
        os.close(self._end)
        # Without a word the prepared Python was killed, and its commands with it.
        self._code, secs_used = ENDED.unpack(told) if told else (KILLED, 0.0)
        Used.secs += secs_used


class Prepared:
    """The process of the prepared Python."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, prepared_python.__file__],
                stdin=theirs.fileno(),
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
                start_new_session=True,
            )
        self._socket, self._turn = ours, threading.Lock()

    def start(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        environment: dict[str, str],
        output: BinaryIO,
        errors: BinaryIO,
    ) -> Forked:
        """A command."""
        ignored = [each for each in SIGNALS if signal.getsignal(each) is signal.SIG_IGN]
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": environment,
            "ignored": ignored,
        }
        end, told = os.pipe()
        data = json.dumps(request).encode()
        with self._turn:
            socket.send_fds(self._socket, [data], [output.fileno(), errors.fileno(), told])
            os.close(told)
            pid = int(self._socket.recv(64))
        return Forked(pid, end)

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.wait()


@cache
def prepared() -> Prepared:
    """The prepared Python of this process."""
    made = Prepared()
    atexit.register(made.close)
    return made


_begun: set[str] = set()
"""Commands with a Python of their own so far."""


def start_command(
    arguments: tuple[str, ...],
    folder: Path,
    environment: dict[str, str],
    output: BinaryIO,
    errors: BinaryIO,
) -> Process:
    """Start `python -m heron_cli`, in a session of its own."""
    command = next(iter(arguments), "")
    if command in _begun and _is_seen_the_same(environment) and hasattr(os, "pidfd_open"):
        return prepared().start(arguments, folder, environment, output, errors)
    _begun.add(command)
    return subprocess.Popen(
        [sys.executable, "-m", "heron_cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )


def _is_seen_the_same(environment: dict[str, str]) -> bool:
    """Whether an import would see the variables of the prepared Python."""
    ours = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return _seen(environment) == _seen(ours)


def _seen(environment: dict[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(SEEN_BY_IMPORTS) and name not in READ_BY_COMMANDS
    }
