"""Folders without space for a file, for tests of any user, root included."""

import errno
import fcntl
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

FS_IOC_GETFLAGS, FS_IOC_SETFLAGS = 0x80086601, 0x40086602
"""Of linux/fs.h, on machines of 64 bits."""
FS_IMMUTABLE = 0x10
READ_ONLY, READ_ONLY_FILE = 0o555, 0o444
CANNOT = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTTY})


def unwritable(folder: Path) -> AbstractContextManager[None]:
    """Meanwhile files in a folder cannot be made, written, renamed or removed. Permissions do not
    bind root: then the folder gets the immutable attribute (chattr +i). On a file system without
    the attribute, or without the right, a file replaces the folder."""
    if os.geteuid():
        return _each_changed(folder, _without_permissions, _with_permissions)
    if _may_be_immutable(folder):
        return _each_changed(folder, _immutable, _mutable)
    return _replaced_by_a_file(folder)


@contextmanager
def _each_changed(
    folder: Path, set_up: Callable[[Path], int], take_back: Callable[[Path, int], None]
) -> Iterator[None]:
    done: list[tuple[Path, int]] = []
    try:
        for each in _below(folder):
            before = set_up(each)
            done.append((each, before))
        yield
    finally:
        for each, before in reversed(done):
            take_back(each, before)


def _below(folder: Path) -> Iterator[Path]:
    """A folder, and then its content: entries cannot be added or removed any more, by any user."""
    yield folder
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            yield from _below(each)
        # A close of a file ends its process's locks on the file.
        elif each.suffix != ".lock" and not each.is_symlink():
            yield each


@contextmanager
def _replaced_by_a_file(folder: Path) -> Iterator[None]:
    """The folder's content is unreadable meanwhile."""
    away = folder.with_name(f"{folder.name}.away")
    folder.rename(away)
    folder.touch()
    try:
        yield
    finally:
        folder.unlink()
        away.rename(folder)


def _without_permissions(path: Path) -> int:
    before = path.stat().st_mode
    path.chmod(READ_ONLY if path.is_dir() else READ_ONLY_FILE)
    return before


def _with_permissions(path: Path, before: int) -> None:
    path.chmod(before)


def _may_be_immutable(folder: Path) -> bool:
    try:
        _mutable(folder, _immutable(folder))
    except OSError as error:
        if error.errno in CANNOT:
            return False
        raise
    return True


def _immutable(path: Path) -> int:
    before = _flags(path)
    _set_flags(path, before | FS_IMMUTABLE)
    return before


def _mutable(path: Path, before: int) -> None:
    _set_flags(path, before)


def _flags(path: Path) -> int:
    file = os.open(path, os.O_RDONLY)
    try:
        (found,) = struct.unpack("i", fcntl.ioctl(file, FS_IOC_GETFLAGS, struct.pack("i", 0)))
    finally:
        os.close(file)
    return int(found)


def _set_flags(path: Path, flags: int) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(file, FS_IOC_SETFLAGS, struct.pack("i", flags))
    finally:
        os.close(file)
