"""Files and folders that only their owner may read: state, logs and records of runs.

These have a user's data. Files written by a topology's sinks are different: the user's umask gives
their modes.
"""

import os

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def private(path: str, flags: int) -> int:
    """For `open(…, opener=private)`: a new file is readable by its owner alone."""
    return os.open(path, flags, FILE_MODE)


def make_private_folders(path: str) -> None:
    """Make a folder and its missing parents. Existing folders keep their modes, so a folder may be
    shared on purpose."""
    if not path or os.path.isdir(path):
        return
    make_private_folders(os.path.dirname(path))
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:  # another process was faster
        if not os.path.isdir(path):
            raise
