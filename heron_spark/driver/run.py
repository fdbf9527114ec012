"""`--engine spark`: compile, start, watch, stop."""

import os
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError
from heron_core.records import replace
from heron_core.topology import TopologySpec
from heron_io.atomic_files import remove
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.compile.plan import QueryPlan, compile_topology
from heron_spark.driver.progress import Console, Report
from heron_spark.driver.session import check_environment, is_local, is_one_machine, session
from heron_spark.options import SparkOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from heron_spark.driver.query import Query

POLL_SECS = 0.1
HOSTS_END_SECS = 10.0
"""User code may take 5 s to close; see task_host.py."""
EXIT_KILLED = 130


def run_on_spark(
    topology: TopologySpec,
    options: SparkOptions,
    report: Report | None = None,
    prepare: Callable[[SparkOptions], SparkOptions] | None = None,
) -> int:
    """Run a checked topology as a query until it ends, `options.seconds` are over, or Ctrl-C.

    Ctrl-C stops after the running batch, a second Ctrl-C at once. Output of components goes to
    stdout; a progress line goes to stderr every two seconds, unless `report` is given, which
    receives each batch. `prepare` receives the checked options and returns the final ones. Returns
    the exit code. TopologyError, UsageError, HeronError: one line.
    """
    options.check()
    plan = compile_topology(topology)
    with ExitStack() as stack:
        folder = stack.enter_context(checkpoint(plan, options))
        for notice in plan.notices:
            print(f"heronpy: {notice}", file=sys.stderr)
        if folder.ended:
            print(f"heronpy: {end_text(topology, folder)}", file=sys.stderr)
            return 0
        check_environment(options)
        options = options if prepare is None else prepare(options)

        def at_leisure() -> bool:
            """A second Ctrl-C skips the orderly wait."""
            return folder.ended or options.seconds is not None

        spark = stack.enter_context(session(topology.name, options, at_leisure))
        return run_in(spark, plan, folder, options, report or Console())


def end_text(topology: TopologySpec, folder: CheckpointDir) -> str:
    """Why a topology does not run again."""
    return (
        f"{topology.name} has already finished in checkpoint {folder.path}; to run the topology "
        "again, name another --checkpoint"
    )


def run_in(
    spark: "SparkSession",
    plan: QueryPlan,
    folder: CheckpointDir,
    options: SparkOptions,
    report: Report,
    attend: Callable[["Query"], None] | None = None,
) -> int:
    """Run on Spark in an existing session.

    With `attend`, called with the query before its first batch, a signal ends the query at once;
    for a graceful end the caller pauses the query first.
    """
    from heron_spark.driver.query import Query  # it needs pyspark and pyarrow, which not all have

    run = uuid.uuid4().hex[:12]
    slots = spark.sparkContext.defaultParallelism
    echo = not is_local(options.master)
    paths = plan.topology.search_paths if options.search_paths is None else options.search_paths
    there = replace(plan.topology, search_paths=paths)
    Job(there, slots, options.max_batch, options.batch_secs, echo).write(folder, run)
    query = Query(plan, folder, report)
    interrupts = Interrupts(query, patience=1 if attend is None else 0)
    try:
        with interrupts:
            if attend is not None:
                attend(query)
            query.start(spark, run, slots)
            _watch(query, interrupts, options.seconds)
    finally:
        remove(folder.run_file(run))
        await_hosts(run)
    return EXIT_KILLED if interrupts.impatient else 0


def _watch(query: "Query", interrupts: "Interrupts", seconds: float | None) -> None:
    deadline = time.monotonic() + seconds if seconds else float("inf")
    while not query.wait(POLL_SECS):
        if time.monotonic() >= deadline:
            query.stop()
        if interrupts.impatient:
            query.kill()


@contextmanager
def checkpoint(plan: QueryPlan, options: SparkOptions) -> Iterator[CheckpointDir]:
    """The run's checkpoint folder, claimed for the topology."""
    if options.checkpoint is None and not is_one_machine(options.master):
        raise HeronError(
            f"--master {options.master} needs --checkpoint, a folder that every worker reaches"
        )
    with checkpoint_folder(plan, options.checkpoint) as folder:
        yield folder


@contextmanager
def checkpoint_folder(plan: QueryPlan, given: str | None) -> Iterator[CheckpointDir]:
    """A checkpoint folder, claimed for the topology; without a path, a temporary folder."""
    if given is not None:
        folder = CheckpointDir(given)
        with folder.locked(plan.topology):
            yield folder
        return
    path = tempfile.mkdtemp(prefix="heronpy-checkpoint-")
    try:
        folder = CheckpointDir(os.path.join(path, "checkpoint"))
        with folder.locked(plan.topology):
            yield folder
    finally:
        shutil.rmtree(path, ignore_errors=True)


def await_hosts(run: str) -> None:
    """Wait for the hosts on this machine, which end by themselves."""
    sockets_folder = os.path.join(tempfile.gettempdir(), f"heronpy-spark-{os.getuid()}-{run}")
    deadline = time.monotonic() + HOSTS_END_SECS
    while time.monotonic() < deadline and _sockets(sockets_folder):
        time.sleep(POLL_SECS)
    shutil.rmtree(sockets_folder, ignore_errors=True)


def _sockets(sockets_folder: str) -> list[str]:
    names = os.listdir(sockets_folder) if os.path.isdir(sockets_folder) else []
    return [each for each in names if not each.endswith(".lock")]


class Interrupts:
    """Ctrl-C while a query runs: the first stops it after the batch, the second at once.

    PySpark's own handler would cancel the jobs that run.
    """

    def __init__(self, query: "Query", patience: int) -> None:
        """`patience`: number of signals that only stop the query."""
        self._left = patience
        self.impatient = False
        self._query = query
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, *_: object) -> None:
        self._left -= 1
        self.impatient = self._left < 0
        self._query.stop()
