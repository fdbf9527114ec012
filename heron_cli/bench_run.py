"""Runs a benchmark topology on the machine for the duration of a context."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

import click

from heron_cli.configure import packing_plan
from heron_core import config as keys
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan
from heron_core.state_tree import execution_path, master_path
from heron_core.stats import EVERY_COMPONENT, TopologyStats
from heron_core.topology import (
    ComponentSpec,
    Config,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.topology_events import EventKind, TopologyEvent
from heron_engine.scheduler.backends.local import LocalBackend
from heron_engine.scheduler.daemon import start
from heron_engine.scheduler.registration import register
from heron_engine.scheduler.submission import Submission
from heron_engine.scheduler.user_folder import Home
from heron_io.master_client import MasterClient, NoAnswer
from heron_io.processes import signal_process
from heron_io.state_store.opening import open_store

COMPONENTS = "heron_frontends.components.bench"
STREAM = "default"
POLL_SECS = 0.05
START_SECS = 60.0
"""Start timeout, generous for a busy machine."""


def component(
    name: str, class_name: str, parallelism: int, field: str | None, reads: str | None = None
) -> ComponentSpec:
    """A component of heron_frontends.components.bench; `field`: the output field, `reads`: the
    inputs."""
    outputs = () if field is None else (StreamSpec(STREAM, (field,)),)
    shuffle = GroupingSpec(GroupingKind.SHUFFLE)
    inputs = () if reads is None else (InputSpec(reads, STREAM, shuffle),)
    path = f"{COMPONENTS}.{class_name}"
    return ComponentSpec(name, reads is None, path, parallelism, outputs, inputs)


def chain(name: str, components: tuple[ComponentSpec, ...], config: Config) -> TopologySpec:
    """The topology, with unlimited restarts, because processes are killed repeatedly."""
    return TopologySpec(name, components, {keys.RESTART_LIMIT: 1000, **config})


class BenchRun:
    """A topology in the background, in a private folder and so invisible to other commands. The
    folder is removed, or named in the error."""

    def __init__(self, topology: TopologySpec) -> None:
        self.name = topology.name
        self.packing: PackingPlan = packing_plan(topology)
        self._topology = topology
        self._folder = tempfile.mkdtemp(prefix="heronpy-bench-")

    def __enter__(self) -> Self:
        home = Home(self._folder)
        backend, url = LocalBackend(), home.store_url
        launch = Submission(self._topology, self.packing, url, home, foreground=True)
        register(launch, backend)
        self._scheduler = start(launch, backend)
        # Only now: the fork came from a process without threads and sockets.
        self._store = open_store(url)
        self._client = MasterClient(self._store, self.name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()
        self._store.close()
        signal_process(self._scheduler.pid, signal.SIGTERM)
        os.waitpid(self._scheduler.pid, 0)
        if isinstance(error, HeronError):
            click.echo(f"logs: {Home(self._folder).logs(self.name)}", err=True)
        else:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def scheduler_pid(self) -> int:
        """The process above all processes of the topology."""
        return self._scheduler.pid

    def stats(self) -> TopologyStats:
        """The topology's statistics with all instances; HeronError without an answer."""
        return self._client.stats(EVERY_COMPONENT)

    @property
    def tasks(self) -> dict[str, list[int]]:
        """Component -> task ids of its instances."""
        found: dict[str, list[int]] = {}
        for container in self.packing.containers:
            for instance in container.instances:
                found.setdefault(instance.component, []).append(instance.task)
        return found

    def wait_until_up(self) -> None:
        """Until every instance has reported; HeronError if that takes too long, and at once for a
        component that cannot start."""

        def is_up() -> bool:
            try:
                stats = self.stats()
            except NoAnswer:
                self._check_scheduler()
                return False
            if reason := start_failure(stats.events):
                raise HeronError(f"{self.name} is not up: {reason}")
            return bool(stats.epoch) and all(
                component.up == component.instances for component in stats.components.values()
            )

        self.wait(is_up, START_SECS, f"{self.name} is not up")

    def _check_scheduler(self) -> None:
        """HeronError if the topology has ended, with its reason."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT  # `__exit__` reaps
        if os.waitid(os.P_PID, self._scheduler.pid, options) is None:
            return
        node = self._store.get(execution_path(self.name)) or {}
        reason = node.get("reason") or "its logs have the reason"
        raise HeronError(f"{self.name} ended before it was up: {reason}")

    def master_pid(self) -> int:
        """The pid of the topology master; 0 until registered."""
        node = self._store.get(master_path(self.name))
        return 0 if node is None else int(node["pid"])

    @staticmethod
    def wait(
        condition: Callable[[], bool], secs: float, text: str, poll_secs: float = POLL_SECS
    ) -> None:
        """Wait until the condition holds; HeronError with `text` on timeout."""
        late_at = time.monotonic() + secs
        while not condition():
            if time.monotonic() > late_at:
                raise HeronError(f"{text} after {secs:g} s")
            time.sleep(poll_secs)


def start_failure(events: Iterable[TopologyEvent]) -> str:
    """Which instance could not start, and why; empty if none failed."""
    failed = (each for each in events if each.kind == EventKind.START_FAILED)
    first = next(failed, None)
    return "" if first is None else f"{first.instance} could not start: {first.why}"


def progress(text: str) -> None:
    """A progress line for people."""
    click.echo(text, err=True)
