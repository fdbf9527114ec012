"""A child process with its pipes, and the guard that ends it with us, whatever kills us.

The guard is a shell that leads the child's process group and waits on a pipe that we alone hold
open: when we are gone, even by kill -9, it kills the group, so that what the child itself started
goes with it. The child writes its pid file into a folder of its own, which is removed as soon as
the child has said more than its pid: a kill -9 then leaves no folder behind either.
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
"""A child whose stdout ended, or that is to end, may take this long to exit by itself."""
STDERR_SECS = 1.0
"""For the rest of stderr to be read: a grandchild that left the group may hold it open."""
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
        """What it said last, as ": text", or nothing."""
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
        """Read what is there, or wait for it; None at the end of its stdout.

        ProtocolError if what it writes cannot be understood any more.
        """
        data = os.read(self.stdout, READ_BYTES)
        return self.codec.feed(data) if data else None

    @property
    def has_exited(self) -> bool:
        """Whether it is dead, though another process may hold its stdout open."""
        return self._process.poll() is not None

    def kill(self, cause: str) -> None:
        """End it and whatever it started; `cause` says what it did, unless it is dead anyway."""
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
        """After the end of its stdout: wait for its exit, or force it; nothing of it is left.

        Call it once, from one thread.
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
