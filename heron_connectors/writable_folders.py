"""Checks at the start whether a sink can write its target: one line with folder, reason and
remedy. Later problems are reported on writing."""

import errno
import os
import pwd
import tempfile
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from heron_core.errors import ComponentError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""A full disk has room later: the rows wait for it."""
_NO_UNNAMED = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT})
"""Of file systems, and of kernels, that have no files without a name."""
_IS_FILE = "a file has the folder's name: remove the file"
_CURES: Mapping[int, str] = {
    errno.EROFS: "remount its file system for writing",
    errno.EEXIST: _IS_FILE,
    errno.ENOTDIR: _IS_FILE,
    errno.EPERM: "remove its immutable attribute (chattr -i)",
    errno.ENAMETOOLONG: "shorten its name",
}


def check_folder(name: str, folder: str, key: str) -> None:
    """Create the folder of component `name`, unless present; ComponentError if the folder cannot
    be created or rejects files. `key`: the config key of the folder. A full disk is ignored."""
    try:
        os.makedirs(folder, exist_ok=True)
        _try_a_file(folder)
    except OSError as error:
        if error.errno not in _FULL:
            raise _refused(name, folder, error, f"name another folder ({key})") from None


def check_file(name: str, path: str, key: str) -> None:
    """Like `check_folder`, for a file that exists or will be created in an existing folder: both
    must be writable."""
    try:
        _try_a_file(os.path.dirname(path) or ".")
        # Avoids opening the file: closing a file releases the process's locks on the file.
        if os.path.exists(path) and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        if error.errno not in _FULL:
            raise _refused(name, path, error, f"name another file ({key})") from None


def local_path(location: str) -> str | None:
    """The path of a location on this machine; None for a URL of something else."""
    if location.startswith("file:"):
        return unquote(urlsplit(location).path)
    return None if "://" in location else location


def _try_a_file(folder: str) -> None:
    """Test with an unnamed file, which cannot be left behind."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
    except (AttributeError, OSError) as error:  # AttributeError: systems besides Linux
        if isinstance(error, OSError) and error.errno not in _NO_UNNAMED:
            raise
        with tempfile.NamedTemporaryFile(prefix=".heronpy-", dir=folder):
            pass


def _refused(name: str, path: str, error: OSError, other: str) -> ComponentError:
    remedy = _CURES.get(error.errno or 0) or f"give {_user()} write permission"
    return ComponentError(
        f"{name}: cannot write into {path}: {error.strerror}: {remedy}, or {other}"
    )


def _user() -> str:
    try:
        return f"user {pwd.getpwuid(os.geteuid()).pw_name}"
    except KeyError:
        return f"user {os.geteuid()}"
