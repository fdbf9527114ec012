"""Shared by tests of the state stores: opening, waiting, and processes with ephemeral nodes."""

import os
import queue
import subprocess
import sys
from pathlib import Path
from typing import Any

from heron_io.state_store.kubernetes import KubernetesStore
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from heron_io.state_store.zookeeper import ZooKeeperStore

DEADLINE_SECS = 30.0
SESSION_TIMEOUT_MS = 1000
HOLDER = Path(__file__).with_name("store_holder.py")


def python_environment() -> dict[str, str]:
    """The environment of a Python child with this process's imports."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


class Backend:
    """A place of a kind of store, opened as often as a test likes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._opened: list[StateStore] = []

    def open(self) -> StateStore:
        store = open_store(self.url)
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()


def open_impatient(url: str) -> StateStore:
    """As open_store, but a session ends a second after its owner's death."""
    if url.startswith("kubernetes://"):
        namespace, _, root = url.removeprefix("kubernetes://").partition("/")
        return KubernetesStore(namespace, "/" + root, session_timeout_ms=SESSION_TIMEOUT_MS)
    if not url.startswith("zk://"):
        return open_store(url)
    hosts, _, root = url.removeprefix("zk://").partition("/")
    return ZooKeeperStore(hosts, "/" + root, session_timeout_ms=SESSION_TIMEOUT_MS)


class Heard:
    """A callback with a record of calls, for waits of a test."""

    def __init__(self) -> None:
        self._calls: queue.Queue[Any] = queue.Queue()

    def __call__(self, value: Any) -> None:
        self._calls.put(value)

    def next(self) -> Any:
        """The next call's value, within the deadline."""
        return self._calls.get(timeout=DEADLINE_SECS)

    def wait_for(self, value: Any) -> None:
        """Take calls until one brings `value`; queue.Empty after the deadline."""
        while self.next() != value:
            pass

    def is_silent(self) -> bool:
        """Whether no call waits to be taken."""
        return self._calls.empty()


class Holder:
    """A real process that holds /tmasters/wordcount of the store at `url` until told."""

    def __init__(self, url: str, *modes: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HOLDER), url, *modes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=python_environment(),
            text=True,
        )

    def line(self) -> str:
        """The next line it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def __enter__(self) -> "Holder":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
