"""Processes: fork a child that cannot outlive its parent, end children in order.

A child is ended in three ways, from gentle to certain: SIGTERM; the lifeline, a pipe whose other
end only its parent holds, so that reading it ends when the parent does, however it died; and on
Linux the kernel's parent-death signal.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from setproctitle import setproctitle

PR_SET_PDEATHSIG = 1
EXIT_FAILED = 1
PULSE_MS = 1000
BEAT = b"\0"
RELOAD = b"\1"
"""On a voice: the plan has changed, look at it again (a topology is scaled while it runs)."""
REASON_BYTES_MAX = 4096
"""What a child may say about its end; a pipe holds more, so writing it never blocks."""
EXIT_SUPERSEDED = 6
"""Exit code of a process that another one has replaced while it was stopped."""
EXIT_ORPHANED = 70
"""Exit code of a process whose parent died (EX_SOFTWARE of sysexits.h)."""


@dataclass(slots=True)
class SupervisorLink:
    """A child's ties to its supervisor: a lifeline to read, a voice to beat and speak on."""

    lifeline: int
    """File descriptor that is readable once the parent is gone."""
    voice: int | None = None
    """Non-blocking pipe: a zero byte is a heartbeat, a one asks to look at the plan again, anything
    else is the reason of the end."""
    next_beat: float = 0.0

    def beat(self) -> None:
        """Say that this process is alive; does nothing if it just did."""
        now = time.monotonic()
        if now >= self.next_beat:
            self.next_beat = now + PULSE_MS / 2000
            self._write(BEAT)

    def reload(self) -> None:
        """Say that the plan has changed."""
        self._write(RELOAD)

    def say(self, text: str) -> None:
        """Say why this process ends."""
        self._write(text.encode("utf-8", "replace")[:REASON_BYTES_MAX])

    def _write(self, data: bytes) -> None:
        if self.voice is not None:
            try:
                os.write(self.voice, data)
            except OSError:  # full or nobody reads: the supervisor has other things to do
                pass


def start_pulse(ties: SupervisorLink) -> None:
    """A thread that beats whatever the main thread does, and ends the process with its parent."""

    def pulse() -> None:
        poll = select.poll()
        poll.register(ties.lifeline, select.POLLIN)
        while not poll.poll(PULSE_MS):
            ties.beat()
        os._exit(EXIT_ORPHANED)

    threading.Thread(target=pulse, name="pulse", daemon=True).start()


@dataclass(frozen=True, slots=True)
class Child:
    """A forked child and our end of its lifeline: closing it tells the child that we are gone."""

    pid: int
    lifeline: int


def fork_child(title: str, main: Callable[[int], int], *, killed_with_parent: bool) -> Child:
    """Fork a process that runs `main(lifeline file descriptor)` and exits with what it returns.

    `title` is what ps shows. Fork only from a process with one thread and no zmq context.
    """
    ours = os.getpid()
    theirs, lifeline = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return Child(pid, lifeline)
    try:
        os.close(lifeline)
        _become(title)
        if killed_with_parent:
            die_with_parent(ours)
        code = main(theirs)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else EXIT_FAILED
    except BaseException:
        import traceback

        traceback.print_exc()
        code = EXIT_FAILED
    return _exit_now(code)


def _become(title: str) -> None:
    setproctitle(title)
    signal.set_wakeup_fd(-1)
    for each in (signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    # Ctrl-C reaches every process of the terminal; only the command line answers it, in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _exit_now(code: int) -> NoReturn:
    """Leave without the parent's atexit handlers and buffered files."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(code)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to SIGKILL this process when its parent dies (Linux; elsewhere a lifeline)."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died between fork and prctl
        os._exit(EXIT_ORPHANED)


def signal_process(pid: int, number: int) -> bool:
    """Send a signal; False if there is no such process any more."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def started_at(pid: int) -> str | None:
    """A word that tells this process from a later one with the same pid; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        if os.path.isdir("/proc/self"):
            return None
        return "unknown" if signal_process(pid, 0) else None  # no /proc: trust the pid
    return None if fields[0] in "ZX" else fields[19]


def parent_of(pid: int) -> int | None:
    """The pid of a process's parent; None if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        if os.path.isdir("/proc/self"):
            return None
    done = subprocess.run(
        ["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return int(done.stdout) if done.stdout.strip() else None


class Waker:
    """Wakes a poll from another thread or a signal handler: a pipe that is readable once woken."""

    def __init__(self) -> None:
        self.readable, self._writable = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_open = True

    def wake(self) -> None:
        """Make the pipe readable; any number of calls before `clear` count as one."""
        try:
            os.write(self._writable, b"!")
        except BlockingIOError:
            pass

    def clear(self) -> None:
        """Take what was written."""
        try:
            while len(os.read(self.readable, 4096)) == 4096:
                pass
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Give its file descriptors back; nobody may wake it any more. A second call is none."""
        if self._is_open:
            self._is_open = False
            os.close(self.readable)
            os.close(self._writable)

    @property
    def signal_fd(self) -> int:
        """For signal.set_wakeup_fd."""
        return self._writable
