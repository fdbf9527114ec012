"""Types of CSV files for Spark, equal to the types that the native engine infers.

Spark's own inference makes 7 of `007`, and of a time without a zone one of the session's.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from heron_connectors.spark.frames import LEFT_OUT
from heron_connectors.tables.text_tables import INFERRED, NOTHING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

REPLACED = "\ufffd"
"""What Spark reads where bytes are not of the encoding."""


def csv_schema(spark: "SparkSession", path: str, options: Mapping[str, str]) -> str:
    """Columns of all files of a path as SQL, inferred from all values; columns named by folders are
    text. The inference reads the files once.
    """
    texts = whole_rows(spark, path, options)
    folders = folder_columns(spark, path)
    own = [name for name in texts.schema.names if name not in folders]
    checks = [_fits(name, kind).alias(f"c{at}") for name in own for at, kind in enumerate(INFERRED)]
    answers = iter(texts.agg(*checks).first() or ()) if own else iter(())
    columns = []
    for name in texts.schema.names:
        fits = [kind for kind in INFERRED if next(answers)] if name in own else []
        columns.append(f"{_quoted(name)} {fits[0] if fits else 'string'}")
    return ", ".join(columns)


def whole_rows(spark: "SparkSession", path: str, options: Mapping[str, str]) -> "DataFrame":
    """Rows of CSV files as texts, without unreadable rows."""
    from pyspark.sql import functions

    names = spark.read.format("csv").options(**options).load(path).schema
    texts = spark.read.format("csv").options(**options).schema(with_left_out(names)).load(path)
    return texts.where(functions.col(LEFT_OUT).isNull()).drop(LEFT_OUT)


def with_left_out(schema: "StructType") -> "StructType":
    """The schema with Spark's column for rows that do not fit."""
    from pyspark.sql.types import StringType, StructField, StructType

    own = [each for each in schema.fields if each.name not in (LEFT_OUT, "_corrupt_record")]
    return StructType([*own, StructField(LEFT_OUT, StringType())])


def with_misread(frame: "DataFrame", last: str) -> "DataFrame":
    """Mark CSV rows that Spark accepts wrongly: rows with characters outside of the encoding, and a
    row whose `last` value swallowed the rest of the file after an open quote. The sign of an open
    quote is a line end at the end of the value.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import StringType

    why = functions.col(LEFT_OUT)
    for field in frame.schema.fields:
        if field.name == LEFT_OUT or not isinstance(field.dataType, StringType):
            continue
        column = functions.col(_quoted(field.name))
        is_bad = column.contains(REPLACED)
        if field.name == last:
            is_bad |= column.endswith("\n")
        shown = functions.concat(functions.lit(f"{field.name}="), column)
        why = functions.coalesce(why, functions.when(is_bad, shown))
    return frame.withColumn(LEFT_OUT, why)


def folder_columns(spark: "SparkSession", path: str) -> list[str]:
    """The columns that the folders of a path name."""
    return spark.read.format("text").load(path).schema.names[1:]


def as_written(frame: "DataFrame") -> "DataFrame":
    """Convert Spark's values to the native engine's: NaN becomes null, and an empty text stays a
    text.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, StringType

    changed = {}
    for field in frame.schema.fields:
        column = functions.col(_quoted(field.name))
        if isinstance(field.dataType, DoubleType):
            changed[field.name] = functions.when(~functions.isnan(column), column)
        elif isinstance(field.dataType, StringType) and field.name != LEFT_OUT:
            changed[field.name] = functions.coalesce(column, functions.lit(""))
    return frame.withColumns(changed)


def _fits(name: str, kind: str) -> "Column":
    """Whether all values of a column match a type's pattern, and Spark can cast them."""
    from pyspark.sql import functions

    column = functions.col(_quoted(name))
    values = functions.when(~column.isin(*sorted(NOTHING)), column)
    fits = values.rlike(INFERRED[kind]) & values.try_cast(kind).isNotNull()
    return functions.bool_and(functions.when(values.isNotNull(), fits))


def _quoted(name: str) -> str:
    """As SQL takes any name."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
