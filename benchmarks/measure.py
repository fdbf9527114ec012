"""Run one command as a process tree and measure its wall time, CPU and memory.

How the CPU of a whole tree is counted (Linux only):

1. The measuring process becomes a child subreaper (prctl PR_SET_CHILD_SUBREAPER), so all
   descendants of the command stay below: orphans, and daemons detached by setsid and a double fork,
   become children of the measuring process.
2. At any instant the CPU used so far is the sum over all live descendants of utime + stime (their
   own) + cutime + cstime (children they have waited for), from /proc/PID/stat, plus the rusage of
   every process that the measuring process itself reaped with wait4.
3. A parent that ignores SIGCHLD makes the kernel drop its children's times. So each process is also
   polled and its last own time is kept. Both sums can only be too low; the larger sum counts.

The main figure, `cpu_seconds`, is the difference between the mark "first" and the mark "last" (see
workload.py), which excludes imports, start-up and shutdown of every contender; the whole life is
`cpu_seconds_total`. /proc counts in ticks of 10 ms, so a run should last some seconds. Memory is
the highest sum of PSS (/proc/PID/smaps_rollup: shared pages are divided among the sharing
processes), polled every half second.
"""

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

PR_SET_CHILD_SUBREAPER = 36
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# How stale the polled CPU of a process can be when it disappears; a poll costs about 2 ms of CPU.
POLL_SECONDS = 0.2
# smaps_rollup walks the page tables of the measured process, so it is read seldom.
MEMORY_POLL_SECONDS = 0.5
# Time for remaining processes to end after the command, before a kill.
LEFTOVER_SECONDS = 5.0
# A process started or reaped during a sample invalidates the sample, which is repeated.
SAMPLE_ATTEMPTS = 5
# How many lines of output an error message quotes.
QUOTED_LINES = 15


class BenchmarkError(Exception):
    """A run without a figure: names the contender and quotes its final output."""


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run of one contender; all `_seconds` as floats, memory in bytes."""

    name: str
    tuples: int
    wall_seconds: float
    cpu_seconds: float
    cpu_seconds_total: float
    startup_seconds: float
    peak_pss_bytes: int
    checkpoints: int = 0
    """How many were completed meanwhile."""

    @property
    def tuples_per_second(self) -> float:
        """Tuples per second of wall time between the marks."""
        return self.tuples / self.wall_seconds

    @property
    def cpu_seconds_per_million(self) -> float:
        """CPU-seconds of the whole tree between the marks, per million tuples."""
        return self.cpu_seconds / self.tuples * 1e6


@dataclass(frozen=True, slots=True)
class ProcessTimes:
    """CPU time of one process: its own, and its reaped children's, in seconds."""

    parent: int
    started_ticks: int
    own_seconds: float
    reaped_seconds: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark as printed: CLOCK_MONOTONIC seconds, and the CPU of the tree when it was read."""

    at_seconds: float
    cpu_seconds: float


class ProcessTree:
    """All descendants of this process, including dead ones; create one object per run."""

    def __init__(self) -> None:
        become_subreaper()
        self.returncodes: dict[int, int] = {}
        self._reaped_seconds = 0.0
        self._last_own: dict[tuple[int, int], float] = {}
        self._peak_cpu_seconds = 0.0

    def reap(self) -> None:
        """Wait for whatever has ended, without blocking, and add its CPU."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                self.returncodes[pid] = os.waitstatus_to_exitcode(status)
                self._reaped_seconds += usage.ru_utime + usage.ru_stime

    def cpu_seconds(self) -> float:
        """CPU of every process so far, dead or alive; never less than it was before."""
        times = steady_times()
        for pid, one in times.items():
            self._last_own[pid, one.started_ticks] = one.own_seconds
        living = sum(one.own_seconds + one.reaped_seconds for one in times.values())
        counted = max(living + self._reaped_seconds, sum(self._last_own.values()))
        self._peak_cpu_seconds = max(self._peak_cpu_seconds, counted)
        return self._peak_cpu_seconds

    def pss_bytes(self) -> int:
        """PSS of all living processes."""
        return sum(process_pss_bytes(pid) for pid in descendants())

    def kill(self) -> list[int]:
        """Kill the remaining processes; returns their ids."""
        killed: list[int] = []
        while alive := living_descendants():
            for pid in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                killed.append(pid)
            time.sleep(POLL_SECONDS)
            self.reap()
        return killed


@dataclass(slots=True)
class Output:
    """Output of the program so far: marks, result and last lines."""

    marks: dict[str, Mark] = field(default_factory=dict)
    result: dict[str, Any] | None = None
    others: list[str] = field(default_factory=list)

    def take(self, line: str, tree: ProcessTree) -> None:
        """Sort one line in; a mark samples the CPU at once."""
        record = json_object(line)
        if "mark" in record:
            self._take_mark(record["mark"], Mark(float(record["at"]), tree.cpu_seconds()))
        elif "tuples" in record:
            self.result = record
        else:
            self.others = [*self.others[-QUOTED_LINES:], line]

    def _take_mark(self, name: str, mark: Mark) -> None:
        known = self.marks.get(name)
        later = known is not None and mark.at_seconds > known.at_seconds
        if known is None or later == (name == "last"):
            self.marks[name] = mark


def measure(
    name: str,
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    timeout_seconds: float = 120.0,
) -> Run:
    """Run the command to its end and measure it.

    `environment` is added to the present one. Raises BenchmarkError for a failed command, missing
    marks or result, a timeout, or remaining processes. Meanwhile the process must neither start nor
    wait for further children.
    """
    tree = ProcessTree()
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=directory,
            env={**os.environ, **(environment or {})},
        )
        try:
            output, peak_pss_bytes = watch(process, tree, started + timeout_seconds)
            leftovers = wait_for_leftovers(tree)
        finally:
            tree.kill()
            # The tree has reaped the process, so Popen must neither wait nor warn.
            process.returncode = tree.returncodes.get(process.pid, -signal.SIGKILL)
        problem = failure(process.returncode, output, leftovers)
        if problem:
            raise BenchmarkError(f"{name}: {problem}\n{final_output(output, errors)}")
    first, last = output.marks["first"], output.marks["last"]
    assert output.result is not None
    return Run(
        name=name,
        tuples=int(output.result["tuples"]),
        wall_seconds=last.at_seconds - first.at_seconds,
        cpu_seconds=last.cpu_seconds - first.cpu_seconds,
        cpu_seconds_total=tree.cpu_seconds(),
        startup_seconds=first.at_seconds - started,
        peak_pss_bytes=peak_pss_bytes,
        checkpoints=int(output.result.get("checkpoints", 0)),
    )


def watch(
    process: "subprocess.Popen[bytes]", tree: ProcessTree, deadline: float
) -> tuple[Output, int]:
    """Read the output and poll the tree until the process has ended; returns the peak PSS too."""
    output = Output()
    peak_pss_bytes = 0
    memory_due = 0.0
    assert process.stdout is not None
    with process.stdout as pipe:
        lines = LineReader(pipe)
        while process.pid not in tree.returncodes:
            for line in lines.wait(POLL_SECONDS):
                output.take(line, tree)
            tree.cpu_seconds()
            if time.monotonic() >= memory_due:
                peak_pss_bytes = max(peak_pss_bytes, tree.pss_bytes())
                memory_due = time.monotonic() + MEMORY_POLL_SECONDS
            if time.monotonic() > deadline:
                tree.kill()
                output.others.append("(took too long and was killed)")
            tree.reap()
        # The output before the end is in the pipe by now.
        for line in lines.wait(0.0):
            output.take(line, tree)
    return output, peak_pss_bytes


class LineReader:
    """Whole lines of a pipe, without blocking for longer than asked."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._descriptor = pipe.fileno()
        self._partial = b""
        self._open = True
        os.set_blocking(self._descriptor, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._descriptor, selectors.EVENT_READ)

    def wait(self, timeout_seconds: float) -> Iterator[str]:
        """Complete lines, after a wait for the first of at most `timeout_seconds`."""
        if not self._open:
            # The writer has closed the pipe: only the end of the process is left to wait for.
            time.sleep(timeout_seconds)
            return
        self._selector.select(timeout_seconds)
        while chunk := self._read():
            *lines, self._partial = (self._partial + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")

    def _read(self) -> bytes:
        try:
            chunk = os.read(self._descriptor, 65536)
        except BlockingIOError:
            return b""
        self._open = bool(chunk)
        return chunk


def wait_for_leftovers(tree: ProcessTree) -> list[int]:
    """Give orphans time to end; returns the ids of killed processes."""
    deadline = time.monotonic() + LEFTOVER_SECONDS
    while living_descendants() and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        tree.cpu_seconds()
        tree.reap()
    return tree.kill()


def failure(returncode: int, output: Output, leftovers: list[int]) -> str | None:
    """Why the run has no figure, or None."""
    if returncode:
        return f"ended with status {returncode}"
    if leftovers:
        return f"left {len(leftovers)} processes running"
    if missing := {"first", "last"} - output.marks.keys():
        return f"printed no mark {' and no mark '.join(sorted(missing))}"
    if output.result is None:
        return "printed no result line"
    return None


def final_output(output: Output, errors: IO[str]) -> str:
    """The end of its output and of its errors, for a person to read."""
    errors.seek(0)
    return "\n".join(output.others + errors.read().splitlines()[-QUOTED_LINES:])


def json_object(line: str) -> dict[str, Any]:
    """The JSON object on the line; empty for a line of another kind."""
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def become_subreaper() -> None:
    """Make orphans below this process its children instead of init's; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER) failed")


def process_times(pid: int) -> ProcessTimes | None:
    """Times of one process, None after its end; a zombie still has its times."""
    fields = stat_fields(pid)
    if fields is None:
        return None
    user, system, reaped_user, reaped_system = map(int, fields[11:15])
    return ProcessTimes(
        parent=int(fields[1]),
        started_ticks=int(fields[19]),
        own_seconds=(user + system) / TICKS_PER_SECOND,
        reaped_seconds=(reaped_user + reaped_system) / TICKS_PER_SECOND,
    )


def stat_fields(pid: int) -> list[str] | None:
    """/proc/PID/stat behind the name, which may hold spaces: state, parent and so on."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def descendants() -> set[int]:
    """Process ids of everything below this process, zombies included."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and (fields := stat_fields(int(entry))):
            children.setdefault(int(fields[1]), []).append(int(entry))
    found: set[int] = set()
    unseen = [os.getpid()]
    while unseen:
        below = children.get(unseen.pop(), [])
        found.update(below)
        unseen.extend(below)
    return found


def living_descendants() -> set[int]:
    """Process ids of all running descendants."""
    states = ((pid, stat_fields(pid)) for pid in descendants())
    return {pid for pid, fields in states if fields and fields[0] not in "ZX"}


def steady_times() -> dict[int, ProcessTimes]:
    """Times of all descendants, if possible without a birth or death meanwhile.

    Otherwise a child reaped between two reads would be counted twice, with its parent.
    """
    times: dict[int, ProcessTimes] = {}
    for _ in range(SAMPLE_ATTEMPTS):
        before = descendants()
        read = {pid: process_times(pid) for pid in before}
        times = {pid: one for pid, one in read.items() if one is not None}
        if times.keys() == descendants():
            break
    return times


def process_pss_bytes(pid: int) -> int:
    """PSS of one process, 0 after its end."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
