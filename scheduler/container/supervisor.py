"""Runs a few child processes: starts them, restarts those that end by the policy, ends all.

The loop of the executor (children: stream manager and instances) and of the local scheduler
(children: executors). It has one thread and no zmq context, because it forks: a child starts from
this warm process within milliseconds, with everything imported.
"""

import logging
import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from heron_core.algorithms.backoff import RestartPolicy
from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.supervision import HEARTBEAT, REASON_BYTES_MAX, RELOAD, STATUS_PIPE_BYTES
from heron_io.processes import (
    Child,
    SupervisorLink,
    Waker,
    fork_child,
    signal_process,
)

log = logging.getLogger("supervisor")

POLL_SECS = 1.0
"""Between two heartbeats of our own."""
RELOAD_RETRY_SECS = 1.0
"""After a reload that failed: the state store may be away."""


@dataclass(frozen=True, slots=True)
class Job:
    """A process to run: its name, what it runs, how long it gets to end in order."""

    name: str
    title: str
    main: Callable[[SupervisorLink], int]
    """Runs in the child; returns its exit code."""
    grace_secs: float
    killed_with_parent: bool
    final_codes: frozenset[int] = frozenset()
    """Exit codes after which it is not started again: they end the supervisor as well."""


@dataclass(slots=True)
class Running:
    """A job and its process, if it has one now."""

    job: Job
    policy: RestartPolicy
    child: Child | None = None
    voice: int = -1
    """Our end of the child's voice."""
    started: float = 0.0
    heard: float = 0.0
    """When it last beat."""
    start_at: float = 0.0
    last_words: str = ""
    leaving: bool = False
    """Its job is no longer wanted: it is told to end, and not started again."""
    kill_at: float = float("inf")
    """When one that leaves has had its time to end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a supervisor ended: the exit code for its own process, and why."""

    code: int
    reason: str


@dataclass
class Supervisor:
    """The children of this process."""

    jobs: Sequence[Job]
    ties: SupervisorLink
    """To our own supervisor."""
    restart_limit: int
    gave_up_code: int
    silent_secs: float
    """A child that does not beat for so long is stuck or stopped: it is killed and replaced."""
    reload: Callable[[], Sequence[Job]] | None = None
    """Called when a child says RELOAD: the jobs that are wanted from now on, told apart by their
    names. New ones are started, others than these ended in order, those that stay run on. What it
    raises as HeronError is logged, and it is called again a moment later."""
    _waker: Waker = field(default_factory=Waker)
    _running: list[Running] = field(default_factory=list)
    _outcome: Outcome | None = None
    _reload_at: float = float("inf")

    def run(self) -> Outcome:
        """Keep all jobs running until SIGTERM, the parent's death, or a job's final end."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self.end(Outcome(0, "SIGTERM")))
        signal.set_wakeup_fd(self._waker.signal_fd, warn_on_full_buffer=False)
        self._running = [Running(job, RestartPolicy(self.restart_limit)) for job in self.jobs]
        for each in self._running:
            self._start(each)
        while self._outcome is None:
            self._wait(self._timeout_secs())
            self.ties.beat()
            self._reap()
            self._kill_silent()
            self._kill_late()
            self._reload_due()
            self._start_due()
        self._end_all()
        return self._outcome

    def end(self, outcome: Outcome) -> None:
        """End the loop; the first outcome counts."""
        if self._outcome is None:
            self._outcome = outcome

    def _wait(self, timeout_secs: float) -> None:
        """Until a child ends or beats, our parent ends, or the time is over."""
        poll = select.poll()
        voices = {each.voice: each for each in self._running if each.child is not None}
        for number in (self.ties.lifeline, self._waker.readable, *voices):
            poll.register(number, select.POLLIN)
        ready = {number for number, _ in poll.poll(max(0, int(timeout_secs * 1000) + 1))}
        self._waker.clear()
        if self.ties.lifeline in ready:
            self.end(Outcome(ExitCode.ORPHANED, "the parent process is gone"))
        for number in ready & set(voices):
            self._hear(voices[number])

    def _timeout_secs(self) -> float:
        now = time.monotonic()
        due = [each.start_at - now for each in self._running if each.child is None]
        leaving = [each.kill_at - now for each in self._running]
        return min([POLL_SECS, self._reload_at - now, *due, *leaving])

    def _hear(self, each: Running) -> None:
        """Take in what a child's voice holds: heartbeats, RELOAD, and its last words."""
        try:
            data = os.read(each.voice, STATUS_PIPE_BYTES)
        except BlockingIOError:
            return
        each.heard = time.monotonic()
        if RELOAD in data:
            self._reload_at = each.heard
        words = data.replace(HEARTBEAT, b"").replace(RELOAD, b"").decode("utf-8", "replace")
        each.last_words = (each.last_words + words).strip()[:REASON_BYTES_MAX]

    def _reload_due(self) -> None:
        """A child said RELOAD: the jobs may be others now."""
        if self.reload is None or self._outcome is not None or self._reload_at > time.monotonic():
            return
        self._reload_at = float("inf")
        try:
            self.jobs = self.reload()
        except HeronError as error:
            log.warning("the new plan cannot be read yet: %s", error)
            self._reload_at = time.monotonic() + RELOAD_RETRY_SECS
            return
        wanted = {job.name: job for job in self.jobs}
        for each in [each for each in self._running if not each.leaving]:
            if each.job.name in wanted:
                each.job = wanted[each.job.name]
            else:
                self._let_go(each)
        self._take_new()

    def _take_new(self) -> None:
        """Wanted jobs that have no entry yet; who is still leaving has to be gone first."""
        known = {each.job.name for each in self._running}
        self._running.extend(
            Running(job, RestartPolicy(self.restart_limit))
            for job in self.jobs
            if job.name not in known
        )

    def _let_go(self, each: Running) -> None:
        log.info("%s is not needed any more", each.job.name)
        if each.child is None:
            self._running.remove(each)
            return
        each.leaving = True
        each.kill_at = time.monotonic() + each.job.grace_secs
        signal_process(each.child.pid, signal.SIGTERM)

    def _kill_late(self) -> None:
        """Whoever was to end and has not in its time."""
        now = time.monotonic()
        for each in self._running:
            if each.child is not None and each.kill_at <= now:
                log.warning("%s does not end: killed", each.job.name)
                each.kill_at = float("inf")
                signal_process(each.child.pid, signal.SIGKILL)

    def _kill_silent(self) -> None:
        now = time.monotonic()
        for each in self._running:
            if each.child is not None and now - each.heard > self.silent_secs:
                log.warning("%s is silent for %.0f s: killed", each.job.name, self.silent_secs)
                each.last_words = f"it was silent for {self.silent_secs:g} s, and was killed"
                each.heard = now
                signal_process(each.child.pid, signal.SIGKILL)

    def _start(self, each: Running) -> None:
        voice, theirs = os.pipe2(os.O_NONBLOCK)
        job = each.job
        closing = [other.child.lifeline for other in self._running if other.child is not None]

        def main(lifeline: int) -> int:
            # A sibling's lifeline must end with our parent, not with us.
            for number in (*closing, voice, self.ties.lifeline):
                os.close(number)
            return job.main(SupervisorLink(lifeline, theirs))

        each.child = fork_child(job.title, main, killed_with_parent=job.killed_with_parent)
        os.close(theirs)
        each.voice = voice
        each.last_words = ""
        each.started = each.heard = time.monotonic()
        log.info("started %s, pid %d", job.name, each.child.pid)

    def _start_due(self) -> None:
        now = time.monotonic()
        for each in self._running:
            if self._outcome is None and each.child is None and each.start_at <= now:
                self._start(each)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for each in list(self._running):
                if each.child is not None and each.child.pid == pid:
                    self._ended(each, os.waitstatus_to_exitcode(status))

    def _ended(self, each: Running, code: int) -> None:
        self._hear(each)
        self._forget_child(each)
        told = f": {each.last_words}" if each.last_words else ""
        log.info("%s ended with %d%s", each.job.name, code, told)
        if self._outcome is not None:
            return
        if each.leaving:
            self._running.remove(each)
            self._take_new()
            return
        if code in each.job.final_codes:
            self.end(Outcome(code, each.last_words))
            return
        now = time.monotonic()
        pause = each.policy.pause_secs(now - each.started)
        if pause is None:
            words = each.last_words or f"its last exit code was {code}"
            text = f"{each.job.name} ended {each.policy.failures} times in a row: {words}"
            self.end(Outcome(self.gave_up_code, text))
            return
        each.start_at = now + pause

    @staticmethod
    def _forget_child(each: Running) -> None:
        assert each.child is not None
        os.close(each.voice)
        os.close(each.child.lifeline)
        each.child = None

    def _end_all(self) -> None:
        """SIGTERM to all but the first, then to the first (instances end before their stream
        manager); whoever is not gone in time is killed."""
        self._end_some(self._running[1:])
        self._end_some(self._running[:1])

    def _end_some(self, some: Sequence[Running]) -> None:
        alive = [each for each in some if each.child is not None]
        for each in alive:
            signal_process(_pid(each), signal.SIGTERM)
        deadline = time.monotonic() + max((each.job.grace_secs for each in alive), default=0.0)
        while any(each.child for each in alive):
            left = deadline - time.monotonic()
            if left <= 0:
                for each in alive:
                    if each.child is not None:
                        log.warning("%s does not end: killed", each.job.name)
                        signal_process(_pid(each), signal.SIGKILL)
                deadline = float("inf")
            select.select([self._waker.readable], [], [], min(max(left, 0.0), 0.1))
            self._waker.clear()
            self.ties.beat()
            self._reap()


def _pid(each: Running) -> int:
    assert each.child is not None
    return each.child.pid
