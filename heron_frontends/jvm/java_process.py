"""Process of a JVM: pipes, output lines, end.

Frames have pipes of their own, opened by path in the JVM, because a JVM and user code write to
stdout and stderr; each line of stdout and stderr goes to the log. The JVM ends at the end of its
input, and so does not outlive the instance.
"""

import logging
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from heron_core.errors import ComponentError
from heron_frontends.adapters.child_pipes import OutputLines, PendingInput, exit_text
from heron_frontends.jvm.frames import Frame, FrameReader

READ_BYTES = 1 << 18
EXIT_SECS = 3.0
_AFTERWORDS = ("Error: A fatal exception has occurred", "Error: Could not create the Java")
"""Text that a JVM appends to the reason of a failed start."""


class JavaProcess:
    """One JVM. `send` is for the main thread, `read` for one thread, `kill` for any."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        logger: logging.Logger,
        label: str,
    ) -> None:
        """Start the JVM; ComponentError if the start fails."""
        theirs_in, self._write = os.pipe()
        self._read, theirs_out = os.pipe()
        paths = (f"/dev/fd/{theirs_in}", f"/dev/fd/{theirs_out}")
        try:
            self._process = subprocess.Popen(
                [*command, *paths], cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
                pass_fds=(theirs_in, theirs_out), process_group=0,
            )  # fmt: skip
        except OSError as error:
            os.close(self._write)
            os.close(self._read)
            raise ComponentError(f"{label}: {command[0]} cannot be started: {error}") from None
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        os.set_blocking(self._write, False)
        os.set_blocking(self._read, False)
        self.pid = self._process.pid
        self._frames = FrameReader()
        self._input = PendingInput(self._write)
        self._cause = ""
        stdout = self._process.stdout
        assert stdout is not None, "its stdout is a pipe"
        self._stdout = stdout
        self._lines = OutputLines(stdout, logger, f"java[{self.pid}]", with_levels=True)
        self._lines.start()

    def put(self, data: bytes) -> None:
        """Have `data` written by the next `write`."""
        self._input.put(data)

    def write(self) -> bool:
        """Write as much as the pipe takes without waiting; whether nothing is left."""
        try:
            return self._input.write()
        except BrokenPipeError:  # it has ended, which its reader sees, too
            return True

    @property
    def unwritten(self) -> bool:
        """Whether `write` has something to do."""
        return self._input.is_left

    @property
    def write_end(self) -> int:
        """For a poll of whether the pipe takes more."""
        return self._input.descriptor

    def wait(self, secs: float) -> bool:
        """Wait for data to read; True for data, or the end of the pipe."""
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        return bool(poll.poll(secs * 1000))

    def read(self) -> list[Frame] | None:
        """Frames that have arrived; None at the end of the pipe. ValueError for an unreadable
        frame.
        """
        try:
            data = os.read(self._read, READ_BYTES)
        except BlockingIOError:
            return []
        return self._frames.feed(data) if data else None

    @property
    def has_exited(self) -> bool:
        """Whether the JVM is dead, though a process started by the JVM may hold the pipes open."""
        return self._process.poll() is not None

    def kill(self, cause: str) -> None:
        """Send SIGKILL to the JVM and its process group; `cause` says why, unless already dead."""
        if self._process.poll() is None:
            self._cause = self._cause or cause
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def reap(self) -> str:
        """Wait for the exit or force it; returns the kind of end with the last output. Call
        once.
        """
        deadline = time.monotonic() + EXIT_SECS
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, deadline - time.monotonic()))
        self.kill("closed its pipe but did not end")
        code = self._process.wait()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what it started
        self._lines.join(1.0)
        os.close(self._write)
        os.close(self._read)
        if not self._lines.is_alive():
            self._stdout.close()
        lines = (line for line in reversed(self._lines.kept) if line.strip())
        last = next((line for line in lines if not line.startswith(_AFTERWORDS)), "")
        how = exit_text(code, self._cause)
        return f"{how}: {last}" if last else how
