"""Processes: fork a child that cannot outlive its parent, stop children gracefully.

A child is ended in three ways, from gentle to certain: SIGTERM; the lifeline, a pipe whose other
end only the parent holds, so a read ends with the parent, in whatever way the parent died; and on
Linux the kernel's parent-death signal.
"""

import ctypes
import functools
import itertools
import os
import pwd
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

from msgspec import Struct
from setproctitle import setproctitle

from heron_core.exit_codes import ExitCode
from heron_core.supervision import (
    HEARTBEAT,
    HEARTBEAT_SECS,
    RELOAD,
    UP,
    encode_message,
    encode_reason,
)
from heron_io.waker import Waker

PR_SET_PDEATHSIG = 1
HEARTBEAT_THREAD_SECS = 1.0


class SupervisorLink(Struct):
    """A child's connection with its supervisor: a lifeline to read, a status pipe to report on."""

    lifeline: int
    """File descriptor that is readable once the parent is gone."""
    status_pipe: int | None = None
    """Non-blocking pipe for the messages of heron_core.supervision."""
    predecessor: str = ""
    """How the predecessor of this process ended (heron_core.exit_codes.describe_end); empty for the
    first process."""
    outlook: str = ""
    """Number of previous processes that ended in a row, and time of the next start
    (heron_core.algorithms.backoff); empty for the first ones."""
    next_try_secs: float = 0.0
    """Pause before the next process; 0 for the first ones."""
    next_heartbeat_at: float = 0.0
    _is_up: bool = False
    _unsent: bytes = b""
    """The rest of a message for which the pipe had no room."""

    def heartbeat(self) -> None:
        """Report that the process is alive; without effect shortly after another heartbeat.

        An unfinished message is continued first: no other byte may be in the middle of a message.
        """
        if self._unsent:
            self._flush()
            return
        now = time.monotonic()
        if now >= self.next_heartbeat_at:
            self.next_heartbeat_at = now + HEARTBEAT_SECS
            self._write(HEARTBEAT)

    def came_up(self) -> None:
        """Report that the process works; without effect after the first report."""
        if not self._is_up:
            self._is_up = True
            self._write(UP)

    def request_reload(self) -> None:
        """Report that the plan has changed."""
        self._write(RELOAD)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the new plan; heartbeats continue a message for which the pipe has no room now.

        For a process that sends its heartbeats in the same thread. ProtocolError for a message
        above the supervisors' limit.
        """
        if self.status_pipe is not None:
            self._unsent += encode_message(message)
            self._flush()

    def report(self, reason: str) -> None:
        """Report why this process ends."""
        self._write(encode_reason(reason))

    def _flush(self) -> None:
        assert self.status_pipe is not None
        try:
            sent = os.write(self.status_pipe, self._unsent)
        except BlockingIOError:  # full: the supervisor has not read the beginning yet
            return
        except OSError:  # nobody reads any more
            sent = len(self._unsent)
        self._unsent = self._unsent[sent:]

    def _write(self, data: bytes) -> None:
        if self._unsent:
            self._flush()
        if self.status_pipe is not None and not self._unsent:
            try:
                os.write(self.status_pipe, data)
            except OSError:  # full or nobody reads: the supervisor has other things to do
                pass


def start_heartbeat_thread(
    link: SupervisorLink, interval_secs: float = HEARTBEAT_THREAD_SECS
) -> Callable[[], None]:
    """Start a thread that sends heartbeats independently of the main thread, and ends the process
    with its parent. Returns a function that stops the thread: afterwards the caller has both
    duties.
    """
    stopped = Waker()

    def run() -> None:
        poll = select.poll()
        for number in (link.lifeline, stopped.readable):
            poll.register(number, select.POLLIN)
        link.heartbeat()
        while not (ready := poll.poll(int(interval_secs * 1000))):
            link.heartbeat()
        if link.lifeline in dict(ready):
            os._exit(ExitCode.ORPHANED)

    def stop() -> None:
        stopped.wake()
        thread.join()
        stopped.close()

    thread = threading.Thread(target=run, name="heartbeat", daemon=True)
    thread.start()
    return stop


class ForkedChild(Struct, frozen=True):
    """A forked child with our end of its lifeline: closing our end informs the child of our end."""

    pid: int
    lifeline: int


class ChildToFork(Struct, frozen=True):
    """Properties of a new child."""

    title: str
    """Name of the process in ps."""
    main: Callable[[int], int]
    """Is called with the file descriptor of the lifeline, and returns the exit code."""
    killed_with_parent: bool


def fork_child(title: str, main: Callable[[int], int], *, killed_with_parent: bool) -> ForkedChild:
    """Fork a process that runs `main(lifeline file descriptor)` and exits with the returned code.

    `title` is the name of the process in ps. Fork only from a process with one thread and no zmq
    context.
    """
    return fork_children([ChildToFork(title, main, killed_with_parent)])[0]


def fork_children(wanted: Sequence[ChildToFork]) -> list[ForkedChild]:
    """Fork several children as `fork_child` does, in quick succession.

    A page written by this process between two forks is not shared between children, so everything
    needed by the children is made before the first fork, and the loop does little else than fork.
    """
    ours = os.getpid()
    lifelines = [os.pipe() for _ in wanted]
    pids = [0] * len(wanted)
    _prctl()
    sys.stdout.flush()
    sys.stderr.flush()
    fork = os.fork
    for number in range(len(wanted)):
        pid = fork()
        if not pid:
            _live(wanted[number], ours, lifelines, number)
        pids[number] = pid
    for theirs, _ in lifelines:
        os.close(theirs)
    return [ForkedChild(pid, lifeline) for pid, (_, lifeline) in zip(pids, lifelines, strict=True)]


def _live(
    child: ChildToFork, parent: int, lifelines: Sequence[tuple[int, int]], number: int
) -> NoReturn:
    """All of a child's life; the child keeps only its own lifeline's end."""
    try:
        mine = lifelines[number][0]
        for end in itertools.chain.from_iterable(lifelines):
            if end != mine:
                os.close(end)
        _become(child.title)
        if child.killed_with_parent:
            die_with_parent(parent)
        code = child.main(mine)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else ExitCode.FAILED
    except BaseException:
        import traceback

        traceback.print_exc()
        code = ExitCode.FAILED
    _exit_now(code)


def _become(title: str) -> None:
    setproctitle(title)
    signal.set_wakeup_fd(-1)
    for each in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(each, signal.SIG_DFL)
    catch_signals((signal.SIGHUP,), signal.SIG_DFL)
    # Ctrl-C reaches every process of the terminal; only the command line answers it, in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def catch_signals(numbers: Sequence[signal.Signals], handler: Any) -> dict[signal.Signals, Any]:
    """Install `handler` for these signals; returns the previous handlers. An ignored SIGHUP stays
    ignored: started by nohup, a run and all of its processes outlive the terminal."""
    before = {each: signal.getsignal(each) for each in numbers}
    if before.get(signal.SIGHUP) is signal.SIG_IGN:
        del before[signal.SIGHUP]
    for each in before:
        signal.signal(each, handler)
    return before


def _exit_now(code: int) -> NoReturn:
    """Leave without the parent's atexit handlers and buffered files."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.close()  # the last line may have no end, and is one all the same
        except Exception:
            pass
    os._exit(code)


def die_with_parent(parent: int) -> None:
    """Ask the kernel to SIGKILL this process when its parent dies (Linux; elsewhere a lifeline)."""
    if sys.platform != "linux":
        return
    _prctl()(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died between fork and prctl
        os._exit(ExitCode.ORPHANED)


@functools.cache
def _prctl() -> Callable[[int, int], int]:
    """prctl(2), found once by the parent: ctypes makes classes for the call, in pages of each
    child."""
    if sys.platform != "linux":
        return lambda option, argument: -1
    return cast(Callable[[int, int], int], ctypes.CDLL(None, use_errno=True).prctl)


def raise_file_limit() -> None:
    """Raise the limit of open files to the hard limit: the usual 1,024 are few for connections, and
    a stranger with as many connections would lock out everyone else.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # macOS has a lower limit than it says
            pass


def user_name() -> str:
    """Name of the process's user, or the user's number without a name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return os.environ.get("USER") or str(os.getuid())


def signal_process(pid: int, number: int) -> bool:
    """Send a signal; False if the process is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def started_at(pid: int) -> str | None:
    """A word that distinguishes the process from a later one with an equal pid; None if the process
    is gone.
    """
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
