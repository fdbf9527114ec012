"""The log files of a folder, followed and printed: a pod's log is what its container prints."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

POLL_SECS = 0.5
ENDING = ".log"
READ_BYTES_MAX = 1024 * 1024
"""Of one file at a time: others are to be seen, too."""


class FollowedLog:
    """One file, how far it was printed, and the file that it was then: a log is rotated."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._name = os.path.basename(path).removesuffix(ENDING)
        self._inode = 0
        self._position = 0
        self._open_line = b""

    def fresh(self) -> list[str]:
        """The lines written since the last time."""
        try:
            with open(self._path, "rb") as file:
                inode = os.fstat(file.fileno()).st_ino
                if inode != self._inode:
                    self._inode, self._position = inode, 0
                file.seek(self._position)
                data = file.read(READ_BYTES_MAX)
        except OSError:
            return []
        self._position += len(data)
        *lines, self._open_line = (self._open_line + data).split(b"\n")
        return [f"{self._name} | {line.decode('utf-8', 'replace')}" for line in lines]


class FollowedFolder:
    """All logs of a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._logs: dict[str, FollowedLog] = {}

    def print_fresh(self, output: TextIO) -> None:
        """Print what is new in all of them."""
        for name in sorted(os.listdir(self._folder)):
            if name.endswith(ENDING):
                path = os.path.join(self._folder, name)
                log = self._logs.setdefault(name, FollowedLog(path))
                for line in log.fresh():
                    print(line, file=output)
        output.flush()


@contextmanager
def print_logs(folder: str, output: TextIO) -> Iterator[None]:
    """Print them in a thread until the end, and what came last."""
    followed, ended = FollowedFolder(folder), threading.Event()

    def follow() -> None:
        while not ended.wait(POLL_SECS):
            followed.print_fresh(output)

    thread = threading.Thread(target=follow, name="logs", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        followed.print_fresh(output)
