"""Runs the command `heronpy` as a user does, in a place of its own, and checks the leftovers.

Waits do not sleep: a wait ends with its condition, and fails at its deadline.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

from heron_core.exit_codes import INCOMPLETE
from heron_core.stats import TopologyStats
from heron_io.master_client import MasterClient
from heron_io.state_store.opening import open_store
from heron_io.state_store.protocol import StateStore
from tests.leftovers import leftovers
from tests.process.prepared_commands import Used, start_command

Found = TypeVar("Found")

TOPOLOGIES = Path(__file__).parent / "topologies"
REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "examples"

DEADLINE_SECS = 40.0
"""For operations of a second on an idle machine."""
LOOK_AGAIN_SECS = 0.05
"""A look at a topology's numbers takes half a millisecond here, and three of its processes."""
LOOKS_SHARE = 0.1
"""Of a core: a look at all processes of a busy machine takes longest, and three waiting tests leave
the cores to the awaited processes."""
LOOK_AGAIN_SECS_MAX = 0.5
"""However much a look took, a whole command perhaps."""
GONE_SECS = 15.0
"""An executor gives its processes 5 s, the scheduler its executors 8 s."""
LOG_CHARACTERS = 3_000
"""The end of a log that a failed test shows."""

_never = threading.Event()


def until(condition: Callable[[], Found | None], what: str, secs: float = DEADLINE_SECS) -> Found:
    """The first true value of `condition`; AssertionError naming `what` after `secs`."""
    deadline, before = time.monotonic() + secs, _cpu_secs()
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {secs:g} s"
        before = _pause_after_look(before)
    return found


def _pause_after_look(before: float) -> float:
    """Leave the cores to further processes. `before` is the CPU time before the poll; returns the
    present CPU time."""
    took = _cpu_secs() - before
    _never.wait(min(LOOK_AGAIN_SECS_MAX, max(LOOK_AGAIN_SECS, took / LOOKS_SHARE - took)))
    return _cpu_secs()


def _cpu_secs() -> float:
    """Of this thread, and of ended commands."""
    commands = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.thread_time() + commands.ru_utime + commands.ru_stime + Used.secs


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines of stderr with the command's own errors."""
        return [line for line in self.err.splitlines() if line.startswith("heronpy: ")]

    def incomplete(self, shortfall: str) -> "Finished":
        """The result itself; AssertionError unless exit code and last line report the incomplete
        run."""
        assert self.code == INCOMPLETE, self.err
        assert self.err.splitlines()[-1] == f"INCOMPLETE: {shortfall}", self.err
        assert "Traceback" not in self.err, self.err
        return self

    def succeeded(self) -> "Finished":
        """The result itself; AssertionError with stderr after a failure."""
        assert self.code == 0, self.err
        assert "Traceback" not in self.err, self.err
        return self


class Running:
    """A started command; `wait` for its end, or `kill`."""

    def __init__(self, place: "Place", arguments: tuple[str, ...], number: int) -> None:
        self._out = place.path / f"out-{number}.txt"
        self._err = place.path / f"err-{number}.txt"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            # A separate session: its processes are found by the session, not by titles.
            self.process = start_command(arguments, place.path, place.environment, out, err)
        leftovers().add(session=self.pid)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def out(self) -> str:
        """Output on stdout so far."""
        return self._out.read_text("utf-8")

    @property
    def err(self) -> str:
        """Output on stderr so far."""
        return self._err.read_text("utf-8")

    def signal(self, number: int = signal.SIGINT) -> None:
        """Send a signal to the command alone."""
        self.process.send_signal(number)

    def end(self) -> Finished:
        """Ctrl-C twice, without a wait."""
        self.signal()
        self.until(lambda: "stopping" in self.err, "it stops")
        self.signal()
        return self.wait()

    def wait(self, secs: float = DEADLINE_SECS) -> Finished:
        """The end of the command; AssertionError with its output after the deadline."""
        try:
            code = self.process.wait(secs)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {secs:g} s:\n{self.err}") from None
        return Finished(code, self.out, self.err)

    def until(
        self, condition: Callable[[], Found | None], what: str, secs: float = DEADLINE_SECS
    ) -> Found:
        """As `until`, but fails at once if the command ends meanwhile."""

        def alive_and() -> Found | None:
            found = condition()
            assert found or self.process.poll() is None, f"{what}: it ended:\n{self.err}"
            return found

        return until(alive_and, what, secs)

    def processes(self) -> list[psutil.Process]:
        """The command and its descendants."""
        return [each for each in psutil.process_iter() if _is_of(each, (self.pid,))]

    def process_called(self, title: str) -> psutil.Process | None:
        """The process with this beginning of its title in ps."""
        for each in self.processes():
            with suppress(psutil.Error):
                if " ".join(each.cmdline()).startswith(title):
                    return each
        return None


def _is_of(process: psutil.Process, sessions: Collection[int]) -> bool:
    """Whether the process belongs to one of the sessions, and has not ended. The status is a file
    to read: for all processes of the machine, most of a poll's time."""
    with suppress(psutil.Error, ProcessLookupError):
        return os.getsid(process.pid) in sessions and process.status() != psutil.STATUS_ZOMBIE
    return False


class Place:
    """HERONPY_HOME, a temporary directory and a results directory for the runs of one test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.home = path / "home"
        self.results_folder = path / "results"
        self.results_folder.mkdir()
        # Not below pytest's long path: the path of a socket may have 107 characters.
        self.temporary = Path(tempfile.mkdtemp(prefix="heron-test-"))
        leftovers().add(word=str(path))
        leftovers().add(word=self.name, folder=str(self.temporary))
        self.environment = {
            **{key: value for key, value in os.environ.items() if key not in _UNWANTED},
            "PYTHONPATH": str(REPOSITORY),
            "HERONPY_HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "TEST_RESULTS": str(self.results_folder),
            # The ZooKeeper of these tests is open, so that tests can read the nodes.
            "HERONPY_INSECURE": "1",
        }
        self.started: list[Running] = []

    @property
    def name(self) -> str:
        """A name unique on this machine."""
        return self.temporary.name

    def start(self, *arguments: object) -> Running:
        """Start `heronpy` with these arguments."""
        running = Running(self, tuple(map(str, arguments)), len(self.started))
        self.started.append(running)
        return running

    def heronpy(self, *arguments: object, secs: float = DEADLINE_SECS) -> Finished:
        """Run `heronpy` with these arguments to the end."""
        return self.start(*arguments).wait(secs)

    def results(self) -> dict[str, Any]:
        """name -> values written by a component with `results.write`."""
        return {
            each.name.removesuffix(".json"): json.loads(each.read_text("utf-8"))
            for each in self.results_folder.glob("*.json")
        }

    def results_of(self, component: str) -> dict[int, Any]:
        """task -> values written, for one component."""
        split = ((*name.rpartition("-"), found) for name, found in self.results().items())
        return {int(task): found for name, _, task, found in split if name == component}

    def logs(self, name: str) -> Path:
        """The directory of a topology's logs."""
        return self.home / "topologies" / name / "logs"

    def log(self, name: str, process: str) -> str:
        file = self.logs(name) / f"{process}.log"
        return file.read_text("utf-8") if file.exists() else ""

    def told(self) -> Iterator[tuple[str, str]]:
        """What the commands complained of and the ends of all logs, by name: for a failed test."""
        for file in sorted([*self.path.glob("err-*.txt"), *self.home.rglob("*.log")]):
            if end := file.read_text("utf-8", "replace")[-LOG_CHARACTERS:]:
                yield file.name, end

    @property
    def store_url(self) -> str:
        """The state store of runs without --zookeeper."""
        return f"file://{self.home}/state"

    def store(self) -> StateStore:
        return open_store(self.store_url)

    def processes(self) -> list[psutil.Process]:
        """Whatever was started by the commands here, or works on files here."""
        sessions = {each.pid for each in self.started}
        return [
            each
            for each in psutil.process_iter()
            if _is_of(each, sessions) or self._mentions_us(each)
        ]

    def _mentions_us(self, process: psutil.Process) -> bool:
        """Its command line names our files, as Java's does, or the topology called `name`:
        submitted topologies have a separate session."""
        with suppress(psutil.Error):
            words = " ".join(process.cmdline())
            is_ours = any(each in words for each in (str(self.path), self.name))
            return is_ours and process.status() != psutil.STATUS_ZOMBIE
        return False

    def left_behind(self) -> list[str]:
        """Processes, sockets, nodes and half-written files, one line each."""
        return [*self._processes_left(), *self._files_left()]

    def _processes_left(self) -> Iterator[str]:
        for each in self.processes():
            with suppress(psutil.Error):
                yield f"process {each.pid}: {' '.join(each.cmdline())}"

    def _files_left(self) -> Iterator[str]:
        for place in (self.temporary, self.home / "zookeepers"):
            yield from (f"in {place.name}: {each.name}" for each in place.glob("*"))
        state = self.home / "state"
        # os.walk tolerates vanished folders.
        for folder, folders, files in os.walk(state):
            for each in (Path(folder, name) for name in (*folders, *files)):
                # The state for a resume by the next run stays on purpose, and the outcome of this
                # run.
                is_ours = each not in (state / ".lock", state / "identity.json")
                if is_ours and not {"statefulcheckpoints", "outcomes"} & set(each.parts):
                    yield f"in the state store: {each.relative_to(state)}"
        for each in (self.home / "topologies").glob("*/*"):
            if each.name not in ("logs", "previous", "outcome.json", "query.json", "checkpoints"):
                yield f"beside the logs: {each.name}"

    def nothing_is_left(self, secs: float = 0.0) -> None:
        """AssertionError with the leftovers, after a wait of `secs`."""
        deadline, before = time.monotonic() + secs, _cpu_secs()
        while left := self.left_behind():
            assert time.monotonic() < deadline, "\n".join(left)
            before = _pause_after_look(before)

    def close(self) -> None:
        """Kill live processes."""
        left = self.processes()
        for each in left:
            with suppress(psutil.Error):
                each.kill()
        psutil.wait_procs(left, GONE_SECS)
        for running in self.started:
            running.process.wait()
        shutil.rmtree(self.temporary, ignore_errors=True)
        for running in self.started:
            leftovers().discard(session=running.pid)
        leftovers().discard(word=str(self.path))
        leftovers().discard(word=self.name, folder=str(self.temporary))


_UNWANTED = ("XDG_RUNTIME_DIR", "HERON_OPTIONS", "HERONPY_ZOOKEEPER", "COLUMNS")
"""Variables with an effect on the commands."""


class Master:
    """Asks the topology master of a running topology."""

    def __init__(self, url: str, name: str) -> None:
        self._store = open_store(url)
        self._client = MasterClient(self._store, name)

    def __enter__(self) -> "Master":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._store.close()

    def stats(self, component: str | None = None) -> TopologyStats | None:
        """The present numbers, with the instances of a component if given; None without a master's
        answer."""
        return self._client.try_stats(wait_secs=1.0, component=component)

    def component(self, name: str) -> dict[str, Any]:
        """One component's numbers; empty without a master's answer."""
        stats = self.stats()
        return {} if stats is None else stats.to_json()["components"][name]

    def processed(self, bolt: str) -> int:
        """How many tuples a bolt has processed."""
        return int(self.component(bolt).get("executed", 0))
