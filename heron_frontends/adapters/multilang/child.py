"""A child process with pipes, and the guard that kills the child after any end of the instance.

The guard is a shell. It leads the child's process group and waits on a pipe whose only writer is
the instance's process. After the end of the instance, even by kill -9, the guard kills the group,
including processes started by the child. The child writes its pid file into a folder of its own.
The instance removes the folder at the child's first message after the pid, so a later kill -9
leaves no folder behind.
"""

import logging
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from heron_frontends.adapters.child_pipes import OutputLines, PendingInput, exit_text
from heron_frontends.adapters.multilang.programs import find_program, why_not
from heron_frontends.adapters.multilang.protocol import Message, MultilangCodec
from heron_frontends.adapters.multilang.settings import ShellSettings

READ_BYTES = 65536
"""What a pipe holds."""
EXIT_SECS = 1.0
"""Time for a stopping child, or a child with closed stdout, to exit by itself."""
STDERR_SECS = 1.0
"""Time to read the rest of stderr: a grandchild outside of the group may hold stderr open."""
_GUARD = "trap '' HUP INT TERM; read gone; kill -9 0"


@dataclass(frozen=True, slots=True)
class ChildExit:
    """How a child ended."""

    pid: int
    how: str
    lines: tuple[str, ...]
    """The last lines on its stderr."""
    lived_secs: float

    @property
    def last_line(self) -> str:
        """Last line of the child's stderr as ": text", or an empty text."""
        return next((f": {line}" for line in reversed(self.lines) if line.strip()), "")


class _Guard:
    """See the module's first lines."""

    def __init__(self, label: str) -> None:
        theirs, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _GUARD, f"heron: guard of {label}"],
                stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                process_group=0,
            )  # fmt: skip
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(theirs)
        self.group = self._process.pid
        self._lock = threading.Lock()
        self._gone = False

    def kill_group(self) -> None:
        """SIGKILL for the child, its children and the guard; from any thread."""
        with self._lock:  # once the guard is reaped, its pid may be anybody's
            if not self._gone:
                # Some systems refuse it when all of the group are dead and not reaped yet.
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.group, signal.SIGKILL)

    def end(self) -> None:
        """Kill the group and let go of it."""
        self.kill_group()
        with self._lock:
            self._gone = True
            self._process.wait()
        os.close(self._lifeline)


class ShellChild:
    """One run of the program. `put` and `write` are for the main thread, `kill` for any."""

    def __init__(
        self, settings: ShellSettings, codec: MultilangCodec, logger: logging.Logger
    ) -> None:
        """Starts the program; ComponentError if it cannot be started."""
        command = find_program(settings)
        self.codec = codec
        self.started_at = time.monotonic()
        self._cause: str | None = None
        self._guard = _Guard(settings.component)
        self.pid_dir = tempfile.mkdtemp(prefix="heron-shell-")
        try:
            self._process = subprocess.Popen(
                command, cwd=settings.directory, env=settings.environment, bufsize=0,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                process_group=self._guard.group,
            )  # fmt: skip
        except OSError as error:
            self._guard.end()
            self.remove_pid_dir()
            raise why_not(settings, command[0], error) from None
        self.pid = self._process.pid
        self._stdin, self._stdout = _open(self._process.stdin), _open(self._process.stdout)
        self.stdin, self.stdout = self._stdin.fileno(), self._stdout.fileno()
        os.set_blocking(self.stdin, False)
        self._input = PendingInput(self.stdin)
        label = f"{os.path.basename(command[0])}[{self.pid}]"
        self._stderr = OutputLines(_open(self._process.stderr), logger, f"{label} stderr")
        self._stderr.start()
        self.label = label

    def put(self, data: bytes) -> None:
        """Have `data` written by the next `write`."""
        self._input.put(data)

    def say(self, message: Message | list[int]) -> None:
        """`put` a message."""
        self._input.put(self.codec.encode(message))

    def write(self) -> bool:
        """Write as much as the pipe takes without waiting; whether nothing is left."""
        try:
            return self._input.write()
        except OSError:  # it ends, or it must: nothing can reach it any more
            self.kill("closed its stdin")
            return True

    @property
    def unwritten(self) -> bool:
        """Whether `write` has something to do."""
        return self._input.is_left

    def read(self) -> list[Message] | None:
        """Read the available messages, waiting for the first; None at the end of stdout.

        ProtocolError if the output can no longer be parsed.
        """
        data = os.read(self.stdout, READ_BYTES)
        return self.codec.feed(data) if data else None

    @property
    def has_exited(self) -> bool:
        """Whether the child is dead, though another process may hold its stdout open."""
        return self._process.poll() is not None

    def kill(self, cause: str) -> None:
        """Kill the child and its process group; `cause` says why, unless the child is
        already dead.
        """
        if self._process.poll() is None:
            self._cause = self._cause or cause
        self._guard.kill_group()

    def close_stdin(self) -> None:
        """Close its stdin: a child in good order exits by itself."""
        self._stdin.close()

    def remove_pid_dir(self) -> None:
        """Remove the folder of the pid file, which has been read."""
        shutil.rmtree(self.pid_dir, ignore_errors=True)

    def reap(self) -> ChildExit:
        """After the end of stdout: wait for the exit or force it, then remove all remains.

        Call once, from one thread.
        """
        try:
            self._process.wait(EXIT_SECS)
        except subprocess.TimeoutExpired:
            self._cause = self._cause or "closed its stdout"
        lived_secs = time.monotonic() - self.started_at
        self._guard.end()
        code = self._process.wait()
        self._stderr.join(STDERR_SECS)
        for stream in (self._stdin, self._stdout):
            stream.close()
        if not self._stderr.is_alive():
            _open(self._process.stderr).close()
        self.remove_pid_dir()
        how = exit_text(code, self._cause)
        return ChildExit(self.pid, how, tuple(self._stderr.kept), lived_secs)


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None, "every stream of the child is a pipe"
    return stream
