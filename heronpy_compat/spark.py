"""Topologies in a PySpark program's own session: queries, and streams as DataFrames.

    from heronpy_compat.spark import dataframe_of, delta_table, run, spout_of, start, state_frame

docs/SPARK.md shows how (*If you know PySpark*).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heron_connectors.tables.source import TableSource
    from heron_spark.session.data_source import HeronpySource
    from heron_spark.session.dataframes import dataframe_of
    from heron_spark.session.delta_batches import delta_table
    from heron_spark.session.in_session import run, start
    from heron_spark.session.state_frames import state_frame

__all__ = [
    "HeronpySource",
    "dataframe_of",
    "delta_table",
    "run",
    "spout_of",
    "start",
    "state_frame",
]

_HOME = {
    "HeronpySource": "data_source",
    "dataframe_of": "dataframes",
    "delta_table": "delta_batches",
    "run": "in_session",
    "start": "in_session",
    "state_frame": "state_frames",
}


def spout_of(
    frame: Any, columns: Sequence[str] | None = None, *, rows_per_tuple: int | None = None
) -> "TableSource":
    """A DataFrame, of a table or a stream, as a spout: `spout_of(df).spec(par=2)`.

    Its fields are `columns`, or all of the frame's; with `rows_per_tuple` a tuple has one field,
    `rows`, a list of so many rows.
    """
    from heron_connectors.spark.frames import FrameSpout

    return FrameSpout.over(frame, columns, rows_per_tuple=rows_per_tuple)


if not TYPE_CHECKING:  # a type checker reports a name that is not exported

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"heron_spark.session.{_HOME[name]}"), name)
