"""States of savepoints and checkpoints as DataFrames of PySpark: one partition for each key group.

A Python process of Spark opens the states of the one or two tasks that have a group, and keeps the
states for later groups.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from heron_connectors.state_tables import ColumnTypes, SavedStateTable, read_state
from heron_core.state.keys import KEY_GROUPS
from heron_io.saved_states import GroupsOfState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def state_frame(
    spark: "SparkSession",
    where: str,
    name: str,
    *,
    key_type: str | None = None,
    map_key_type: str | None = None,
    value_type: str | None = None,
    state_store: str | None = None,
) -> "DataFrame":
    """COMPONENT.STATE of a savepoint, or of the newest completed checkpoint of a topology, with the
    columns of `read_state`. Each process of Spark reads the files: name a folder or a URL that all
    machines reach.

        state_frame(spark, "file:///shared/savepoint-7", "count.counts").show()
    """
    table = read_state(
        where, name, key_type=key_type, map_key_type=map_key_type, value_type=value_type,
        state_store=state_store,
    )  # fmt: skip
    table.saved.kind()  # which raises here, and not in a task, if there is none
    folder, types = table.saved.folder.path, table.types

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for group in batch.column(0).to_pylist():
                table, by_group = _opened(folder, name, types)
                yield from table.batches_of(by_group.rows(int(group)))

    groups = spark.range(0, KEY_GROUPS, 1, numPartitions=KEY_GROUPS)
    return groups.mapInArrow(read, _spark_schema(types))


@lru_cache(maxsize=1)
def _opened(folder: str, name: str, types: ColumnTypes) -> tuple[SavedStateTable, GroupsOfState]:
    """Of this process of Spark's."""
    table = SavedStateTable(read_state(folder, name).saved, types)
    return table, GroupsOfState(table.saved)


def _spark_schema(types: ColumnTypes) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(types.schema())
