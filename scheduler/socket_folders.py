"""Folders for socket files, whose paths have to be short.

Where one lies stands in the state store, for whoever cleans up after a scheduler that was killed.
What a node says is only removed if it is such a folder: the name, the owner, the mode, the parent.
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
    """A new folder for socket files that only its owner may enter, with a short path."""
    return tempfile.mkdtemp(prefix=PREFIX, dir=next(_parents(), None))


def _parents() -> Iterator[str]:
    """Where such folders are made, by preference."""
    parents = (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp")
    short = (each for each in parents if each and len(os.fsencode(each)) < SOCKETS_PARENT_BYTES_MAX)
    return filter(os.path.isdir, short)


def remove_sockets(folder: object) -> None:
    """Remove the folder that a scheduler's node names, if it can be no other than one of ours."""
    if isinstance(folder, str) and is_sockets_folder(folder):
        shutil.rmtree(folder, ignore_errors=True)
    elif folder and (not isinstance(folder, str) or os.path.lexists(folder)):
        log.warning("%r is not a socket folder of this user: not removed", folder)


def is_sockets_folder(path: str) -> bool:
    """Whether `sockets_folder` made this for the user who runs this, and nobody changed it."""
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
