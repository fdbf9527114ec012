"""Whether a sink may write where it is to write, said when it begins: in one line with the folder,
the reason and the cure. What happens to a folder later is told when it is to be written."""

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
    """Make the folder of component `name`, unless it is there; ComponentError if it cannot be made
    or takes no file. `key`: the config key that names it. A full disk is passed over."""
    try:
        os.makedirs(folder, exist_ok=True)
        _try_a_file(folder)
    except OSError as error:
        if error.errno not in _FULL:
            raise _refused(name, folder, error, f"name another folder ({key})") from None


def check_file(name: str, path: str, key: str) -> None:
    """The same of a file that is there, or is to be made, in a folder that is there: both have to
    be writable."""
    try:
        _try_a_file(os.path.dirname(path) or ".")
        # Not by opening it: whoever closes a file ends the locks that its process has on it.
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
    """One without a name, so that nothing is left of it whatever ends this process."""
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
