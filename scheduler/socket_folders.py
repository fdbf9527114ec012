"""Folders for socket files, whose paths have to be short."""

import os
import sys
import tempfile

SOCKETS_PARENT_BYTES_MAX = 60
"""A socket's path may have 107 bytes (sockaddr_un), and our part of it needs about 40."""


def sockets_folder() -> str:
    """A new folder for socket files that only its owner may enter, with a short path."""
    parents = (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp")
    short = (each for each in parents if each and len(os.fsencode(each)) < SOCKETS_PARENT_BYTES_MAX)
    return tempfile.mkdtemp(prefix="heronpy-", dir=next(filter(os.path.isdir, short), None))


def sockets_in(folder: str) -> str:
    """A folder for socket files below a container's sandbox, which goes with it; by a short way if
    its own path is too long for a socket's."""
    path = os.path.join(folder, "sockets")
    os.makedirs(path, mode=0o700, exist_ok=True)
    if len(os.fsencode(path)) < SOCKETS_PARENT_BYTES_MAX or sys.platform != "linux":
        return path
    return f"/proc/{os.getpid()}/cwd/sockets"
