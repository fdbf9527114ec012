"""Files that are there as a whole or not at all, whatever ends the writer."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from heron_io.private_files import make_private_folders, private


def _always() -> None:
    """Nothing is in the way."""


def replace_whole(
    path: str,
    parts: Iterable[bytes],
    beside: str,
    *,
    is_private: bool = False,
    may_replace: Callable[[], object] = _always,
) -> None:
    """Write the file at `path`, or one in its place, by way of `beside` in the same folder;
    `is_private`: it and the folders that are made for it are for their owner alone; `may_replace`
    raises if it is not to be there, once `beside` is.

    OSError if the disk does not take it; then `path` is as it was, and nothing is beside it.
    """
    write_synced(beside, parts, is_private=is_private)
    try:
        may_replace()
        os.replace(beside, path)
    except Exception:
        remove(beside)
        raise
    sync_folder(os.path.dirname(path))


def write_synced(path: str, parts: Iterable[bytes], *, is_private: bool = False) -> None:
    """Write a new file that survives a power cut; its folder is made if it is not there.

    OSError if the disk does not take it; then there is no such file.
    """
    if is_private:
        make_private_folders(os.path.dirname(path))
    else:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "wb", opener=private if is_private else None) as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        remove(path)
        raise


@contextmanager
def removed_if_it_fails(path: str) -> Iterator[None]:
    """Whoever writes the file within fails, or is interrupted: it is not left half written."""
    try:
        yield
    except BaseException:
        remove(path)
        raise


def remove(path: str) -> None:
    """Remove a file, if it is there and can be removed."""
    try:
        os.unlink(path)
    except OSError:
        pass


def sync_folder(path: str) -> None:
    """New names in a folder survive a power cut, too."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
