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
    """Write the file at `path` atomically, by way of `beside` in the same folder; `is_private`:
    restrict the file and new folders to the owner; `may_replace` is called once `beside` is
    written, and raises if the file must not be replaced.

    OSError for a write error; then `path` is unchanged, and `beside` is removed.
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
    """Write a new file that survives a power cut, creating its folder if missing.

    OSError for a write error; then the file does not exist.
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
    """Remove a half-written file after an exception or interrupt within the context."""
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
