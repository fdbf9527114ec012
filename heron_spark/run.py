"""`--engine spark`: compile, start, watch, stop."""

import os
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError
from heron_core.topology import TopologySpec
from heron_spark.compile import Plan, compile_topology
from heron_spark.files import Folder
from heron_spark.job import Job
from heron_spark.options import SparkOptions
from heron_spark.progress import Console, Report
from heron_spark.session import check_environment, check_word, is_local, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from heron_spark.query import Query

LOOK_SECS = 0.1
HOSTS_END_SECS = 10.0
"""User code may take 5 s to close; see host.py."""
EXIT_KILLED = 130


def run_on_spark(
    topology: TopologySpec, options: SparkOptions, report: Report | None = None
) -> int:
    """Run a checked topology as a query until it ends, `options.seconds` are over, or Ctrl-C.

    Ctrl-C stops after the batch that runs, a second one at once. What components print goes to
    stdout; a line about the progress every two seconds goes to stderr unless `report` is given,
    which gets each batch. Returns the exit code. TopologyError, UsageError, HeronError: one line.
    """
    options.check()
    check_word(options.master)
    plan = compile_topology(topology)
    with ExitStack() as stack:
        folder = stack.enter_context(checkpoint(plan, options))
        for notice in plan.notices:
            print(f"heronpy: {notice}", file=sys.stderr)
        if folder.ended:
            print(
                f"heronpy: {topology.name} has come to its end in checkpoint {folder.path}; "
                "give another --checkpoint to run it again",
                file=sys.stderr,
            )
            return 0
        check_environment(options)
        spark = stack.enter_context(session(topology.name, options, topology.search_paths))
        return run_in(spark, plan, folder, options, report or Console())


def run_in(
    spark: "SparkSession", plan: Plan, folder: Folder, options: SparkOptions, report: Report
) -> int:
    """The same in a session that is there already."""
    from heron_spark.query import Query  # it needs pyspark and pyarrow, which not all have

    run = uuid.uuid4().hex[:12]
    slots = spark.sparkContext.defaultParallelism
    echo = not is_local(options.master)
    Job(plan.topology, slots, options.max_batch, options.batch_secs, echo).write(folder, run)
    query = Query(plan, folder, report)
    interrupts = Interrupts(query)
    try:
        with interrupts:
            query.start(spark, run, slots)
            _watch(query, interrupts, options.seconds)
    finally:
        os.unlink(folder.run_file(run))
        _await_hosts(run)
    return EXIT_KILLED if interrupts.count > 1 else 0


def _watch(query: "Query", interrupts: "Interrupts", seconds: float | None) -> None:
    deadline = time.monotonic() + seconds if seconds else float("inf")
    while not query.wait(LOOK_SECS):
        if time.monotonic() >= deadline:
            query.stop()
        if interrupts.count > 1:
            query.kill()


@contextmanager
def checkpoint(plan: Plan, options: SparkOptions) -> Iterator[Folder]:
    """The run's checkpoint folder, claimed for the topology."""
    if options.checkpoint is not None:
        folder = Folder(options.checkpoint)
        folder.claim(plan.topology)
        yield folder
        return
    if not is_local(options.master):
        raise HeronError(
            f"--master {options.master} needs --checkpoint, a folder that every worker reaches"
        )
    path = tempfile.mkdtemp(prefix="heronpy-checkpoint-")
    try:
        folder = Folder(os.path.join(path, "checkpoint"))
        folder.claim(plan.topology)
        yield folder
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _await_hosts(run: str) -> None:
    """Hosts on this machine end by themselves; wait until they have."""
    place = os.path.join(tempfile.gettempdir(), f"heronpy-spark-{os.getuid()}-{run}")
    deadline = time.monotonic() + HOSTS_END_SECS
    while time.monotonic() < deadline and _sockets(place):
        time.sleep(LOOK_SECS)
    shutil.rmtree(place, ignore_errors=True)


def _sockets(place: str) -> list[str]:
    names = os.listdir(place) if os.path.isdir(place) else []
    return [each for each in names if not each.endswith(".lock")]


class Interrupts:
    """Ctrl-C while a query runs: the first stops it after the batch, the second at once.

    PySpark's own handler would cancel the jobs that run.
    """

    def __init__(self, query: "Query") -> None:
        self.count = 0
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
        self.count += 1
        self._query.stop()
