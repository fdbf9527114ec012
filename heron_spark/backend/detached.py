"""A run without a terminal: a command server answers, printed lines go to logs.

The process can be restarted at any time: the checkpoint folder holds its progress.
"""

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from enum import Enum
from logging.handlers import RotatingFileHandler

from heron_core.config import LogSettings, log_settings
from heron_core.errors import HeronError
from heron_core.plans import PackingPlan
from heron_core.topology import TopologySpec
from heron_io.logs import TextLines
from heron_spark.backend import command_server
from heron_spark.compile.plan import compile_topology
from heron_spark.driver.progress import Progress, line_about
from heron_spark.driver.run import checkpoint, end_text, run_in
from heron_spark.driver.session import check_environment, session
from heron_spark.options import SparkOptions

log = logging.getLogger("heron_spark")


class DetachedEnding(Enum):
    """How a run ended."""

    ENDED = "ended"
    """The topology is at its end."""
    STOPPED = "stopped"
    """It was told to."""
    FAILED = "failed"
    """It would fail again."""
    LOST = "lost"
    """A restart may succeed: the JVM died."""


@dataclass(frozen=True, slots=True)
class DetachedResult:
    """How a run ended, and why in a line."""

    ending: DetachedEnding
    reason: str


class Logs:
    """Logs of printed lines: one COMPONENT-TASK.log per task, as for native topologies."""

    def __init__(self, folder: str, packing: PackingPlan, settings: LogSettings) -> None:
        self._logs = {
            task: _log_at(os.path.join(folder, f"{each.component}-{task}.log"), settings)
            for task, each in packing.instances.items()
        }

    def add(self, progress: Progress) -> None:
        """The lines of a batch."""
        for each in progress.results:
            self._write(self._logs[each["task"]], each["label"], each["printed"])

    def close(self) -> None:
        """Let the files go."""
        for each in self._logs.values():
            each.close()

    @staticmethod
    def _write(handler: logging.Handler, label: str, lines: Iterable[str]) -> None:
        for line in lines:
            text = line.removeprefix(f"{label} | ")
            handler.handle(logging.LogRecord(label, logging.INFO, "", 0, text, None, None))


def _log_at(path: str, settings: LogSettings) -> RotatingFileHandler:
    """A log file created at once and opened at the first line, because tasks may be thousands."""
    with open(path, "a"):
        pass
    handler = RotatingFileHandler(
        path,
        maxBytes=settings.bytes_max,
        backupCount=settings.files,
        encoding="utf-8",
        delay=True,
    )
    handler.setFormatter(TextLines())
    return handler


def run_detached(
    topology: TopologySpec,
    packing: PackingPlan,
    options: SparkOptions,
    arguments: command_server.CommandServerArguments,
    logs: str,
    announce: Callable[[str], None],
) -> DetachedResult:
    """Run a checked topology until its end, SIGTERM, or a failure. `packing` is the plan in the
    state store, `logs` the folder of the tasks' logs; `announce` gets the application's id.
    """
    from heron_spark.driver.query import JvmGone

    try:
        return _run(topology, packing, options, arguments, logs, announce)
    except JvmGone as error:
        return DetachedResult(DetachedEnding.LOST, str(error))
    except HeronError as error:
        return DetachedResult(DetachedEnding.FAILED, str(error))


def _run(
    topology: TopologySpec,
    packing: PackingPlan,
    options: SparkOptions,
    arguments: command_server.CommandServerArguments,
    logs: str,
    announce: Callable[[str], None],
) -> DetachedResult:
    plan = compile_topology(topology)
    with ExitStack() as stack:
        folder = stack.enter_context(checkpoint(plan, options))
        if folder.ended:
            return DetachedResult(DetachedEnding.ENDED, end_text(topology, folder))
        check_environment(options)
        server = stack.enter_context(command_server.serving(topology, packing, arguments))
        printed = stack.enter_context(closing(Logs(logs, packing, log_settings(topology.config))))
        for notice in plan.notices:
            log.warning("%s", notice)

        def report(progress: Progress) -> None:
            server.record_batch(progress)
            printed.add(progress)
            log.debug("%s", line_about(progress).removeprefix("heronpy: "))

        spark = stack.enter_context(session(topology.name, options, lambda: folder.ended))
        announce(str(spark.sparkContext.applicationId))
        run_in(spark, plan, folder, options, report, server.attach)
        if folder.ended:
            return DetachedResult(DetachedEnding.ENDED, f"{topology.name} has already finished")
        return DetachedResult(DetachedEnding.STOPPED, "SIGTERM")
