"""Resets TCP connections of living processes, like `ss -K` and a firewall, with the rights of an
ordinary user over own processes: data under way in both directions is lost.
"""

import ctypes
import errno
import os
import socket
import struct
from contextlib import suppress

import psutil
import pytest

PIDFD_GETFD = 438
"""The number of the system call, the same on all machines since Linux 5.6."""
NOT_ALLOWED = (errno.ENOSYS, errno.EPERM)
DISCONNECT = struct.pack("=H14x", socket.AF_UNSPEC)
"""An address for connect(2) that resets a TCP connection."""

_libc = ctypes.CDLL(None, use_errno=True)


def connections(process: psutil.Process, port: int) -> list[int]:
    """File descriptors of the process's connections to a local port."""
    with suppress(psutil.Error):
        return [
            each.fd
            for each in process.net_connections("tcp")
            if each.status == psutil.CONN_ESTABLISHED and each.raddr and each.raddr.port == port
        ]
    return []


def reset(process: psutil.Process, port: int) -> int:
    """Reset the connections to a port; returns their number. Skips the test where the system hides
    the sockets of child processes."""
    found = connections(process, port)
    for descriptor in found:
        connection = _taken(process.pid, descriptor)
        try:
            if _libc.connect(connection, DISCONNECT, len(DISCONNECT)):
                raise OSError(ctypes.get_errno(), "a connection cannot be reset")
        finally:
            os.close(connection)
    return len(found)


def _taken(pid: int, descriptor: int) -> int:
    """A descriptor of another process as one of ours."""
    process = os.pidfd_open(pid)
    try:
        taken = int(_libc.syscall(PIDFD_GETFD, process, descriptor, 0))
        if taken < 0 and ctypes.get_errno() in NOT_ALLOWED:
            pytest.skip("this system gives no process the sockets of another one (pidfd_getfd)")
        assert taken >= 0, os.strerror(ctypes.get_errno())
        return taken
    finally:
        os.close(process)
