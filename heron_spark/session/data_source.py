"""The data source `heronpy`: between queries of Spark and running topologies.

    spark.dataSource.register(HeronpySource)
    spark.readStream.format("heronpy").option("topology", "words").load()
    rows.writeStream.format("heronpy").option("topology", "orders").start()

Both sides share a folder of numbered segments (heron_connectors/spark/segments.py): Spark's offsets
are {writer: number of its last segment}, and a batch is the segment with the batch's number.
"""

import json
import os
import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlparse

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from heron_connectors.spark.segments import Segment, SegmentLog, SegmentPart, writers_of
from heron_core.errors import UsageError
from heron_core.wire import columns
from heron_spark.session.running_topology import Shared, shared_with
from heron_spark.session.value_times import for_spark

FORMAT = "heronpy"
Offset = dict[str, int]
TIDY_BATCHES = 100
"""So many batches apart a query removes what killed attempts have left."""


class HeronpySource(DataSource):
    """Reads the output of a topology's SparkSink, and writes the input of a topology's SparkSpout.

    Options: `topology`, a running topology, with `component` if several of its components share
    folders with Spark, and `store`, its state store, by default the user's own; or `path`, the
    folder, with a schema. `remove`: true to remove segments after the query has read them, for a
    single reader. `writer`: name of a writing query, by default the id in its checkpoint.

        spark.dataSource.register(HeronpySource)
        totals = spark.readStream.format("heronpy").option("topology", "OrderTotals").load()
    """

    @classmethod
    def name(cls) -> str:
        """As `format` has it."""
        return FORMAT

    def schema(self) -> str:
        """By the types that the topology declares. UsageError without declared types."""
        shared = self._shared(is_sink=True)
        if not shared.schema:
            raise UsageError(
                f"{shared.label} declares no types: declare them in its topology, as in outputs "
                f"= {{'word': 'string'}}, or give readStream a schema"
            )
        return shared.schema

    def reader(self, schema: Any) -> "SegmentReader":
        """All present segments, as one batch."""
        return SegmentReader(self._shared(is_sink=True).folder, schema)

    def streamReader(self, schema: Any) -> "SegmentStreamReader":  # noqa: N802 (Spark's name)
        """Present and future segments."""
        removes = str(self.options.get("remove", "false")).lower() == "true"
        folder = self._shared(is_sink=True).folder
        return SegmentStreamReader(folder, schema, removes)

    def streamWriter(self, schema: Any, overwrite: bool) -> "SegmentWriter":  # noqa: N802
        """A segment for each batch. UsageError for other fields than the topology's."""
        shared = self._shared(is_sink=False)
        absent = [each for each in shared.fields if each not in schema.names]
        if absent:
            raise UsageError(
                f"{shared.label} has the fields {', '.join(shared.fields)}, the DataFrame has "
                f"{', '.join(schema.names)}, and no {absent[0]!r}"
            )
        return SegmentWriter(shared.folder, writer_of(self.options), tuple(schema.names))

    def _shared(self, *, is_sink: bool) -> Shared:
        return shared_with(dict(self.options), is_sink=is_sink)


def writer_of(options: MutableMapping[str, str]) -> str:
    """Name of a writing query: stable across restarts, and unique."""
    given = options.get("writer")
    if given:
        return str(given)
    location = str(options.get("checkpointLocation", ""))
    path = unquote(urlparse(location).path) if "://" in location else location
    path = path.removeprefix("file:")
    try:
        with open(os.path.join(path, "metadata"), encoding="utf-8") as file:
            return str(json.load(file)["id"])
    except (OSError, ValueError, KeyError):
        raise UsageError(
            "the query's checkpoint is not known here: give writeStream the option "
            "checkpointLocation, a folder, or writer, a name that no other query has"
        ) from None


@dataclass(frozen=True, slots=True)
class Segments(InputPartition):
    """Segments of one writer after `after`, up to `last`."""

    writer: str
    after: int
    last: int


class SegmentReader(DataSourceReader):
    """Of a DataFrame that is no stream."""

    def __init__(self, folder: str, schema: StructType) -> None:
        self._folder = folder
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """One for each writer."""
        return segments_between({}, latest(self._folder))

    def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
        """The rows, in order."""
        yield from rows_of(self._folder, partition, self._schema)


class SegmentStreamReader(DataSourceStreamReader):
    """Of a stream."""

    def __init__(self, folder: str, schema: StructType, removes: bool) -> None:
        self._folder = folder
        self._schema = schema
        self._removes = removes

    def initialOffset(self) -> Offset:  # noqa: N802 (Spark's name)
        """Offset before the first segment."""
        return {}

    def latestOffset(self, start: Any = None, limit: Any = None) -> Offset:  # noqa: N802
        """Offset after the last present segment. Before Spark 4.2 the method has no arguments."""
        return {**(start or {}), **latest(self._folder)}

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        """One partition for each writer with new segments."""
        return segments_between(start, end)

    def read(self, partition: Any) -> Iterator[tuple[Any, ...]]:
        """The rows, in order: of any attempt the same."""
        yield from rows_of(self._folder, partition, self._schema)

    def commit(self, end: Offset) -> None:
        """Spark does not read again before this offset."""
        if self._removes:
            for writer, last in end.items():
                SegmentLog(self._folder, writer).remove_until(last)


def latest(folder: str) -> Offset:
    """The last segment of each writer."""
    numbers_by_writer = {each: SegmentLog(folder, each).numbers() for each in writers_of(folder)}
    return {writer: numbers[-1] for writer, numbers in numbers_by_writer.items() if numbers}


def segments_between(start: Offset, end: Offset) -> list[InputPartition]:
    """What has come between two offsets."""
    return [
        Segments(writer, start.get(writer, -1), last)
        for writer, last in sorted(end.items())
        if last > start.get(writer, -1)
    ]


def rows_of(folder: str, asked: Segments, schema: StructType) -> Iterator[tuple[Any, ...]]:
    """The rows of some segments, as the columns are in order; a datetime without a zone is UTC."""
    log, names = SegmentLog(folder, asked.writer), schema.names
    converts = [for_spark(field.dataType) or _same for field in schema.fields]
    for number in log.numbers():
        if not asked.after < number <= asked.last:
            continue
        segment = log.segment(number)
        absent = [name for name in names if name not in segment.fields]
        if absent:
            raise UsageError(
                f"segment {number} of {log.folder} has the fields {', '.join(segment.fields)}, "
                f"and no {absent[0]!r}"
            )
        at = [segment.fields.index(name) for name in names]
        for part in segment.parts:
            for row in log.rows(part):
                yield tuple(convert(row[each]) for convert, each in zip(converts, at, strict=True))


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What a task has written."""

    part: SegmentPart


class SegmentWriter(DataSourceStreamArrowWriter):
    """Adds a segment for each batch."""

    def __init__(self, folder: str, writer: str, columns: Sequence[str]) -> None:
        self._log = SegmentLog(folder, writer)
        self._columns = columns

    def write(self, iterator: Iterator[Any]) -> Written:
        """In a task: record batches of Spark become a part that no segment has yet."""
        rows = (row for each in iterator for row in columns.rows_of(columns.in_utc(each)))
        return Written(self._log.write_part(rows))

    def commit(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Publish the batch, unless already published before a crash of Spark."""
        parts = [each.part for each in messages if each is not None]
        filled = tuple(each for each in parts if each.rows)
        if not self._log.add(Segment(batchId, tuple(self._columns), filled, "")):
            self._log.discard(filled)
        self._log.discard(each for each in parts if not each.rows)
        if batchId % TIDY_BATCHES == 0:
            self._log.remove_orphans(time.time())

    def abort(self, messages: Sequence[Any], batchId: int) -> None:  # noqa: N803 (Spark's name)
        """Discard the output of finished tasks."""
        self._log.discard(each.part for each in messages if each is not None)
