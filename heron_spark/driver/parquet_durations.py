"""Durations in Parquet files. Arrow writes durations as whole numbers with a note that Spark
ignores, so Spark would return the numbers. Spark's interval type has the format of microseconds, so
microseconds are read as intervals; for other units, and inside lists and structs, Spark lacks a
type.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from heron_connectors.tables.table_files import FileTable
from heron_core.errors import TopologyError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

UNIT = "us"
"""Of Spark's intervals."""


def with_durations(schema: "StructType", path: str, columns: Collection[str]) -> "StructType":
    """Spark's schema of the files of a path, with intervals for the durations among `columns`. The
    function reads the footer of each local file, a third of a millisecond each; files of other file
    systems are skipped. TopologyError for durations without a type in Spark.
    """
    from pyspark.sql.types import DayTimeIntervalType, StructField, StructType

    if "://" in path:
        return schema
    files = {each: parquet.read_schema(each) for each in FileTable(path, "parquet").files()}
    durations = duration_columns(files, columns)
    return StructType(
        [
            StructField(field.name, DayTimeIntervalType(), field.nullable)
            if field.name in durations
            else field
            for field in schema.fields
        ]
    )


def duration_columns(files: Mapping[str, pa.Schema], columns: Collection[str]) -> set[str]:
    """Columns that are durations in every file; TopologyError for a duration without a type in
    Spark, or with another type in another file.
    """
    kinds: dict[str, bool] = {}
    for path, schema in files.items():
        for field in (each for each in schema if each.name in columns):
            is_duration = _is_duration(field.type)
            if is_duration and field.type != pa.duration(UNIT):
                raise _refused(path, field, f"has durations ({field.type})")
            if kinds.setdefault(field.name, is_duration) != is_duration:
                raise _refused(path, field, f"is {field.type}, and durations are in others")
    return {name for name, is_duration in kinds.items() if is_duration}


def _is_duration(kind: pa.DataType) -> bool:
    """Whether a type is one, or has some inside."""
    return pa.types.is_duration(kind) or any(
        _is_duration(kind.field(at).type) for at in range(kind.num_fields)
    )


def _refused(path: str, field: pa.Field, why: str) -> TopologyError:
    return TopologyError(
        f"column {field.name!r} of {path} {why}, which Spark reads as whole numbers: leave it out"
        f" of the columns, give a schema, or write it as a column of duration[{UNIT}]"
    )
