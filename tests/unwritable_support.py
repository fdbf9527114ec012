"""Folders that take no file, for tests: whoever runs them, root included."""

import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
"""Of linux/fs.h, on machines of 64 bits."""
FS_IMMUTABLE = 0x10
READ_ONLY, READ_ONLY_FILE = 0o555, 0o444
CANNOT = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTTY})


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Meanwhile nothing in a folder can be made, written, renamed or removed. Root is not held by
    permissions: it gets the immutable attribute (chattr +i), where the file system has that."""
    if os.geteuid():
        set_up, take_back = _without_permissions, _with_permissions
    else:
        set_up, take_back = _immutable, _mutable
    found = (each for each in folder.rglob("*") if not each.is_symlink())
    # Whoever closes a file ends the locks that its process has on it.
    all_of_it = [folder, *(each for each in found if each.suffix != ".lock")]
    done: list[tuple[Path, int]] = []
    try:
        for each in reversed(all_of_it):
            before = set_up(each)
            done.append((each, before))
        yield
    finally:
        for each, before in reversed(done):
            take_back(each, before)


def _without_permissions(path: Path) -> int:
    before = path.stat().st_mode
    path.chmod(READ_ONLY if path.is_dir() else READ_ONLY_FILE)
    return before


def _with_permissions(path: Path, before: int) -> None:
    path.chmod(before)


def _immutable(path: Path) -> int:
    before = _flags(path)
    try:
        _set_flags(path, before | FS_IMMUTABLE)
    except OSError as error:
        if error.errno in CANNOT:
            pytest.skip(f"root may not make {path} immutable here: {error.strerror}")
        raise
    return before


def _mutable(path: Path, before: int) -> None:
    _set_flags(path, before)


def _flags(path: Path) -> int:
    file = os.open(path, os.O_RDONLY)
    try:
        (found,) = struct.unpack("i", fcntl.ioctl(file, FS_IOC_GETFLAGS, struct.pack("i", 0)))
    except OSError as error:
        if error.errno in CANNOT:
            pytest.skip(f"the file system of {path} has no immutable attribute: {error.strerror}")
        raise
    finally:
        os.close(file)
    return int(found)


def _set_flags(path: Path, flags: int) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(file, FS_IOC_SETFLAGS, struct.pack("i", flags))
    finally:
        os.close(file)
