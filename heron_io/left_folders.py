"""Folders that are called PREFIX PID-…, after a process without which nobody needs them."""

import os
import shutil

from heron_io.processes import started_at


def remove_left(where: str, prefix: str) -> None:
    """Remove those of processes that are no more."""
    for name in os.listdir(where):
        pid = name.removeprefix(prefix).partition("-")[0]
        if name.startswith(prefix) and pid.isdigit() and started_at(int(pid)) is None:
            shutil.rmtree(os.path.join(where, name), ignore_errors=True)
