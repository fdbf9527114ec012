"""Runs one container, `python -m scheduler.container`, on a machine of any cluster.

The container is tied to its agent three times: by a pipe at stdin that closes with the agent, by
the kernel's parent-death signal, and by its status pipe at stdout. So a container never outlives
its agent, and a silent container is killed. Consequences of a container's end are decided
elsewhere.

In Spark's workers the agent runs before a runtime is unpacked: standard library only.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from heron_core.errors import ProtocolError
from heron_core.supervision import STATUS_PIPE_BYTES, StatusReader
from heron_core.transition_log import TransitionLog
from heron_engine.scheduler.container.agent_core import (
    POLL_SECS,
    AgentChildEnded,
    AgentCore,
    AgentHeartbeat,
    AgentKill,
    AgentPhase,
    AgentTimer,
    ContainerEnd,
    Event,
    KillRequested,
    StopRequested,
)
from heron_io.waker import Waker

REAP_SECS = 2.0
"""Wait for the end of a process after the end of the status pipe."""


class ContainerAgent:
    """One container of the packing plan, and its process."""

    def __init__(
        self,
        arguments: Sequence[str],
        silent_secs: float,
        *,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
    ) -> None:
        """`arguments` are those of scheduler.container; without an environment or a working
        directory it has the agent's. Nothing is started yet."""
        self._arguments = list(arguments)
        self._silent_secs = silent_secs
        self._environment = environment
        self._folder = folder
        self._waker = Waker()
        self._watched: dict[int, Callable[[], None]] = {}
        self._status = StatusReader()
        self._stop_reason: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._core = AgentCore(time.monotonic(), silent_secs)

    @property
    def silence_secs(self) -> float:
        """Silence of the container in seconds, or time without a start."""
        return time.monotonic() - self._core.heard_at

    def transition_log(self) -> TransitionLog:
        """Log of recent decisions, with reasons."""
        return self._core.transition_log()

    def watch(self, number: int, handle: Callable[[], None]) -> None:
        """Call `handle` when the file descriptor is readable during a wait."""
        self._watched[number] = handle

    def unwatch(self, number: int) -> None:
        """Stop watching the descriptor."""
        del self._watched[number]

    def stop(self, reason: str) -> None:
        """Have the container end in order; for any thread and any signal handler."""
        if self._stop_reason is None:
            self._stop_reason = reason
        self._waker.wake()

    def kill(self, reason: str) -> None:
        """Have the container end at once."""
        self._handle(KillRequested(reason))

    def run(self) -> ContainerEnd:
        """Run the container from start to end; not started if already stopped."""
        if self._stop_reason is not None:
            return ContainerEnd(0, "", 0.0, self._stop_reason)
        self.start()
        try:
            while (end := self.wait(POLL_SECS)) is None:
                pass
        finally:
            self.close()
        return end

    def start(self) -> None:
        """Start the container's process; OSError if that cannot be."""
        self._core = AgentCore(time.monotonic(), self._silent_secs)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "heron_engine.scheduler.container", *self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            cwd=self._folder,
        )

    def wait(self, timeout_secs: float) -> ContainerEnd | None:
        """Wait for the container's end, a readable descriptor, a call of `stop`, or the timeout;
        returns the end if ended."""
        status_pipe = self._status_pipe
        poll = select.poll()
        for number in (status_pipe, self._waker.readable, *self._watched):
            poll.register(number, select.POLLIN)
        ready = {number for number, _ in poll.poll(int(timeout_secs * 1000))}
        self._waker.clear()
        for number in ready & self._watched.keys():
            self._watched[number]()
        if self._stop_reason is not None and self._core.phase is AgentPhase.RUNNING:
            self._handle(StopRequested(self._stop_reason))
        closed = status_pipe in ready and not self._read_status()
        if closed or self._was_killed:
            self._handle(AgentChildEnded(self._reap(), self._status.reason))
        else:
            self._handle(AgentTimer())
        return self._core.end

    def close(self) -> None:
        """Kill the process if still running, and close its pipes."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _handle(self, event: Event) -> None:
        assert self._process is not None
        for instruction in self._core.handle(event, time.monotonic()):
            if isinstance(instruction, AgentKill):
                self._process.kill()
            else:
                self._process.terminate()

    @property
    def _status_pipe(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _read_status(self) -> bool:
        """Read the container's status; False once its status pipe is closed."""
        data = os.read(self._status_pipe, STATUS_PIPE_BYTES)
        self._handle(AgentHeartbeat())
        try:
            self._status.feed(data)
        except ProtocolError as error:
            self.kill(f"its status pipe has {error}, and it was killed")
        return bool(data)

    @property
    def _was_killed(self) -> bool:
        """Whether the container ended by a kill: its descendants may keep the pipe open."""
        assert self._process is not None
        return self._core.phase is AgentPhase.KILLED and self._process.poll() is not None

    def _reap(self) -> int:
        """Its status pipe is closed, so it has ended or is about to."""
        assert self._process is not None
        try:
            code = self._process.wait(REAP_SECS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self.close()
        return code
