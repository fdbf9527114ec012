"""Messages of shell commands beside containers: the request, and the result of a host."""

from msgspec import Struct

from heron_core.wire.field_types import Whole


class RunShell(Struct, frozen=True, array_like=True, tag=True):
    """From the master to a stream manager: run a shell command beside the container for at most so
    many seconds, and report at most so many bytes of its output."""

    run: Whole
    command: str
    secs: Whole
    bytes_max: Whole


class ShellRan(Struct, frozen=True, array_like=True, tag=True):
    """The result of RunShell on the host of a container."""

    container: Whole
    run: Whole
    host: str
    code: Whole = 0
    """The exit code; 128 and the number of a signal for a killed shell."""
    output: str = ""
    """The first bytes of stdout and stderr."""
    dropped_bytes: Whole = 0
    is_late: bool = False
    """Whether the command was killed because its time was over."""
    error: str = ""
    """Why the command did not run; empty for a command that ran."""
