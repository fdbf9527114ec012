"""Whether the disk of a folder has room for what a topology writes there."""

import os
from pathlib import Path

FREE_BYTES_MIN = 64 * 1024
"""What the state, the first logs and the outcome of a topology of a few instances take."""


def shortage(folder: str, free_bytes_min: int = FREE_BYTES_MIN) -> str:
    """What to tell a user whose disk is full; empty if it is not, or nobody knows."""
    try:
        disk = os.statvfs(_existing(folder))
    except OSError:
        return ""
    free = disk.f_bavail * disk.f_frsize
    if free >= free_bytes_min:
        return ""
    return f"the disk of {folder} is full ({free // 1024} KiB free): free some space there"


def _existing(folder: str) -> Path:
    """The folder, or the next one above that exists."""
    path = Path(folder).absolute()
    return next(each for each in (path, *path.parents) if each.exists())
