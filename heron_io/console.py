"""What components print and log, from their processes to the command line of a foreground run.

All processes of a run write into one pipe. The kernel keeps a write whole only up to PIPE_BUF
bytes, so a line travels in chunks of at most that size, each with the number of its writer; the
reader puts the lines together.

A full pipe holds the writer up, as any pipe does, but not for ever: after WAIT_SECS without room
the command line is taken for stopped (Ctrl-Z). From then on lines are counted instead of shown, and
as soon as there is room again a line tells how many. The log of the process has all of them.
"""

import fcntl
import os
import select
import struct
import threading
import time
from collections.abc import Callable, Iterator
from enum import IntEnum

WAIT_SECS = 5.0
"""How long a line waits for room: longer than a command line with other things to do needs."""
PIPE_BYTES = 1024 * 1024
"""Linux's limit for users: what a chatty bolt prints while the command line asks for numbers."""
READ_BYTES = 65536
_HEAD = struct.Struct("<IHBB")
_WHOLE_BYTES = select.PIPE_BUF - _HEAD.size
_BEGINS = 1
"""The first chunk of a line: an unfinished one before it will never be finished."""
_ENDS = 2


class ConsoleStream(IntEnum):
    """Where the command line shows a line."""

    OUT = 1
    ERR = 2


def open_pipe() -> tuple[int, int]:
    """(reading end, writing end), neither of which ever blocks."""
    reading, writing = os.pipe2(os.O_NONBLOCK)
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)  # Linux only
    if set_size is not None:
        try:
            fcntl.fcntl(writing, set_size, PIPE_BYTES)
        except OSError:  # the user's pipes are limited, and the console's is equally large
            pass
    return reading, writing


class ConsoleWriter:
    """The end of one process."""

    def __init__(self, pipe: int, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`name` begins each line."""
        self._pipe: int | None = pipe
        self._number = int.from_bytes(os.urandom(4), "little")
        self._name = name
        self._clock = clock
        self._lock = threading.RLock()  # threads of user code print
        self._unshown = 0
        """Lines since the pipe was full for too long."""

    def line(self, stream: ConsoleStream, text: str) -> None:
        """Show a line, given without line end; may block for WAIT_SECS."""
        with self._lock:
            is_behind = self._unshown and not self._has_caught_up()
            if is_behind or not self._send(stream, text, WAIT_SECS):
                self._unshown += 1

    def close(self) -> None:
        """The process ends: it tells how many lines were not shown, if there is room."""
        with self._lock:
            if self._unshown:
                self._has_caught_up()

    def _has_caught_up(self) -> bool:
        text = (
            f"({self._unshown} lines skipped because the terminal was too slow; the log has all "
            "lines)"
        )
        if self._send(ConsoleStream.ERR, text, 0.0):
            self._unshown = 0
        return not self._unshown

    def _send(self, stream: ConsoleStream, text: str, wait_secs: float) -> bool:
        data = f"{self._name} | {text}".encode("utf-8", "backslashreplace")
        return all(self._put(chunk, wait_secs) for chunk in _chunks(self._number, stream, data))

    def _put(self, chunk: bytes, wait_secs: float) -> bool:
        """Write a chunk whole; False if there was no room for so long."""
        deadline = self._clock() + wait_secs
        while self._pipe is not None:
            try:
                os.write(self._pipe, chunk)
                return True
            except BlockingIOError:
                left = deadline - self._clock()
                if left <= 0:
                    return False
                select.select([], [self._pipe], [], left)
            except OSError:  # the run is over: the log has the line
                self._pipe = None
        return True


def _chunks(number: int, stream: ConsoleStream, data: bytes) -> Iterator[bytes]:
    for at in range(0, max(1, len(data)), _WHOLE_BYTES):
        part = data[at : at + _WHOLE_BYTES]
        flags = (_BEGINS if at == 0 else 0) | (_ENDS if at + _WHOLE_BYTES >= len(data) else 0)
        yield _HEAD.pack(number, len(part), stream, flags) + part


class ConsoleReader:
    """Lines out of the chunks of all writers."""

    def __init__(self) -> None:
        self._data = b""
        self._unfinished: dict[int, list[bytes]] = {}

    def feed(self, data: bytes) -> Iterator[tuple[ConsoleStream, str]]:
        """The lines completed by the latest read."""
        self._data += data
        at = 0
        while len(self._data) - at >= _HEAD.size:
            number, size, stream, flags = _HEAD.unpack_from(self._data, at)
            end = at + _HEAD.size + size
            if end > len(self._data):
                break
            line = self._line(number, self._data[at + _HEAD.size : end], flags)
            at = end
            if line is not None:
                yield ConsoleStream(stream), line
        self._data = self._data[at:]

    def _line(self, number: int, part: bytes, flags: int) -> str | None:
        parts = [] if flags & _BEGINS else self._unfinished.pop(number, [])
        parts.append(part)
        if flags & _ENDS:
            self._unfinished.pop(number, None)
            return b"".join(parts).decode("utf-8", "backslashreplace")
        self._unfinished[number] = parts
        return None
