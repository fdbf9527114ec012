"""Polls one descriptor for input, in a thread that keeps the interpreter.

Each system call of Python's modules, `select.poll` included, releases the interpreter for its
duration. A poll lasts a microsecond, too short for a waiting thread to wake up. Yet each release
restarts the 5 ms after the end of which Python interrupts the running thread. So a busy thread
with a poll every millisecond would keep all other threads from running (measured: 40 ms).
"""

import ctypes
import functools
import select
from collections.abc import Callable
from typing import Any


class _Descriptor(ctypes.Structure):
    """`struct pollfd` of poll(2)."""

    _fields_ = (
        ("fd", ctypes.c_int),
        ("events", ctypes.c_short),
        ("revents", ctypes.c_short),
    )


@functools.cache
def _poll() -> Callable[..., int]:
    """poll(2); functions of a `PyDLL` are called without a release of the interpreter."""
    found: Any = ctypes.PyDLL(None).poll
    return found  # type: ignore[no-any-return]


class InputPoll:
    """Polls without a wait; for one thread."""

    def __init__(self) -> None:
        self._descriptor = _Descriptor(-1, select.POLLIN, 0)
        self._poll = functools.partial(_poll(), ctypes.byref(self._descriptor), 1, 0)

    def has_input(self, descriptor: int) -> bool:
        """Whether bytes or the end of the connection can be read; False for a negative one."""
        self._descriptor.fd = descriptor
        return self._poll() > 0
