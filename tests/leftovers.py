"""Ends processes of tests after the tests' own death by SIGTERM, kill -9 or a time-out.

A process of its own waits for the death of the tests, and then kills

    the named sessions,
    processes whose command line has a word of its orders, such as a folder's path,
    and their sessions,

and removes the named folders.
"""

import atexit
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import psutil

POLL_SECS = 1.0
"""Poll interval for the tests' life: a forked process may hold their pipe."""
ORDERS_BYTES = 1 << 16
ROUNDS = 20
"""Rounds of kills: a dying process may have children."""
GONE_SECS = 1.0
PRESENT, GONE = "present", "gone"


class Leftovers:
    """Tells the waiting process about processes and folders."""

    def __init__(self) -> None:
        self._waiting = subprocess.Popen(
            [sys.executable, __file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            text=True,
            # A signal for all of the tests' processes is not for this process.
            start_new_session=True,
        )

    def add(self, *, word: str = "", session: int = 0, folder: str = "") -> None:
        """Register a process or a folder."""
        self._tell(PRESENT, word, session, folder)

    def discard(self, *, word: str = "", session: int = 0, folder: str = "") -> None:
        """The tests have ended the process."""
        self._tell(GONE, word, session, folder)

    def _tell(self, *order: Any) -> None:
        assert self._waiting.stdin is not None
        print(json.dumps(order), file=self._waiting.stdin, flush=True)

    def close(self) -> None:
        """End the waiting process, after the processes left."""
        self._waiting.communicate()


@cache
def leftovers() -> Leftovers:
    made = Leftovers()
    atexit.register(made.close)
    return made


class Known:
    """Orders to the waiting process."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.sessions: set[int] = set()
        self.folders: set[str] = set()

    def take(self, line: bytes) -> None:
        what, *named = json.loads(line)
        every: tuple[set[Any], ...] = (self.words, self.sessions, self.folders)
        for found, each in zip(every, named, strict=True):
            if each:
                (found.add if what == PRESENT else found.discard)(each)

    def end_all(self) -> None:
        """Kill the processes left, and remove folders."""
        for _ in range(ROUNDS):
            found = list(left(self.words, self.sessions))
            if not found:
                break
            for each in found:
                with suppress(psutil.Error):
                    each.kill()
            psutil.wait_procs(found, GONE_SECS)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)


def left(words: Collection[str], sessions: Collection[int]) -> Iterator[psutil.Process]:
    """The processes of these sessions and words, except this process."""
    every = {each.pid: each for each in psutil.process_iter() if _lives(each)}
    every.pop(os.getpid(), None)
    named = {pid for pid, each in every.items() if any(word in _line(each) for word in words)}
    ended = {*sessions, *named}
    return (each for pid, each in every.items() if pid in named or _session(pid) in ended)


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _line(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


def _session(pid: int) -> int:
    with suppress(ProcessLookupError, PermissionError):
        return os.getsid(pid)
    return 0


def main(tests: int) -> None:
    """Wait for the end of the process `tests`, our parent."""
    known, rest = Known(), b""
    while True:
        live = os.getppid() == tests
        if not select.select([0], [], [], POLL_SECS if live else 0.0)[0]:
            if live:
                continue
            break  # and all that they have said is read
        data = os.read(0, ORDERS_BYTES)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            known.take(line)
    known.end_all()


if __name__ == "__main__":
    main(int(sys.argv[1]))
