"""A topology as a streaming query of the user's own session.

The query is Spark's, so a PySpark program can use progress, listeners, stop and awaitTermination.
The session is neither created nor stopped here, and its settings stay.
"""

import os
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from heron_core.errors import HeronError, UsageError
from heron_io.atomic_files import remove
from heron_spark.batch_log.checkpoint_dir import CheckpointDir
from heron_spark.batch_log.job import Job
from heron_spark.compile.main_classes import by_value, pickled_classes
from heron_spark.compile.plan import QueryPlan
from heron_spark.driver.progress import Console, Progress
from heron_spark.driver.run import await_hosts, checkpoint_folder, end_text
from heron_spark.driver.session import is_local, is_one_machine
from heron_spark.options import BATCH_SECS, MAX_BATCH, SparkOptions
from heron_spark.session.in_session_batches import Batches
from heron_spark.session.user_session import check_session, default_checkpoint, planned, slots_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from heron_spark.driver.tables import Tables

Trigger = str | Mapping[str, Any] | None
Counts = dict[str, dict[str, int]]
COUNTERS = ("executed", "emitted", "errors", "failed", "acked")


class _Claim:
    """Resources of a running query: its checkpoint's lock, its hosts' file."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._lock = threading.Lock()
        self.query: StreamingQuery | None = None

    @property
    def is_active(self) -> bool:
        """Whether the query runs, or is about to be started; not if its session is gone."""
        try:
            return self.query is None or bool(self.query.isActive)
        except Exception:
            return False

    def release(self) -> None:
        """The query has ended; once is enough."""
        with self._lock:
            self._stack.close()


_claims: dict[str, _Claim] = {}
"""Checkpoint folder -> owner in this process: file locks only work between processes."""
_lock = threading.Lock()


def start(
    topology: Any,
    spark: "SparkSession",
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    trigger: Trigger = None,
    query_name: str | None = None,
    config: Mapping[str, Any] | None = None,
    max_batch: int = MAX_BATCH,
    batch_secs: float = BATCH_SECS,
) -> "StreamingQuery":
    """Start a topology in a session; returns Spark's StreamingQuery.

    `topology` is a Topology class, a TopologyBuilder, a TopologySpec or the path of a file;
    `config` overrides its config. `checkpoint` is a folder reachable by every worker, for a later
    continuation; without one (on one machine only) the state is lost at the end, unless the session
    has spark.sql.streaming.checkpointLocation. `trigger` is an interval ("5 seconds") or the
    arguments of DataStreamWriter.trigger, as a dict. The query's progress has each component's
    counters as observed metrics. The query ends when all spouts have finished. HeronError in one
    line for a topology that cannot run.

        query = start(WordCount, spark, checkpoint="/shared/words.checkpoint", trigger="5 seconds")
        query.awaitTermination()
    """
    options = SparkOptions(
        master=getattr(getattr(spark, "sparkContext", None), "master", ""),
        checkpoint=None if checkpoint is None else os.fspath(checkpoint),
        max_batch=max_batch,
        batch_secs=batch_secs,
    )
    return _start(topology, spark, options, trigger, query_name, config, Console().print_lines)


def run(
    topology: Any,
    spark: "SparkSession",
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    config: Mapping[str, Any] | None = None,
) -> Counts:
    """Run a topology to its end: all spouts finish, or read static DataFrames.

    Returns {component: {"executed", "emitted", "errors", "failed", "acked"}}, of the batches of
    this run. HeronError if a component fails.

        counts = run(WordCount, spark)
        print(counts["count"]["executed"])
    """
    counts: Counts = {}
    console = Console()

    def report(progress: Progress) -> None:
        console.print_lines(progress)
        add_counts(counts, progress)

    given = None if checkpoint is None else os.fspath(checkpoint)
    options = SparkOptions(
        master=getattr(getattr(spark, "sparkContext", None), "master", ""), checkpoint=given
    )
    query = _start(topology, spark, options, None, None, config, report, to_its_end=True)
    from heron_spark.driver.query import error_line

    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
        raise
    except Exception as error:
        raise HeronError(error_line(error)) from None
    finally:
        _release_ended()
    return counts


def add_counts(counts: Counts, progress: Progress) -> None:
    """Add what the tasks did in a batch."""
    for each in progress.results:
        own_counts = counts.setdefault(each["component"], dict.fromkeys(COUNTERS, 0))
        for counter in COUNTERS:
            own_counts[counter] += each[counter]


def _start(
    topology: Any,
    spark: "SparkSession",
    options: SparkOptions,
    trigger: Trigger,
    query_name: str | None,
    config: Mapping[str, Any] | None,
    report: Callable[[Progress], None],
    *,
    to_its_end: bool = False,
) -> "StreamingQuery":
    check_session(spark)
    if options.max_batch < 1 or not options.batch_secs > 0:
        raise UsageError("max_batch must be at least 1, and batch_secs more than 0")
    plan = planned(topology, config)
    given = options.checkpoint or default_checkpoint(spark, plan.topology.name)
    if given is None and not is_one_machine(options.master):
        raise UsageError(
            f"a session at {options.master} needs checkpoint=, a folder that every worker reaches"
        )
    with ExitStack() as stack:
        claim = _Claim(stack)
        folder = _claimed(stack, plan, given, claim)
        query = _query(plan, spark, folder, options, trigger, query_name, report, stack, to_its_end)
        claim.query = query
        stack_of_query = stack.pop_all()
    claim._stack = stack_of_query
    from heron_spark.session.query_listener import listener_of

    listener_of(spark).at_end(str(query.runId), claim.release)
    if not claim.is_active:  # it has ended before anybody listened
        claim.release()
    return query


def _claimed(stack: ExitStack, plan: QueryPlan, given: str | None, claim: _Claim) -> CheckpointDir:
    """The checkpoint folder, locked until the stack is closed."""
    _release_ended()
    path = None if given is None else os.path.abspath(given)
    with _lock:
        if path is not None and path in _claims:
            raise UsageError(
                f"checkpoint {path} is in use by a query of this program: first stop the query"
            )
        if path is not None:
            _claims[path] = claim
            stack.callback(_claims.pop, path, None)
    folder = stack.enter_context(checkpoint_folder(plan, path))
    if folder.ended:
        raise UsageError(end_text(plan.topology, folder).replace("--checkpoint", "checkpoint"))
    return folder


def _release_ended() -> None:
    """Spark reports the end of a query in a thread of its own, and omits queries that ended with
    the session.
    """
    for each in list(_claims.values()):
        if not each.is_active:
            each.release()


def _query(
    plan: QueryPlan,
    spark: "SparkSession",
    folder: CheckpointDir,
    options: SparkOptions,
    trigger: Trigger,
    query_name: str | None,
    report: Callable[[Progress], None],
    stack: ExitStack,
    to_its_end: bool,
) -> "StreamingQuery":
    from heron_spark.batch_log.redistribute import move_blocks
    from heron_spark.driver.query import dataframe
    from heron_spark.driver.tables import ROW_SETTINGS, settings, tables_of

    run, slots = uuid.uuid4().hex[:12], slots_of(spark)
    move_blocks(folder, plan, slots)
    tables = tables_of(spark, plan, folder)
    if to_its_end:
        _check_ends(tables)
    driven = tables is None or tables.needs_driving(folder)
    job = Job(
        by_value(plan.topology), slots, options.max_batch, options.batch_secs,
        not is_local(options.master), pickled_classes(plan.topology), driven=driven,
    )  # fmt: skip
    job.write(folder, run)
    stack.callback(await_hosts, run)
    stack.callback(remove, folder.run_file(run))
    rows = observed(dataframe(spark, plan, folder, run, slots, tables, driven=driven), plan)
    batches = Batches(plan, folder, tables, report)
    writer = rows.writeStream.foreachBatch(batches).option("checkpointLocation", folder.query)
    if query_name or plan.topology.name:
        writer = writer.queryName(query_name or plan.topology.name)
    if trigger is not None:
        writer = writer.trigger(**_trigger(trigger))
    with settings(spark, ROW_SETTINGS):
        query = batches.query = writer.start()
    return query


def _trigger(trigger: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"processingTime": trigger} if isinstance(trigger, str) else dict(trigger)


def _check_ends(tables: "Tables | None") -> None:
    streams = tables.streams if tables is not None else []
    if streams:
        raise UsageError(
            f"spout {streams[0]!r} reads an unbounded stream: use start, with "
            f"trigger={{'availableNow': True}} for the present data"
        )


def observed(rows: "DataFrame", plan: QueryPlan) -> "DataFrame":
    """With each component's counters as observed metrics of its name."""
    from pyspark.sql import functions

    from heron_spark.worker.python_worker import LAST

    is_result = functions.col("level") == LAST
    results = functions.when(is_result, functions.col("payload").cast("string"))
    for component in plan.topology.components:
        rows = rows.observe(component.name, *counters(results, component.name))
    return rows


def counters(results: Any, component: str) -> list[Any]:
    """Sums of a component's counters, over rows whose column `results` is JSON or null."""
    from pyspark.sql import functions

    mine = functions.when(functions.get_json_object(results, "$.component") == component, results)
    sums = (
        functions.sum(functions.get_json_object(mine, f"$.{counter}").cast("bigint"))
        for counter in COUNTERS
    )
    return [
        functions.coalesce(total, functions.lit(0)).alias(counter_name)
        for counter_name, total in zip(COUNTERS, sums, strict=True)
    ]
