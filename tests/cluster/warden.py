"""Parent process of real servers and their children, all of them ended with the warden.

Commands come on stdin, a JSON object a line, and are answered with the process id. At the end of
stdin, at the latest with the death of the tests, the warden kills everything below. Containers have
sessions of their own and survive a NodeManager killed with -9: as their *subreaper* the warden
becomes their parent then, and finds them.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Serve until stdin ends, then leave nothing behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGCHLD, _reap)
    try:
        for line in sys.stdin:
            print(_start(json.loads(line)), flush=True)
    except BrokenPipeError:
        pass  # the tests died while they waited for an answer
    finally:
        _kill_all()


def _start(order: dict[str, Any]) -> int:
    """{"command": list, "environment": dict, "log": path} -> process id."""
    with Path(order["log"]).open("ab") as log:
        return subprocess.Popen(
            order["command"],
            env=order["environment"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ).pid


def _reap(*_: object) -> None:
    """Children that have ended are gone at once, not zombies."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _kill_all() -> None:
    """Children of killed processes become children of the warden: repeat until all are gone."""
    this = psutil.Process()
    while left := this.children(recursive=True):
        for each in left:
            with suppress(psutil.Error):
                each.kill()
        psutil.wait_procs(left, timeout=1)


if __name__ == "__main__":
    main()
