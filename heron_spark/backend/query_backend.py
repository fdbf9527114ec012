"""`--engine spark` in the background: the query's driver as the one job of a scheduler process.

So a query is listed, inspected, paused and killed like any other topology, and its driver is
restarted after a crash.
"""

import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heron_core import config as keys
from heron_core.errors import UsageError
from heron_core.exit_codes import FINAL_CODES, ExitCode
from heron_core.records import replace
from heron_core.state_tree import scheduler_path
from heron_core.stats import QueryStats
from heron_core.topology import TopologySpec
from heron_engine.scheduler.container.supervisor_events import ProcessSpec
from heron_engine.scheduler.user_folder import Home
from heron_io.logs import log_to
from heron_io.processes import SupervisorLink, start_heartbeat_thread
from heron_io.state_store.opening import open_store
from heron_spark.backend.foreground import announce
from heron_spark.backend.metrics import QueryMetrics
from heron_spark.backend.shipping import with_archives
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.compile.plan import QueryPlan, compile_topology, one_container
from heron_spark.driver.progress import Console, Progress
from heron_spark.driver.run import end_text
from heron_spark.driver.session import check_environment, is_one_machine
from heron_spark.options import ENGINE, SparkOptions

if TYPE_CHECKING:
    from heron_engine.scheduler.submission import Submission

READY_SECS = 240.0
"""Time for a JVM, for executors to register and unpack the archives, and for a batch."""
SHUTDOWN_SECS = 15.0
"""User code has 5 s to close, the JVM the rest; below what `heronpy kill` waits for."""


@dataclass(frozen=True, slots=True)
class SparkQueryBackend:
    """The back end of `submit --engine spark`."""

    options: SparkOptions
    """With a checkpoint."""
    remove_at_end: bool
    """Whether to remove the checkpoint after the topology's end: true for a folder not given by the
    user.
    """
    kind = ENGINE
    ready_secs = READY_SECS

    def check(self, launch: "Submission") -> None:
        """HeronError in one line if the query cannot run here."""
        self.options.check()
        if self.remove_at_end and not is_one_machine(self.options.master):
            raise UsageError(
                f"--master {self.options.master} needs --checkpoint, a folder that every worker "
                "reaches"
            )
        plan = compile_topology(launch.topology)
        folder = self._folder
        if folder.is_of(plan.topology) and folder.ended:
            raise UsageError(end_text(plan.topology, folder))
        check_environment(self.options)

    @property
    def _folder(self) -> CheckpointDir:
        assert self.options.checkpoint is not None
        return CheckpointDir(self.options.checkpoint)

    def jobs(self, launch: "Submission", sockets: str) -> list[ProcessSpec]:
        """The driver."""
        return [
            ProcessSpec(
                "Spark query",
                f"heron: Spark query ({launch.topology.name})",
                lambda link: self._run(launch, sockets, link),
                SHUTDOWN_SECS,
                killed_with_parent=True,
                final_codes=FINAL_CODES,
            )
        ]

    def node_fields(self) -> dict[str, Any]:
        """Master and checkpoint; the driver adds the application's id."""
        return {"master": self.options.master, "checkpoint": self._folder.path}

    def logs(self, launch: "Submission") -> str:
        """In the user's folder."""
        return launch.home.logs(launch.topology.name)

    def preview(self, launch: "Submission") -> str:
        """The query's levels."""
        return levels_text(compile_topology(launch.topology), self.options.master)

    def describe(self, launch: "Submission") -> str:
        """Where the query goes on, for people, before it is started."""
        done = self._folder.committed()
        return f"checkpoint {self._folder.path}" + (
            f", continued after batch {done}" if done >= 0 else ""
        )

    def _run(self, launch: "Submission", sockets: str, link: SupervisorLink) -> int:
        """The driver's process; returns its exit code."""
        from heron_spark.backend.command_server import CommandServerArguments
        from heron_spark.backend.detached import DetachedEnding, run_detached

        topology, logs = launch.topology, launch.home.logs(launch.topology.name)
        debug = keys.flag(keys.with_defaults(topology.config), keys.DEBUG)
        settings = keys.log_settings(topology.config)
        log_to(os.path.join(logs, "spark.log"), "spark", debug=debug, settings=settings)
        start_heartbeat_thread(link)
        options = with_archives(self.options, topology, launch.home, sockets)
        arguments = CommandServerArguments(launch.store_url, launch.keys)
        result = run_detached(
            topology,
            launch.packing,
            replace(options, scratch=sockets),
            arguments,
            logs,
            lambda application: _announce(launch, application),
        )
        if result.ending is DetachedEnding.ENDED and self.remove_at_end:
            shutil.rmtree(self._folder.path, ignore_errors=True)
        link.report(result.reason)
        return {
            DetachedEnding.ENDED: ExitCode.ENDED,
            DetachedEnding.FAILED: ExitCode.TOPOLOGY_FAILED,
            DetachedEnding.LOST: ExitCode.FAILED,
            DetachedEnding.STOPPED: 0,
        }[result.ending]


def query_backend(options: SparkOptions, name: str) -> SparkQueryBackend:
    """The back end; without a checkpoint option, with the checkpoint of `name` in the user's
    folder.
    """
    if options.checkpoint is not None:
        return SparkQueryBackend(options, remove_at_end=False)
    checkpoint = Home.of_user().checkpoint(name)
    return SparkQueryBackend(replace(options, checkpoint=checkpoint), remove_at_end=True)


def _announce(launch: "Submission", application: str) -> None:
    store = open_store(launch.store_url)
    try:
        path = scheduler_path(launch.topology.name)
        store.put(path, {**(store.get(path) or {}), "application": application})
    finally:
        store.close()


def run_here(topology: TopologySpec, options: SparkOptions) -> tuple[int, QueryStats]:
    """Run a checked topology as a query in the foreground; returns the exit code and the totals of
    the run's batches.
    """
    import tempfile

    from heron_spark.driver.run import run_on_spark

    home = Home.of_user()
    metrics, console = QueryMetrics(topology, one_container(topology)), Console()

    def report(progress: Progress) -> None:
        metrics.record_batch(progress, time.monotonic())
        console(progress)

    with tempfile.TemporaryDirectory(prefix="heronpy-sent-") as folder:

        def prepare(checked: SparkOptions) -> SparkOptions:
            """Record the checked run, now the last run of its name."""
            announce(home, topology)
            return with_archives(checked, topology, home, folder)

        code = run_on_spark(topology, options, report, prepare)
    return code, metrics.stats(None, time.monotonic())


def levels_text(plan: QueryPlan, master: str) -> str:
    """A query for people."""
    lines = [f"one Spark query at {master}, {len(plan.levels)} levels:"]
    for number, tasks in enumerate(plan.levels):
        counts: dict[str, int] = {}
        for task in tasks:
            name = plan.packing.instances[task].component
            counts[name] = counts.get(name, 0) + 1
        listed = ", ".join(f"{name} x {count}" for name, count in counts.items())
        lines.append(f"  level {number}: {listed}")
    return "\n".join(lines)
