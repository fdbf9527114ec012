"""Shell commands beside a container, on request of a user (`heronpy run-on-all`).

A thread follows each command, so the loop of the process does not wait. A command has its own
session: at its end or deadline all its processes are killed. The beginning of the output is kept.
"""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from heron_core.config import environment
from heron_core.topology import TopologySpec
from heron_core.wire.messages import RunShell, ShellRan

if TYPE_CHECKING:
    import subprocess

AT_ONCE_MAX = 4
"""Of one container: users type commands one after the other."""
POLL_SECS = 0.1
"""Between two checks of a silent command."""
READ_BYTES = 65_536
KILLED_SECS = 5.0
"""For the end of a killed shell."""
SHELL = "/bin/sh"


def shell_variables(topology: TopologySpec, logs: str) -> dict[str, str]:
    """Environment of commands: the variables of the components, name and logs of the topology."""
    own = {"HERONPY_TOPOLOGY": topology.name, "HERONPY_LOGS": logs}
    return {**environment(topology.config), **own}


class ShellCommands:
    """Commands beside one container."""

    def __init__(self, container: int, variables: Mapping[str, str]) -> None:
        """`variables` are added to the environment of the process."""
        self._container = container
        self._environment = {**variables, "HERONPY_CONTAINER": str(container)}
        self._ended: SimpleQueue[ShellRan] = SimpleQueue()
        self._running = 0

    def start(self, request: RunShell) -> None:
        """Begin a command; `ended` has its result."""
        if self._running >= AT_ONCE_MAX:
            error = f"{AT_ONCE_MAX} commands run here already: wait until they end"
            self._put(request, error=error)
            return
        self._running += 1
        threading.Thread(
            target=self._run, args=(request,), name=f"shell {request.run}", daemon=True
        ).start()

    def ended(self) -> list[ShellRan]:
        """Results of the commands ended since the last call."""
        results = []
        with suppress(Empty):
            while True:
                results.append(self._ended.get_nowait())
        return results

    def _run(self, request: RunShell) -> None:
        import subprocess  # most containers never run a command

        try:
            process = subprocess.Popen(
                [SHELL, "-c", request.command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._environment},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a zero byte in the command
            self._put(request, error=f"{SHELL} was not started: {error}")
        else:
            with process:
                output = _Output(request.bytes_max)
                is_late = not _followed(process, output, time.monotonic() + request.secs)
                _kill_all(process)
                code = process.wait(KILLED_SECS)
            self._put(request, code, output, is_late=is_late)
        finally:
            self._running -= 1

    def _put(
        self,
        request: RunShell,
        code: int = 0,
        output: "_Output | None" = None,
        *,
        is_late: bool = False,
        error: str = "",
    ) -> None:
        text, dropped = ("", 0) if output is None else (output.text, output.dropped)
        code = code if code >= 0 else 128 - code
        self._ended.put(
            ShellRan(
                self._container, request.run, socket.gethostname(), code, text, dropped,
                is_late, error,
            )
        )  # fmt: skip


class _Output:
    """The first bytes of an output."""

    def __init__(self, bytes_max: int) -> None:
        self._left = bytes_max
        self._pieces: list[bytes] = []
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Retain the beginning, count the rest."""
        begin = data[: self._left]
        self._left -= len(begin)
        self.dropped += len(data) - len(begin)
        self._pieces.append(begin)

    @property
    def text(self) -> str:
        """As UTF-8, with replacements for other bytes."""
        return b"".join(self._pieces).decode("utf-8", "replace")


def _followed(process: "subprocess.Popen[bytes]", output: _Output, deadline: float) -> bool:
    """Read until the shell has ended; False at the deadline."""
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    os.set_blocking(pipe, False)
    is_open = True
    while (left_secs := deadline - time.monotonic()) > 0:
        has_ended = process.poll() is not None
        readable, _, _ = select.select([pipe] if is_open else [], [], [], 0 if has_ended else
                                       min(left_secs, POLL_SECS))  # fmt: skip
        data = os.read(pipe, READ_BYTES) if readable else b""
        output.add(data)
        is_open &= bool(data) or not readable
        if has_ended and not data:  # processes in the background may keep the pipe open
            return True
    return False


def _kill_all(process: "subprocess.Popen[bytes]") -> None:
    """The shell and its processes in the background."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
