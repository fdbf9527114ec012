"""A component's stream as a DataFrame in the user's session."""

import atexit
import inspect
import os
import pickle
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heron_core.errors import TopologyError, UsageError
from heron_core.records import replace
from heron_core.topology import (
    DEFAULT_STREAM,
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.validation import choices
from heron_spark.batch_log.job import Job
from heron_spark.compile.columns import emits_batches
from heron_spark.compile.main_classes import by_value, pickled_classes
from heron_spark.compile.plan import QueryPlan, compile_topology
from heron_spark.driver.session import is_one_machine
from heron_spark.options import BATCH_SECS, MAX_BATCH
from heron_spark.session.in_session import counters
from heron_spark.session.user_session import check_session, planned, slots_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from heron_spark.driver.tables import Tables


def dataframe_of(
    topology: Any,
    spark: "SparkSession",
    component: str,
    stream: str = DEFAULT_STREAM,
    *,
    schema: str | None = None,
    config: Mapping[str, Any] | None = None,
    checkpoint: str | None = None,
) -> "DataFrame":
    """Tuples of a component's stream as rows: a streaming DataFrame, or a static one if all spouts
    read static DataFrames.

    The columns are the stream's fields with their declared types, or `schema` ("word string, count
    bigint"). State of components is in the folder `heronpy` of the query's checkpointLocation; a
    static DataFrame is computed once, into a temporary folder or `checkpoint`. HeronError in one
    line for an impossible request.
    """
    check_session(spark)
    from heron_spark.driver.tables import tables_in_session  # it needs pyarrow

    plan_of_session = planned(topology, config)
    columns = _schema(plan_of_session.topology, component, stream, schema)
    plan = compile_topology(_with_sink(plan_of_session.topology, component, stream, columns))
    tables = tables_in_session(spark, plan)
    is_stream = _is_stream(plan, tables)
    if not is_stream and checkpoint is None:
        checkpoint = _scratch_folder(spark)
    name = f"{plan_of_session.topology.name}.{component}.{stream}"
    rows = _rows(spark, plan, tables, None if is_stream else checkpoint, name, columns)
    return _observed(rows, plan_of_session).where("row is not null").select("row.*")


def _schema(topology: TopologySpec, component: str, stream: str, given: str | None) -> "StructType":
    """The columns; TopologyError for an unknown component or stream, or for missing types."""
    from pyspark.sql.types import StructType

    sender = topology.by_name.get(component)
    if sender is None:
        hint = choices("components", component, topology.by_name)
        raise TopologyError(f"topology {topology.name} has no component {component!r}; {hint}")
    spec = sender.stream(stream)
    if spec is None:
        hint = choices("streams", stream, [output.name for output in sender.outputs])
        raise TopologyError(f"component {component!r} has no stream {stream!r}; {hint}")
    label = f"stream {stream!r} of {component!r}"
    if spec.direct:
        raise TopologyError(f"{label} is a direct stream, whose tuples are for single tasks")
    if given is None and not spec.types:
        example = ", ".join(f"'{field}': 'string'" for field in spec.fields)
        raise TopologyError(
            f"{label} declares no types: outputs = {{{example}}}, or give dataframe_of a schema"
        )
    text = given or ", ".join(
        f"`{name}` {kind}" for name, kind in zip(spec.fields, spec.types, strict=True)
    )
    try:
        columns = StructType.fromDDL(text)
        assert isinstance(columns, StructType)
    except Exception:
        raise UsageError(
            f"{label}: {text!r} is not a schema, as 'word string, count bigint'"
        ) from None
    if tuple(columns.names) != spec.fields:
        raise UsageError(
            f"{label} has the fields {', '.join(spec.fields)}, "
            f"the schema {', '.join(columns.names)}"
        )
    return columns


def _with_sink(
    topology: TopologySpec, component: str, stream: str, columns: "StructType"
) -> TopologySpec:
    """The topology with a last bolt that makes rows of the stream, whose values are checked."""
    from heron_spark.worker import frame_sink  # it needs pyarrow

    sender = topology.by_name[component]
    components = tuple(
        replace(spec, outputs=tuple(_typed(one, stream, columns) for one in spec.outputs))
        if spec.name == component
        else spec
        for spec in topology.components
    )
    same = GroupingSpec(GroupingKind.CUSTOM, custom=pickle.dumps(frame_sink.GROUPING))
    sink = ComponentSpec(
        frame_sink.NAME,
        False,
        frame_sink.OF_BATCHES if emits_batches(sender) else frame_sink.OF_TUPLES,
        sender.parallelism,
        (),
        (InputSpec(component, stream, same),),
        {
            frame_sink.SCHEMA: _arrow_schema(columns),
            frame_sink.STREAM: f"{component}.{stream}",
        },
    )
    return replace(topology, components=(*components, sink))


def _typed(spec: StreamSpec, stream: str, columns: "StructType") -> StreamSpec:
    if spec.name != stream or spec.types:
        return spec
    return replace(spec, types=tuple(each.dataType.simpleString() for each in columns))


def _arrow_schema(columns: "StructType") -> bytes:
    from pyspark.sql.pandas.types import to_arrow_schema

    known = inspect.signature(to_arrow_schema).parameters
    # Before 4.3 that was the default.
    given: Any = {"timezone": "UTC"} if "timezone" in known else {}
    return bytes(to_arrow_schema(columns, **given).serialize())


def _is_stream(plan: QueryPlan, tables: "Tables | None") -> bool:
    """Whether spouts read streams, or are sources themselves; UsageError for a mixture."""
    batch = tables.batch_tables if tables is not None else []
    if batch and len(batch) < sum(each.is_spout for each in plan.topology.components):
        raise UsageError(
            f"spout {batch[0]!r} reads a DataFrame that is not a stream, unlike the other "
            "spouts: use spark.readStream, or heronpy_compat.spark.start"
        )
    return not batch


def _scratch_folder(spark: "SparkSession") -> str:
    master = str(spark.sparkContext.master)
    if not is_one_machine(master):
        raise UsageError(
            f"a session at {master} needs checkpoint=, a folder that every worker reaches"
        )
    path = tempfile.mkdtemp(prefix="heronpy-frame-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return os.path.join(path, "checkpoint")


def job_of(plan: QueryPlan, slots: int, *, driven: bool, once: bool) -> Job:
    """Parameters for the hosts of a DataFrame. The hosts echo printed lines on every master,
    because a DataFrame lacks a driver to show them.
    """
    return Job(
        by_value(plan.topology), slots, MAX_BATCH, BATCH_SECS, True, pickled_classes(plan.topology),
        of_frame=True, driven=driven, once=once,
    )  # fmt: skip


def _rows(
    spark: "SparkSession",
    plan: QueryPlan,
    tables: "Tables | None",
    folder: str | None,
    name: str,
    columns: "StructType",
) -> "DataFrame":
    """The plan's last level: a row for each task's results and for each of the stream's."""
    from pyspark.sql.types import StringType, StructField, StructType

    from heron_spark.driver.query import level_sizes, source
    from heron_spark.session.query_listener import listener_of
    from heron_spark.worker.frame_level import RESULTS, ROW, FrameLevel, FrameRows
    from heron_spark.worker.python_worker import SCHEMA

    slots = slots_of(spark)
    driven = folder is None and (tables is None or not tables.brings_batches)
    job = job_of(plan, slots, driven=driven, once=folder is not None).to_json()
    listener_of(spark)
    rows = source(spark, plan, slots, tables, driven=driven, is_stream=folder is None)
    run = uuid.uuid4().hex[:12]
    sizes = level_sizes(plan, slots)
    for level, (count, following) in enumerate(sizes):
        if level > 0:
            rows = rows.repartitionById(count, "id")
        one = FrameLevel(folder or "", run, level, following, job, name)
        rows = rows.mapInArrow(one, SCHEMA)
    row_type = StructType([StructField(RESULTS, StringType()), StructField(ROW, columns)])
    rows = rows.repartitionById(sizes[-1][0], "id")
    return rows.mapInArrow(FrameRows(_arrow_schema(columns)), row_type)


def _observed(rows: "DataFrame", plan: QueryPlan) -> "DataFrame":
    """With each component's counters as observed metrics, which a query's progress has."""
    from pyspark.sql import functions

    for each in plan.topology.components:
        rows = rows.observe(each.name, *counters(functions.col("results"), each.name))
    return rows
