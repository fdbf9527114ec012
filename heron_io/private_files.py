"""Files and folders that only their owner may read: state, logs and what is written down of runs.

They have a user's data. What a topology's sinks write is another matter: it has the modes that the
user's umask gives it.
"""

import os

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def private(path: str, flags: int) -> int:
    """For `open(…, opener=private)`: a file that is made is its owner's alone."""
    return os.open(path, flags, FILE_MODE)


def make_private_folders(path: str) -> None:
    """Make a folder, and those above it, as far as they are missing. What is there stays as it is,
    so a folder may be shared on purpose."""
    if not path or os.path.isdir(path):
        return
    make_private_folders(os.path.dirname(path))
    try:
        os.mkdir(path, FOLDER_MODE)
    except FileExistsError:  # another process was faster
        if not os.path.isdir(path):
            raise
