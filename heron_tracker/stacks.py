"""The Python stack of a running instance, by py-spy, where it is installed and may look."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heron_core.stats import InstanceStats
from heron_tracker.envelope import AGAIN, Unavailable
from heron_tracker.model.snapshot import TopologySnapshot
from heron_tracker.options import STACKS_AT_ONCE

PY_SPY = "py-spy"
STACK_SECS = 10.0
"""Typical duration: a tenth of a second."""
SAMPLES_PER_SEC = 50
"""Each stops the process for less than a millisecond."""
RECORD_SECS_MAX = 60
FOLDED_CHARACTERS_MAX = 4 * 1024 * 1024
NOT_INSTALLED = "py-spy is not installed where the service runs: `pip install py-spy`"
NOT_ALLOWED = (
    "the kernel does not let py-spy look into process {pid}: run the service as root, or "
    "`sysctl kernel.yama.ptrace_scope=0`, or in a container add the capability SYS_PTRACE"
)
_DENIED = ("permission denied", "operation not permitted", "ptrace")
_free = threading.Semaphore(STACKS_AT_ONCE)


def pid_answer(snapshot: TopologySnapshot, instance: InstanceStats) -> dict[str, Any]:
    """Heron's answer to the question for a process id."""
    if instance.pid is None:
        raise Unavailable(f"{instance.instance} of {snapshot.name} has not reported yet: {AGAIN}")
    host = snapshot.host_of(instance.container)
    return {"command": f"stats of {instance.instance} on {host}", "stdout": str(instance.pid),
            "stderr": ""}  # fmt: skip


def stack_answer(snapshot: TopologySnapshot, instance: InstanceStats) -> dict[str, Any]:
    """Heron's answer to the question for a stack; Unavailable says how to get one."""
    pid = _pid_here(snapshot, instance, "dump")
    with _one_of_few() as path:
        return _taken([path, "dump", "--pid", str(pid)], pid, STACK_SECS)


def folded_stacks(snapshot: TopologySnapshot, instance: InstanceStats, secs: int) -> str:
    """Its stacks over so many seconds, a line for each with the number of samples; Unavailable says
    how to get them."""
    pid = _pid_here(snapshot, instance, "record")
    with _one_of_few() as path, tempfile.TemporaryDirectory(prefix="heronpy-") as folder:
        file = os.path.join(folder, "stacks")
        command = [path, "record", "--pid", str(pid), "--duration", str(secs)]
        command += ["--rate", str(SAMPLES_PER_SEC), "--format", "raw", "--output", file]
        _taken(command, pid, secs + STACK_SECS)
        with open(file, encoding="utf-8", errors="replace") as stacks:
            return stacks.read(FOLDED_CHARACTERS_MAX)


def _pid_here(snapshot: TopologySnapshot, instance: InstanceStats, command: str) -> int:
    """Its process id; Unavailable on a different machine."""
    pid = int(pid_answer(snapshot, instance)["stdout"])
    host = snapshot.host_of(instance.container)
    if host != socket.gethostname():
        raise Unavailable(
            f"{instance.instance} runs on {host}: `py-spy {command} --pid {pid}` there"
        )
    return pid


def program() -> str:
    """py-spy's path; Unavailable if not installed."""
    found = shutil.which(PY_SPY, path=_search_path())
    if found is None:
        raise Unavailable(NOT_INSTALLED)
    return found


@contextmanager
def _one_of_few() -> Iterator[str]:
    """py-spy's path, while not too many of them run; Unavailable otherwise."""
    path = program()
    if not _free.acquire(blocking=False):
        raise Unavailable(f"{STACKS_AT_ONCE} stacks are being taken: try again")
    try:
        yield path
    finally:
        _free.release()


def _taken(command: list[str], pid: int, secs: float) -> dict[str, Any]:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=secs, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"py-spy has failed: {error}; try again, or run it on the host") from None
    return answer_of(command, pid, done.returncode, done.stdout, done.stderr)


def answer_of(command: list[str], pid: int, code: int, out: str, err: str) -> dict[str, Any]:
    """Meaning of py-spy's exit."""
    if code and any(word in err.lower() for word in _DENIED):
        raise Unavailable(NOT_ALLOWED.format(pid=pid))
    if code:
        lines = err.strip().splitlines()
        raise Unavailable(f"py-spy has failed: {lines[-1] if lines else f'exit code {code}'}")
    return {"command": " ".join(command), "stdout": out, "stderr": err}


def _search_path() -> str:
    """The programs beside this Python come first: a virtual environment need not be activated."""
    return os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
