"""The types of CSV files that Spark reads: those that the native engine finds in the same files.

Spark's own inference makes 7 of `007`, and of a time without a zone one of the session's.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heron_connectors.tables.text_tables import INFERRED, NOTHING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def csv_schema(spark: "SparkSession", path: str, options: Mapping[str, str]) -> str:
    """The columns of all files of a path as SQL declares them, by all of their values; those that
    folders name are texts. The files are read once for it."""
    texts = spark.read.format("csv").options(**options).load(path)
    folders = spark.read.format("text").load(path).schema.names[1:]
    own = [name for name in texts.schema.names if name not in folders]
    checks = [_fits(name, kind).alias(f"c{at}") for name in own for at, kind in enumerate(INFERRED)]
    answers = iter(texts.agg(*checks).first() or ()) if own else iter(())
    columns = []
    for name in texts.schema.names:
        fits = [kind for kind in INFERRED if next(answers)] if name in own else []
        columns.append(f"{_quoted(name)} {fits[0] if fits else 'string'}")
    return ", ".join(columns)


def as_written(frame: "DataFrame") -> "DataFrame":
    """What is read by these types with the values of the native engine: NaN is none, and an empty
    text is one."""
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, StringType

    changed = {}
    for each in frame.schema.fields:
        column = functions.col(_quoted(each.name))
        if isinstance(each.dataType, DoubleType):
            changed[each.name] = functions.when(~functions.isnan(column), column)
        elif isinstance(each.dataType, StringType):
            changed[each.name] = functions.coalesce(column, functions.lit(""))
    return frame.withColumns(changed)


def _fits(name: str, kind: str) -> "Column":
    """Whether each value of a column is written as one of a type, and Spark reads it as one."""
    from pyspark.sql import functions

    column = functions.col(_quoted(name))
    values = functions.when(~column.isin(*sorted(NOTHING)), column)
    fits = values.rlike(INFERRED[kind]) & values.try_cast(kind).isNotNull()
    return functions.bool_and(functions.when(values.isNotNull(), fits))


def _quoted(name: str) -> str:
    """As SQL takes any name."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
