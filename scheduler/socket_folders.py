"""Folders for socket files, which need short paths.

The location is in the state store, for cleanup after a killed scheduler. A path from a node is
removed only if valid as such a folder: name, owner, mode, parent.
"""

import logging
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator

log = logging.getLogger("scheduler")

SOCKETS_PARENT_BYTES_MAX = 60
"""A socket's path may have 107 bytes (sockaddr_un), and our part of it needs about 40."""


PREFIX = "heronpy-run-"
_NAME = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}")
PRIVATE_MODE = 0o700


def sockets_folder() -> str:
    """A new private folder for socket files, with a short path."""
    return tempfile.mkdtemp(prefix=PREFIX, dir=next(_parents(), None))


def _parents() -> Iterator[str]:
    """Where such folders are made, by preference."""
    parents = (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp")
    short = (each for each in parents if each and len(os.fsencode(each)) < SOCKETS_PARENT_BYTES_MAX)
    return filter(os.path.isdir, short)


def remove_sockets(folder: object) -> None:
    """Remove the folder named in a scheduler's node, if certainly ours."""
    if isinstance(folder, str) and is_sockets_folder(folder):
        shutil.rmtree(folder, ignore_errors=True)
    elif folder and (not isinstance(folder, str) or os.path.lexists(folder)):
        log.warning("%r is not a socket folder of this user: not removed", folder)


def is_sockets_folder(path: str) -> bool:
    """Whether the folder was made by `sockets_folder` for the current user, unchanged."""
    parent, name = os.path.split(path)
    if _NAME.fullmatch(name) is None or parent not in _parents():
        return False
    try:
        status = os.lstat(path)
    except OSError:
        return False
    private = stat.S_IMODE(status.st_mode) == PRIVATE_MODE
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and private


def sockets_in(folder: str) -> str:
    """A folder for socket files below a container's sandbox, which goes with it; by a short way if
    its own path is too long for a socket's."""
    path = os.path.join(folder, "sockets")
    os.makedirs(path, mode=0o700, exist_ok=True)
    if len(os.fsencode(path)) < SOCKETS_PARENT_BYTES_MAX or sys.platform != "linux":
        return path
    return f"/proc/{os.getpid()}/cwd/sockets"
