"""Files that are there as a whole or not at all, whatever ends the writer."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def replace_whole(path: str, parts: Iterable[bytes], beside: str) -> None:
    """Write the file at `path`, or one in its place, by way of `beside` in the same folder.

    OSError if the disk does not take it; then `path` is as it was, and nothing is beside it.
    """
    write_synced(beside, parts)
    try:
        os.replace(beside, path)
    except OSError:
        remove(beside)
        raise
    sync_folder(os.path.dirname(path))


def write_synced(path: str, parts: Iterable[bytes]) -> None:
    """Write a new file that survives a power cut; its folder is made if it is not there.

    OSError if the disk does not take it; then there is no such file.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        with open(path, "wb") as file:
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
