"""Starts what clients submit: the code into a folder of its own, then `heronpy submit` as a child.

A submission is answered once its topology is registered, as Storm answers before any worker runs.
What fails until then is the client's error; what fails later is in the log of Nimbus.
"""

import fcntl
import hashlib
import json
import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import yaml

from heron_core.errors import HeronError, TopologyError
from heron_core.operations import Requester
from heron_core.state_tree import topology_path
from heron_core.thrift.structs import Reader
from heron_core.typed_json import to_json
from heron_core.validation import topology_name_problems
from heron_engine.scheduler.operations import ASKED_BY
from heron_io.polling import wait_until
from heron_io.private_files import make_private_folders, private
from heron_io.state_store.protocol import StateStore
from heron_tracker.nimbus.code_archive import unpack_code
from heron_tracker.nimbus.flux_document import flux_document, needs_code
from heron_tracker.nimbus.structs import AlreadyAliveException
from heronpy_compat.streamparse.thrift import StormTopology

log = logging.getLogger("nimbus")

REGISTERED_SECS = 120.0
"""For a file to be loaded and checked: seconds, where a project's imports are large."""
REASON_CHARACTERS_MAX = 2000
UPDATES = "updates"
"""The folder of new code, by topology."""
FLUX_FILE, THRIFT_FILE, LOG_FILE = "flux.yaml", "submitted.thrift", "submit.log"


class Submitted(Protocol):
    """A topology of a client, in whatever form."""

    @property
    def name(self) -> str:
        """The topology's name."""

    @property
    def is_active(self) -> bool:
        """Whether spouts emit at once."""

    @property
    def asked_by(self) -> Requester:
        """The client."""

    def words(self, folder: str) -> list[str]:
        """Write the code into a folder; the arguments of `heronpy submit` for the code.
        TopologyError for malformed code."""


@dataclass(frozen=True, slots=True)
class WantedTopology:
    """A submission by Storm's Thrift interface."""

    name: str
    topology: StormTopology
    config: Mapping[str, Any]
    archive: str
    is_active: bool
    asked_by: Requester

    def words(self, folder: str) -> list[str]:
        """Write code and topology into a folder; the arguments of `heronpy submit` for them."""
        document = flux_document(self.name, self.topology, self.config)
        unpack_code(self.archive, folder, is_needed=needs_code(self.topology))
        _write(folder, FLUX_FILE, yaml.safe_dump(document, sort_keys=False).encode())
        _write(folder, THRIFT_FILE, self.topology.write())
        return [os.path.join(folder, FLUX_FILE)]


class TopologyFolders:
    """The code of the topologies of one state store, which one service alone may change: that of
    the command `service`."""

    def __init__(self, home: str, store_url: str, service: str = "nimbus") -> None:
        number = hashlib.sha256(store_url.encode()).hexdigest()[:12]
        self.path = os.path.join(home, service, number)
        make_private_folders(self.path)
        self._lock = os.open(
            os.path.join(self.path, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise HeronError(
                f"another `heronpy {service}` serves the state store {store_url}: end it first"
            ) from None

    @property
    def uploads(self) -> str:
        """Where archives are uploaded."""
        return os.path.join(self.path, "uploads")

    def of_topology(self, name: str) -> str | None:
        """The newest folder of a topology; None if not submitted here."""
        return max(self._all().get(name, ()), default=None)

    def make(self, name: str) -> str:
        """A new folder for a topology."""
        folder = os.path.join(self.path, "topologies", name, f"{time.time_ns():020d}")
        make_private_folders(folder)
        return folder

    def make_for_code(self, name: str) -> str:
        """A new folder for new code of a running topology, whose earlier code may still run."""
        folder = os.path.join(self.path, UPDATES, name, f"{time.time_ns():020d}")
        make_private_folders(folder)
        return folder

    def sweep(self, is_used: Callable[[str], bool]) -> None:
        """Remove the code of ended topologies, and of earlier runs."""
        updates = os.path.join(self.path, UPDATES)
        for name in os.listdir(updates) if os.path.isdir(updates) else ():
            if not is_used(name):
                shutil.rmtree(os.path.join(updates, name), ignore_errors=True)
        for name, folders in self._all().items():
            keep = 1 if is_used(name) else 0
            for folder in sorted(folders)[: len(folders) - keep]:
                shutil.rmtree(folder, ignore_errors=True)
            if not keep:
                shutil.rmtree(os.path.join(self.path, "topologies", name), ignore_errors=True)

    def close(self) -> None:
        """Another Nimbus may come."""
        os.close(self._lock)

    def _all(self) -> dict[str, list[str]]:
        root = os.path.join(self.path, "topologies")
        if not os.path.isdir(root):
            return {}
        return {
            topology.name: [run.path for run in os.scandir(topology.path)]
            for topology in os.scandir(root)
        }


class Submissions:
    """Submissions in progress, and results."""

    def __init__(self, store: StateStore, folders: TopologyFolders, command: Sequence[str]) -> None:
        """`command`: `heronpy submit` with the options that say where topologies run."""
        self._store, self._folders, self._command = store, folders, tuple(command)
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._watchers: set[threading.Thread] = set()
        self.failed = 0
        """Topologies that were registered, and then did not come up."""

    def problem_with(self, name: str) -> str:
        """Reason why a topology name is invalid; empty if valid."""
        return next(iter(topology_name_problems(name)), "") or self._in_use(name)

    def submit(self, wanted: Submitted) -> None:
        """Start it; AlreadyAliveException, or TopologyError with the reason."""
        name = wanted.name
        if problem := next(iter(topology_name_problems(name)), ""):
            raise TopologyError(problem)
        with self._lock:
            if problem := self._in_use(name):
                raise AlreadyAliveException(problem)
            self._names.add(name)
        try:
            self._start(wanted)
        finally:
            with self._lock:
                self._names.discard(name)

    def sweep(self) -> None:
        """Remove unused code."""
        with self._lock:
            self._folders.sweep(lambda name: name in self._names or self._is_registered(name))

    def stored(self, name: str) -> StormTopology | None:
        """The topology as submitted here; None if submitted in a different way."""
        folder = self._folders.of_topology(name)
        if folder is None:
            return None
        file_path = os.path.join(folder, THRIFT_FILE)
        if not os.path.exists(file_path):
            return None
        with open(file_path, "rb") as file:
            return StormTopology.read(Reader(file.read()))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Stop waiting: commands in progress continue without the service."""
        for watcher in list(self._watchers):
            if watcher.is_alive():
                log.warning("%s is still starting: `heronpy list` shows it", watcher.name)

    def _in_use(self, name: str) -> str:
        if name in self._names or self._is_registered(name):
            return f"a topology called {name!r} is running already: kill it, or choose another name"
        return ""

    def _is_registered(self, name: str) -> bool:
        return self._store.get(topology_path(name)) is not None

    def _start(self, wanted: Submitted) -> None:
        folder = self._folders.make(wanted.name)
        try:
            self._run(wanted, folder, wanted.words(folder))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _run(self, wanted: Submitted, folder: str, arguments: Sequence[str]) -> None:
        words = [*self._command, *arguments]
        words += [] if wanted.is_active else ["--deactivated"]
        path = os.path.join(folder, LOG_FILE)
        with open(path, "wb", opener=private) as output:
            child = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, ASKED_BY: json.dumps(to_json(wanted.asked_by))},
                # Ctrl-C of Nimbus is none of theirs.
                start_new_session=True,
            )  # fmt: skip

        def is_decided() -> bool:
            return child.poll() is not None or self._is_registered(wanted.name)

        if not wait_until(is_decided, REGISTERED_SECS):
            child.terminate()
            child.wait()
            raise TopologyError(f"{wanted.name} was not loaded within {REGISTERED_SECS:g} s")
        if child.poll() and not self._is_registered(wanted.name):
            raise TopologyError(command_reason(path))
        self._watch(wanted.name, child, path)

    def _watch(self, name: str, child: subprocess.Popen[bytes], path: str) -> None:
        def watch() -> None:
            code = child.wait()
            if code:
                self.failed += 1
                log.error("%s did not come up (exit code %d): %s", name, code, command_reason(path))
            else:
                log.info("%s is up", name)
            self._watchers.discard(thread)

        thread = threading.Thread(target=watch, name=name, daemon=True)
        self._watchers.add(thread)
        thread.start()


def _write(folder: str, name: str, data: bytes) -> None:
    with open(os.path.join(folder, name), "xb", opener=private) as file:
        file.write(data)


def command_reason(path: str) -> str:
    """The command's error line, without its name; else the end of its output."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().strip().splitlines()
    except OSError as error:
        return f"its log {os.path.basename(path)} is gone: {error.strerror}"
    own = [line for line in lines if line.startswith("heronpy: ")]
    line = own[-1].removeprefix("heronpy: ") if own else (lines[-1] if lines else "no reason given")
    # A client has another name of the file: the folder is this machine's.
    folder = os.path.dirname(path)
    for own_path in (folder, os.path.relpath(folder)):
        line = line.replace(f"{own_path}{os.sep}", "")
    return line[:REASON_CHARACTERS_MAX]
