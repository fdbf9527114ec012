"""What Spark reads, as tuples: a DataFrame, a table in any of its formats, a stream.

On `--engine spark` the engine reads the frame and hands its rows over, batch by batch
(heron_spark/driver/tables.py). Elsewhere pyarrow reads what it can; the rest is refused by name.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heron_api.errors import WrongArgumentError
from heron_connectors.emitted_rows import RowLeftOut
from heron_connectors.tables.source import (
    COLUMNS,
    FOLLOW,
    FORMAT,
    PATH,
    ROWS_PER_TUPLE,
    TableSource,
    TableSpout,
    columns_of_first_file,
)
from heron_connectors.tables.table_files import FileTable, rows_of
from heron_core.errors import ComponentError, TopologyError
from heron_core.topology import TopologySpec
from heron_core.validation import choices

if TYPE_CHECKING:
    from heron_api.topology_context import TopologyContext

FUNCTION = "frame.function"
"""Config key: a function of a SparkSession that returns a DataFrame."""
SPARK_FORMAT = "frame.format"
"""Config key: a format of Spark, such as parquet, csv, json, delta or kafka."""
OPTIONS = "frame.options"
"""Config key: {option: value} of Spark's reader."""
SCHEMA = "frame.schema"
"""Config key: the schema as SQL writes it (`id bigint, text string`); by default the table's."""
FRAME = "frame.dataframe"
"""Config key: a LocalFrame."""
FED = "frame.fed"
"""Config key set by an engine that supplies the rows itself."""

LEARNED = frozenset({"parquet", "csv", "json", "delta"})
"""Formats also readable by pyarrow (the last by deltalake)."""
FOR_BATCHES = frozenset(
    {"maxfilespertrigger", "maxbytespertrigger", "maxcachedfiles", "maxfileage", "latestfirst"}
)
"""Spark options that only limit the batch size."""

LEFT_OUT = "__heronpy_left_out__"
"""Spark's column for the raw text of a corrupt row."""
LEFT_OUT_CHARACTERS = 80
"""Characters of a corrupt row in a message."""

BY_COLUMNS = "frame.by.columns"
"""Config key that an engine sets when rows are emitted as record batches; the stream then has
types."""


class LocalFrame:
    """A DataFrame in a component's config; only the process of the Spark session has the frame."""

    def __init__(self, frame: Any = None) -> None:
        self.frame = frame

    def __reduce__(self) -> Any:
        return (LocalFrame, ())


class FrameSpout(TableSpout):
    """Emits the rows of what Spark reads; made by `load` or `made_by`.

    flights = FrameSpout.load("flights", format="parquet", columns=["carrier"]).spec(par=2)
    late = FrameSpout.made_by(late_flights, columns=["carrier", "delay"]).spec()
    """

    @staticmethod
    def load(
        path: str | os.PathLike[str] | None = None,
        *,
        format: str = "parquet",  # noqa: A002 (Spark's word)
        columns: Sequence[str] | None = None,
        options: Mapping[str, str] | None = None,
        schema: str | None = None,
        rows_per_tuple: int | None = None,
        follow: bool = False,
    ) -> TableSource:
        """A spout over what `spark.read` or, with `follow`, `spark.readStream` loads.

        Its fields are `columns`, or all of the first file's where pyarrow can tell them. Without
        `follow` it ends with the table. TopologyError if the columns cannot be learnt.
        """
        absolute = None if path is None else _absolute(os.fspath(path))
        config: dict[str, Any] = {SPARK_FORMAT: format, FOLLOW: follow}
        if absolute is not None:
            config[PATH] = absolute
        if format in LEARNED - {"delta"}:
            config[FORMAT] = format
        if options:
            config[OPTIONS] = dict(options)
        if schema is not None:
            config[SCHEMA] = schema
        if columns is None:
            if absolute is None or format not in LEARNED or _is_remote(absolute):
                raise TopologyError(f"name the columns of {absolute or format}: columns=[...]")
            columns = columns_of_first_file(FileTable(absolute, config.get(FORMAT)))
        return _source(config, columns, rows_per_tuple)

    @staticmethod
    def made_by(
        function: Callable[[Any], Any], columns: Sequence[str], *, rows_per_tuple: int | None = None
    ) -> TableSource:
        """A spout over the DataFrame, of a table or a stream, that `function(spark)` returns.

        It is called in the process that starts the query, at each start. Only on `--engine spark`.
        """
        return _source({FUNCTION: function}, columns, rows_per_tuple)

    @staticmethod
    def over(
        frame: Any, columns: Sequence[str] | None = None, *, rows_per_tuple: int | None = None
    ) -> TableSource:
        """A spout over a DataFrame, of a table or a stream, of the session in which the topology
        is started (heronpy_compat.spark); its fields are `columns`, or all of the frame's.

        WrongArgumentError for what is no DataFrame, TopologyError for a column that it lacks.
        """
        if not hasattr(frame, "isStreaming"):
            kind = type(frame).__name__
            raise WrongArgumentError(f"a DataFrame of Spark is needed here, not a {kind}")
        known = list(frame.columns)
        for column in columns or ():
            if column not in known:
                hint = choices("columns", column, known)
                raise TopologyError(f"the DataFrame has no column {column!r}; {hint}")
        return _source({FRAME: LocalFrame(frame)}, columns or known, rows_per_tuple)

    def initialize(self, config: dict[str, Any], context: "TopologyContext") -> None:
        """As a TableSpout, unless the engine hands rows over; ComponentError where it cannot."""
        self._is_fed, self._by_columns = bool(config.get(FED)), bool(config.get(BY_COLUMNS))
        if self._is_fed:
            rows = config.get(ROWS_PER_TUPLE)
            self._rows_per_tuple = None if rows is None else int(rows)
            return
        problem = problem_without_spark(context.get_component_id(), config)
        if problem:
            raise ComponentError(problem)
        super().initialize(config, context)

    def take_rows(self, batch: Any) -> list[RowLeftOut]:
        """Emit the rows of a pyarrow.RecordBatch in order; corrupt rows are left out, with an
        error each."""
        left_out: list[RowLeftOut] = []
        if LEFT_OUT in batch.schema.names:
            batch, left_out = _readable(batch)
        self._emit_rows(batch)
        return left_out

    def _emit_rows(self, batch: Any) -> None:
        if self._by_columns:
            self.emit_batch(batch)
            return
        rows = rows_of(batch)
        if self._rows_per_tuple is None:
            for values in rows:
                self.emit(values)
            return
        for start in range(0, len(rows), self._rows_per_tuple):
            self.emit([rows[start : start + self._rows_per_tuple]])

    def next_tuple(self) -> None:
        """Read on, unless rows are handed over."""
        if not self._is_fed:
            super().next_tuple()

    def pre_save(self, checkpoint_id: Any) -> None:
        """Empty: the supplier of the rows keeps the position."""
        if not self._is_fed:
            super().pre_save(checkpoint_id)

    def __getstate__(self) -> dict[str, Any]:
        """Empty: the supplier of the rows keeps the position."""
        return {} if self._is_fed else super().__getstate__()


def _readable(batch: Any) -> tuple[Any, list[RowLeftOut]]:
    """(readable rows, an error for each corrupt row)"""
    column = batch.column(LEFT_OUT)
    texts = column.drop_null().to_pylist()
    errors = [RowLeftOut(f"a row is left out: {each!r:.{LEFT_OUT_CHARACTERS}}") for each in texts]
    return batch.filter(column.is_null()).drop_columns([LEFT_OUT]), errors


def is_frame(config: Mapping[str, Any]) -> bool:
    """Whether a component's config is that of a FrameSpout."""
    return any(key in config for key in (FUNCTION, FRAME, SPARK_FORMAT))


def _source(
    config: dict[str, Any], columns: Sequence[str], rows_per_tuple: int | None
) -> TableSource:
    config[COLUMNS] = list(columns)
    if rows_per_tuple is not None:
        config[ROWS_PER_TUPLE] = rows_per_tuple
    fields = tuple(columns) if rows_per_tuple is None else ("rows",)
    return TableSource(fields, config, f"{FrameSpout.__module__}.{FrameSpout.__qualname__}")


def check_without_spark(topology: TopologySpec) -> None:
    """TopologyError for the first spout that only `--engine spark` can read for."""
    for problem in _problems(topology):
        raise TopologyError(problem)


def _problems(topology: TopologySpec) -> Iterator[str]:
    for each in topology.components:
        problem = problem_without_spark(each.name, each.config)
        if problem:
            yield problem


def problem_without_spark(name: str, config: Mapping[str, Any]) -> str:
    """Reason why pyarrow cannot read a spout's frame, in one line; empty if readable."""
    remedy = "use --engine spark"
    if FUNCTION in config:
        return (
            f"spout {name!r} reads a DataFrame that a function makes of Spark's session: {remedy}"
        )
    if FRAME in config:
        return (
            f"spout {name!r} reads a DataFrame of a SparkSession: start the topology in that "
            "session, with heronpy_compat.spark.start"
        )
    kind = config.get(SPARK_FORMAT)
    if kind is None:
        return ""
    if kind not in LEARNED or PATH not in config or _is_remote(config[PATH]):
        what = config.get(PATH) if kind in LEARNED else f"format {kind!r}"
        return f"spout {name!r} reads {what or kind}, which only Spark supports: {remedy}"
    known = (SCHEMA,) if SCHEMA in config else ()
    spark_s = [each for each in config.get(OPTIONS, ()) if each.lower() not in FOR_BATCHES]
    for option in (*known, *spark_s):
        return f"spout {name!r}: {option} is for Spark's reader alone: {remedy}"
    return ""


def _absolute(path: str) -> str:
    return path if _is_remote(path) else os.path.abspath(path)


def _is_remote(path: str) -> bool:
    """Whether it names a file system: hdfs://…, s3a://…"""
    return "://" in path
