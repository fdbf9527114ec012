"""Spouts whose rows Spark reads: their frames become part of the query.

    the table's frame ─ dealt out by the hash of a row ─ blocks ─┐
    rate-micro-batch ─ a row for each partition of spouts ───────┴ exchange ─ level 0 …

Spark's log of offsets fixes the rows of a table for a batch before the batch runs, so a repeated
batch gets equal rows. The values of a row alone decide its task, independently of the cores of a
continued run. Spark's file stream reads files; a static frame is written to the checkpoint folder
once, and read from there, because a second evaluation might give other rows.

A finite table ends when, according to the log, a batch brought no new rows of the table.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from heron_api.user_errors import format_error
from heron_connectors.spark import frames
from heron_connectors.tables import source as tables
from heron_core.errors import TopologyError, UsageError
from heron_core.topology import ComponentSpec
from heron_core.wire.pickled import opened
from heron_io.imports import put_on_search_path
from heron_spark.batch_log.blocks import LevelPartition
from heron_spark.batch_log.checkpoint_dir import CheckpointDir, write_whole
from heron_spark.compile.plan import QueryPlan
from heron_spark.compile.ticks import wants_ticks
from heron_spark.driver.connector_packages import missing_package
from heron_spark.driver.csv_schema import (
    as_written,
    csv_schema,
    folder_columns,
    with_left_out,
    with_misread,
)
from heron_spark.driver.json_checks import check_json
from heron_spark.driver.parquet_durations import with_durations
from heron_spark.driver.session import first_line
from heron_spark.worker.python_worker import BEGIN, SCHEMA, rows_of_blocks
from heron_spark.worker.row_blocks import pack_rows
from heronpy_compat import aliases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILE_FORMATS = frozenset({"parquet", "csv", "json", "text", "orc"})
"""What Spark's file stream reads."""
USUAL_OPTIONS = {
    # As the native engine has it.
    "csv": {"header": "true", "multiLine": "true", "escape": '"'},
}
READ_OR_LEFT_OUT = {"columnNameOfCorruptRecord": frames.LEFT_OUT, "mode": "PERMISSIVE"}
"""Default options of CSV and JSON: an unreadable row is kept in a column, and reported by the
spout. Spark's own default turns unreadable values into null.
"""
BATCH_BYTES = str(64 * 1024 * 1024)
"""Of files, for one batch of a table: some seconds of work; `maxBytesPerTrigger` of the options
says otherwise."""
FROZEN_ROWS = 100_000
"""Maximum size of a file of a static frame in the checkpoint folder."""
DEAL = "__heronpy_task__"
TIME = "__heronpy_time__"
ROW_SETTINGS = {
    # The engine's own rows are blocks of a megabyte, a table's are short: bytes bound both.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(16 * 1024 * 1024),
}
AS_TEXT = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
"""Columns named by folders are texts, as on the native engine."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Makes blocks of a table's rows: a function of Arrow batches for mapInArrow.

    The last two columns are the batch's time and whose a row is. A block is the task, then the rows
    as an Arrow stream.
    """

    tasks: tuple[int, ...]
    partitions: tuple[int, ...]
    """Where each task runs on level 0."""
    count: int
    """Number of partitions of level 0; the rows also announce the start of a batch. With
    availableNow the driving source ends before the tables.
    """

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        has_begun = False
        for batch in batches:
            *_, time, assigned = batch.columns
            rows = batch.select(list(range(batch.num_columns - 2)))
            if batch.num_rows and not has_begun:
                payload, has_begun = time[0].as_py().encode(), True
                begins = [(BEGIN, partition, payload) for partition in range(self.count)]
                yield rows_of_blocks(begins, self.count)
            for index in pc.unique(assigned).to_pylist():
                payload = pack_rows(self.tasks[index], rows.filter(pc.equal(assigned, index)))
                partition = self.partitions[index]
                yield rows_of_blocks([(0, partition, payload)], partition + 1)


@dataclass(frozen=True, slots=True)
class Table:
    """A spout's frame."""

    component: ComponentSpec
    frame: "DataFrame"
    is_finite: bool
    """Such a frame is one source of the query."""


class Tables:
    """The tables of a topology, the finite ones first: so their offsets are in known lines."""

    def __init__(self, plan: QueryPlan, all_tables: Sequence[Table]) -> None:
        self._plan = plan
        self._tables = sorted(all_tables, key=lambda each: not each.is_finite)

    def frame(self, driving: "DataFrame | None", slots: int) -> "DataFrame":
        """Input of level 0: `driving` has a row for each partition. Without it a batch starts only
        for new rows of a table.
        """
        count = self._plan.partitions(0, slots)
        partition_of = self._plan.partition_of(slots)
        parts = [] if driving is None else [beginnings(driving, count)]
        parts += [
            _blocks(table.frame, self._tasks(table), partition_of, count) for table in self._tables
        ]
        rows = parts[0]
        for part in parts[1:]:
            rows = rows.union(part)
        return rows.repartitionById(count, "id")

    def _tasks(self, table: Table) -> tuple[int, ...]:
        name, instances = table.component.name, self._plan.packing.instances
        return tuple(task for task, each in instances.items() if each.component == name)

    @property
    def batch_tables(self) -> list[str]:
        """The spouts whose frames are no streams."""
        return [each.component.name for each in self._tables if not each.frame.isStreaming]

    @property
    def streams(self) -> list[str]:
        """The spouts whose frames do not end."""
        return [each.component.name for each in self._tables if not each.is_finite]

    def needs_driving(self, folder: CheckpointDir) -> bool:
        """Whether batches have to come without input; as before, where a checkpoint has begun."""
        lines = _offsets(folder, folder.batches_done())
        return len(lines) > len(self._tables) if lines else not self.brings_batches

    @property
    def brings_batches(self) -> bool:
        """Whether no batch is needed but when a table has something new: all spouts are streams,
        and no component goes by time."""
        topology = self._plan.topology
        ticks = wants_ticks(topology)
        spouts = sum(each.is_spout for each in topology.components)
        are_streams = all(each.frame.isStreaming and not each.is_finite for each in self._tables)
        return not ticks and are_streams and spouts == len(self._tables)

    def exhausted(self, folder: CheckpointDir, batch: int) -> set[int]:
        """Tasks of finite tables without new rows in batch `batch`."""
        now, before = (_offsets(folder, each) for each in (batch, batch - 1))
        ended = [
            each
            for line, each in enumerate(self._tables, 1)
            if each.is_finite and before and now[line] == before[line]
        ]
        return {task for each in ended for task in self._tasks(each)}


def _offsets(folder: CheckpointDir, batch: int) -> list[str]:
    """A batch's log line of each source, the driving source first; empty without the batch."""
    try:
        text = Path(folder.query, "offsets", str(batch)).read_text("utf-8")
    except FileNotFoundError:
        return []
    return text.splitlines()[2:]  # behind version and metadata


def beginnings(driving: "DataFrame", count: int) -> "DataFrame":
    """Of consecutive numbers, a row for each partition of level 0: when its batch began."""
    from pyspark.sql import functions

    mark = functions.lit(BEGIN).alias("level")
    partition = functions.pmod(driving.value, functions.lit(count)).cast("int")
    time = _time().cast("binary").alias("payload")
    return driving.select(partition.alias("id"), mark, partition.alias("partition"), time)


def _time() -> Any:
    """Start time of the batch, in milliseconds as text: the key to its number in Spark's log."""
    from pyspark.sql import functions

    return functions.unix_millis(functions.current_timestamp()).cast("string")


def _blocks(
    frame: "DataFrame",
    tasks: tuple[int, ...],
    partition_of: Mapping[int, LevelPartition],
    count: int,
) -> "DataFrame":
    from pyspark.sql import functions

    columns = [field.name for field in frame.schema.fields if _has_hash(field.dataType)]
    chosen = functions.lit(0)
    if columns and len(tasks) > 1:
        values = functions.hash(*(frame[f"`{column}`"] for column in columns))
        chosen = functions.pmod(values, functions.lit(len(tasks)))
    rows = PartitionRows(tasks, tuple(partition_of[task][1] for task in tasks), count)
    return frame.withColumns({TIME: _time(), DEAL: chosen}).mapInArrow(rows, SCHEMA)


def _has_hash(kind: Any) -> bool:
    """Whether Spark hashes values of a type: not maps, nor what has some inside."""
    return not any(word in kind.simpleString() for word in ("map<", "variant"))


# --- from a spout's config to its frame ----------------------------------------------------------


def tables_of(spark: "SparkSession", plan: QueryPlan, folder: CheckpointDir) -> Tables | None:
    """Frames of all spouts fed by Spark; None without such a spout.

    TopologyError in one line for a frame that cannot be loaded, UsageError if the frames differ
    from the checkpoint's.
    """
    fed = [component for component in plan.topology.components if component.config.get(frames.FED)]
    if not fed:
        return None
    _search(plan.topology.search_paths)
    all_tables = [_table(spark, component, folder) for component in fed]
    _claim(folder, {table.component.name: table.is_finite for table in all_tables})
    return Tables(plan, all_tables)


def tables_in_session(spark: "SparkSession", plan: QueryPlan) -> Tables | None:
    """Frames for a user's DataFrame, before its checkpoint is known: Spark itself checks the
    sources. Either all frames are streams, or all are static.
    """
    fed = [each for each in plan.topology.components if each.config.get(frames.FED)]
    return Tables(plan, [_live_table(spark, each) for each in fed]) if fed else None


def _live_table(spark: "SparkSession", component: ComponentSpec) -> Table:
    config = opened(component.config)
    label = f"spout {component.name!r}"
    try:
        made, is_finite = _loaded(spark, config, label)
        return Table(component, _selected(made, config), is_finite)
    except (TopologyError, UsageError):
        raise
    except Exception as error:
        raise _error_of(error, config, label) from None


def _selected(frame: "DataFrame", config: Mapping[str, Any]) -> "DataFrame":
    """Columns for the spout's fields, and the column of unreadable rows."""
    names = [*config[tables.COLUMNS], *({frames.LEFT_OUT} & set(frame.columns))]
    return frame.select(*(f"`{each}`" for each in names))


def _search(paths: Sequence[str]) -> None:
    """The user's functions are opened here as in any instance."""
    aliases.install()
    put_on_search_path(paths)


def _table(spark: "SparkSession", component: ComponentSpec, folder: CheckpointDir) -> Table:
    config = opened(component.config)
    label = f"spout {component.name!r}"
    try:
        frame, is_finite = _loaded(spark, config, label)
        frame = _selected(frame, config)
        if not frame.isStreaming:
            frame, is_finite = _frozen(spark, frame, folder, component.name), True
        return Table(component, frame, is_finite)
    except (TopologyError, UsageError):
        raise
    except Exception as error:
        raise _error_of(error, config, label) from None


def _error_of(error: Exception, config: Mapping[str, Any], label: str) -> TopologyError:
    """One line for an error of the user's function, or of Spark."""
    if frames.FUNCTION in config and not type(error).__module__.startswith("py"):
        return TopologyError(f"{label}: {format_error(error)}")
    return TopologyError(f"{label}: {missing_package(str(error)) or first_line(error)}")


def _loaded(
    spark: "SparkSession", config: Mapping[str, Any], label: str
) -> "tuple[DataFrame, bool]":
    """(frame, whether the frame is a finite stream)"""
    from pyspark.sql import DataFrame

    if frames.FRAME in config:
        return _local_frame(config[frames.FRAME], label), False
    if frames.FUNCTION in config:
        frame = config[frames.FUNCTION](spark)
        if not isinstance(frame, DataFrame):
            kind = type(frame).__name__
            raise TopologyError(f"{label}: its function returns a {kind}, not a DataFrame")
        return frame, False
    kind, follow = config[frames.SPARK_FORMAT], bool(config.get(tables.FOLLOW))
    path, schema = config.get(tables.PATH), config.get(frames.SCHEMA)
    options = {**USUAL_OPTIONS.get(kind, {}), **config.get(frames.OPTIONS, {})}
    if kind in FILE_FORMATS and path is not None:
        try:
            if kind == "json":
                check_json(spark, path, () if schema else config[tables.COLUMNS], options)
            if kind == "parquet" and not schema:
                return _of_parquet(spark, path, config[tables.COLUMNS], options), not follow
            return _of_files(spark, kind, path, schema, options), not follow
        except TopologyError as error:
            raise TopologyError(f"{label}: {error}") from None
    reader = spark.readStream if follow else spark.read
    reader = reader.format(kind).options(**options)
    return (reader.schema(schema) if schema else reader).load(path), False


def _of_parquet(
    spark: "SparkSession", path: str, columns: Sequence[str], options: Mapping[str, str]
) -> "DataFrame":
    """Files as a stream, with durations read as intervals."""
    with settings(spark, AS_TEXT):
        found = spark.read.format("parquet").options(**options).load(path).schema
    schema = with_durations(found, path, columns)
    return _file_stream(spark, "parquet", path, schema, options)


def _of_files(
    spark: "SparkSession",
    kind: str,
    path: str,
    schema: str | None,
    options: Mapping[str, str],
) -> "DataFrame":
    """Files as a stream; of CSV and JSON with a column for rows that cannot be read."""
    given = {option.lower() for option in options}
    tells = kind in ("csv", "json") and not given & {each.lower() for each in READ_OR_LEFT_OUT}
    options = {**options, **READ_OR_LEFT_OUT} if tells else options
    is_ours = kind == "csv" and not schema and not _is_on(options.get("inferSchema"))
    with settings(spark, AS_TEXT):
        if is_ours:
            schema = csv_schema(spark, path, options)
        reader = spark.read.format(kind).options(**options)
        read_schema = (reader.schema(schema) if schema else reader).load(path).schema
        folders = folder_columns(spark, path) if kind == "csv" else []
    frame = _file_stream(
        spark, kind, path, with_left_out(read_schema) if tells else read_schema, options
    )
    if kind == "csv" and tells:
        frame = with_misread(frame, [name for name in read_schema.names if name not in folders][-1])
    return as_written(frame) if is_ours else frame


def _is_on(option: object) -> bool:
    """Of an option of Spark's, which is a text."""
    return str(option).lower() == "true"


def _local_frame(reference: frames.LocalFrame, label: str) -> "DataFrame":
    if reference.frame is None:
        raise TopologyError(
            f"{label}: its DataFrame belongs to the program that made it: start the topology "
            "there, with heronpy_compat.spark.start"
        )
    frame: DataFrame = reference.frame
    return frame


def _file_stream(
    spark: "SparkSession", kind: str, path: str, schema: Any, options: Mapping[str, Any]
) -> "DataFrame":
    given = {each.lower() for each in options}
    if not given & {"maxbytespertrigger", "maxfilespertrigger"}:
        options = {**options, "maxBytesPerTrigger": BATCH_BYTES}
    return spark.readStream.format(kind).schema(schema).options(**options).load(path)


def _frozen(
    spark: "SparkSession", frame: "DataFrame", folder: CheckpointDir, name: str
) -> "DataFrame":
    """The rows of a frame, as they were when the checkpoint was begun, as a stream."""
    path = os.path.join(folder.path, "tables", name)
    done = f"{path}.done"
    if not os.path.exists(done):
        frame.write.mode("overwrite").option("maxRecordsPerFile", FROZEN_ROWS).parquet(path)
        write_whole(done, b"")
    return _file_stream(spark, "parquet", path, frame.schema, {})


def _claim(folder: CheckpointDir, ours: Mapping[str, bool]) -> None:
    """The order of a query's sources is fixed by its checkpoint."""
    path = os.path.join(folder.path, "tables.json")
    if os.path.exists(path):
        theirs = json.loads(Path(path).read_text("utf-8"))
        if list(theirs.items()) != list(ours.items()):
            raise UsageError(
                f"checkpoint {folder.path} was created with other tables ({_listed(theirs)}, not "
                f"{_listed(ours)}): name another --checkpoint"
            )
    elif folder.batches_done() >= 0:
        raise UsageError(
            f"checkpoint {folder.path} was created without the table(s) {_listed(ours)}: name "
            "another --checkpoint"
        )
    else:
        write_whole(path, json.dumps(ours).encode())


def _listed(found: Mapping[str, bool]) -> str:
    return ", ".join(
        f"{name} ({'to its end' if finite else 'followed'})" for name, finite in found.items()
    )


@contextmanager
def settings(spark: "SparkSession", given: Mapping[str, str]) -> Iterator[None]:
    """The session with these settings, restored at the end; a query started meanwhile keeps the
    settings.
    """
    before = {key: spark.conf.get(key, None) for key in given}
    for key, value in given.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
