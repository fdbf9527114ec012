"""`python -m scheduler.backends.yarn.container_agent`: one container of the packing plan on YARN.

It starts `python -m scheduler.container` with the words after `--`, kills it when it is silent, and
ends with its exit code and its last words on stderr, which YARN hands to the application master.
It looks at the scheduler's node in the state store: when its number belongs to another container of
YARN's, or is to end, it ends in order. So it does not outlive the application even where no node
manager is left to kill it. All of its processes are in YARN's process group.
"""

import argparse
import logging
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from typing import Any

from heron_core.errors import HeronError
from heron_core.exit_codes import ExitCode
from heron_core.state_tree import scheduler_path
from heron_io.state_store.opening import open_store
from heron_io.waker import Waker
from scheduler.addresses import own_address
from scheduler.backends.yarn.requests import verdict
from scheduler.container.container_process import ContainerProcess
from scheduler.packaging.archive import this_python
from scheduler.socket_folders import sockets_in

LOOK_SECS = 1.0
ID_VARIABLE = "CONTAINER_ID"
LOGS_VARIABLE = "LOG_DIRS"
"""YARN's: which container of its this is, and the folders for logs, which `yarn logs` shows."""


class Shard:
    """The container's process, and whether it may stay."""

    def __init__(self, topology: str, number: int, silent_secs: float) -> None:
        self._topology = topology
        self._number = number
        self._silent_secs = silent_secs
        self._waker = Waker()
        self._ending: str | None = None

    def end(self, why: str) -> None:
        """End in order; any thread may call it."""
        if self._ending is None:
            self._ending = why
        self._waker.wake()

    def look(self, node: Any) -> None:
        """The scheduler's node has changed."""
        why = verdict(node, self._number, os.environ[ID_VARIABLE])
        if why is not None:
            self.end(why)

    def run(self, words: Sequence[str], store_url: str) -> int:
        """From the container's start to its end; returns the exit code."""
        store = open_store(store_url)
        try:
            store.watch(scheduler_path(self._topology), self.look)
            return self._stay(words, store_url)
        finally:
            store.close()

    def _stay(self, words: Sequence[str], store_url: str) -> int:
        if self._ending is not None:
            tell(self._ending)
            return 0
        process = ContainerProcess(placed(words, store_url))
        code = None
        while code is None:
            if self._ending is not None:
                process.end()
            code = process.wait(LOOK_SECS, self._waker, self._silent_secs)
        if self._ending is not None:
            tell(f"it ends: {self._ending}")
            return 0
        tell(process.words or f"the container ended with {code}")
        return code if code > 0 else 128 - code


def logs_folder() -> str:
    """Where this container of YARN's keeps its logs."""
    return os.environ[LOGS_VARIABLE].split(",")[0]


def placed(words: Sequence[str], store_url: str) -> list[str]:
    """The words of scheduler.container with what only this machine knows."""
    return [*words, "--logs", logs_folder(), "--sockets", sockets_in(os.getcwd()),
            "--bind-host", own_address(store_url)]  # fmt: skip


def tell(text: str) -> None:
    """A line on stderr; the last one is what the application master gets to know."""
    print(text, file=sys.stderr, flush=True)


def check_python(packed_for: str) -> None:
    """HeronError if this Python cannot run what was packed."""
    if this_python() != packed_for:
        raise HeronError(
            f"its Python is {this_python()}, but the topology was submitted with {packed_for}: "
            "install that on the workers, or name another by yarn: python in the cluster's file"
        )


def main(words: Sequence[str]) -> int:
    """Run one container until it ends; returns its exit code."""
    at = words.index("--")
    parser = argparse.ArgumentParser(
        prog="python -m scheduler.backends.yarn.container_agent", description=__doc__
    )
    parser.add_argument("--python", required=True, metavar="WORD", help="what was packed for")
    parser.add_argument("--silent-secs", required=True, type=float, metavar="SECONDS")
    given = parser.parse_args(words[:at])
    container = list(words[at + 1 :])
    store_url, topology, number = (
        container[container.index(f"--{each}") + 1] for each in ("store", "topology", "container")
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    shutil.rmtree("sockets", ignore_errors=True)
    shard = Shard(topology, int(number), given.silent_secs)
    signal.signal(signal.SIGTERM, lambda *_: shard.end("SIGTERM"))
    try:
        check_python(given.python)
        return shard.run(container, store_url)
    except HeronError as error:
        tell(str(error))
        return ExitCode.UNSTARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
