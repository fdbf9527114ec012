"""From a DataFrame through BatchBolts to a DataFrame: columns, where nobody wants tuples."""

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from heron_connectors.spark.frames import BY_COLUMNS, FrameSpout
from heron_core.errors import ComponentError
from heron_core.topology import TopologySpec
from heron_spark.compile.columns import emits_batches, with_columns
from heron_spark.worker.frame_sink import (
    SCHEMA,
    STREAM,
    BatchSink,
    SameIndex,
    TupleSink,
    read_block,
)
from heronpy_compat import BatchBolt, Bolt, Grouping, Topology


class ByColumns(BatchBolt):
    """Of no interest."""


class ByTuples(Bolt):
    """Neither."""


def frame(**types: str) -> Any:
    """What is asked of a DataFrame."""
    fields = [
        SimpleNamespace(name=name, dataType=SimpleNamespace(simpleString=lambda kind=kind: kind))
        for name, kind in types.items()
    ]
    return SimpleNamespace(
        isStreaming=False, columns=list(types), schema=SimpleNamespace(fields=fields)
    )


def topology(source: Any, *readers: type[Any]) -> TopologySpec:
    """The source, and who reads it."""
    rows = source.spec(name="rows")
    bolts = {
        f"bolt{at}": kind.spec(name=f"bolt{at}", inputs={rows: Grouping.SHUFFLE})
        for at, kind in enumerate(readers)
    }
    made: Any = type("Read", (Topology,), {"rows": rows, **bolts})
    spec: TopologySpec = made.to_spec()
    return spec


ORDERS = {"id": "int", "at": "timestamp"}


@pytest.mark.parametrize(
    ("source", "readers", "types"),
    [
        (FrameSpout.over(frame(**ORDERS)), (ByColumns,), ("int", "timestamp")),
        (FrameSpout.over(frame(**ORDERS), ["at"]), (ByColumns, ByColumns), ("timestamp",)),
        (FrameSpout.over(frame(**ORDERS)), (ByColumns, ByTuples), ()),
        (FrameSpout.over(frame(**ORDERS)), (), ()),
        (FrameSpout.over(frame(**ORDERS), rows_per_tuple=5), (ByColumns,), ()),
        (FrameSpout.over(frame(id="int", span="interval day")), (ByColumns,), ()),
        (FrameSpout.load(format="kafka", columns=["value"]), (ByColumns,), ()),
    ],
)
def test_rows_stay_columns_where_only_batch_bolts_read_them(
    source: Any, readers: tuple[type[Any], ...], types: tuple[str, ...]
) -> None:
    """Others get tuples: values of a DataFrame, as they have always been."""
    (rows, *bolts) = with_columns(topology(source, *readers)).components
    assert rows.outputs[0].types == types
    assert bool(rows.config.get(BY_COLUMNS)) == emits_batches(rows) == bool(types)
    assert [emits_batches(each) for each in bolts] == [kind is ByColumns for kind in readers]


WANTED = pa.schema([("id", pa.int16()), ("at", pa.timestamp("us", "UTC"))])
CONTEXT: Any = SimpleNamespace(get_component_tasks=lambda name: [7, 8], get_task_id=lambda: 8)


def prepared(sink: Any) -> Any:
    """A sink that runs."""
    config = {SCHEMA: bytes(WANTED.serialize()), STREAM: "bolt.default"}
    sink.initialize(config, CONTEXT)
    return sink


def test_a_sink_gives_the_rows_in_their_order_with_the_dataframe_s_types() -> None:
    batches, tuples = (
        prepared(kind(delegate=SimpleNamespace(logger=None))) for kind in (BatchSink, TupleSink)
    )
    for at in range(3):
        ids = pa.array([at, None, at + 10], pa.int64())
        batches.process_batch(pa.record_batch({"at": pa.nulls(3), "id": ids}))
        for each in ids.to_pylist():
            tuples.process(SimpleNamespace(values=[each, None]))
    ((_, index, of_batches),), ((_, _, of_tuples),) = batches.take_blocks(), tuples.take_blocks()
    assert index == 1
    assert read_block(of_batches) == read_block(of_tuples)
    assert read_block(of_batches).schema == WANTED
    assert batches.take_blocks() == tuples.take_blocks() == []
    assert batches.__getstate__() == {}


@pytest.mark.parametrize("kind", [BatchSink, TupleSink])
def test_what_a_dataframe_cannot_hold_is_told_with_its_stream_and_field(kind: Any) -> None:
    sink = prepared(kind(delegate=SimpleNamespace(logger=None)))
    if kind is BatchSink:
        sink.process_batch(pa.record_batch({"at": pa.nulls(1), "id": [70_000]}))
    else:
        sink.process(SimpleNamespace(values=[70_000, None]))
    with pytest.raises(ComponentError, match=r"^bolt.default: field 'id' is declared as int16: "):
        sink.take_blocks()


@pytest.mark.parametrize("kind", [BatchSink, TupleSink])
def test_a_struct_with_a_field_that_the_dataframe_has_not_is_told(kind: Any) -> None:
    """Its value was left out in silence."""
    schema = pa.schema([("s", pa.struct([("a", pa.int64())]))])
    sink = kind(delegate=SimpleNamespace(logger=None))
    sink.initialize({SCHEMA: bytes(schema.serialize()), STREAM: "bolt.default"}, CONTEXT)
    if kind is BatchSink:
        sink.process_batch(pa.record_batch({"s": [{"a": 1, "more": 2}]}))
    else:
        sink.process(SimpleNamespace(values=[{"a": 1, "more": 2}]))
    with pytest.raises(
        ComponentError, match=r"^bolt.default: field 's' .*'more' is not a field of"
    ):
        sink.take_blocks()


def test_each_task_of_a_stream_has_a_reader_of_its_own() -> None:
    grouping = SameIndex()
    grouping.prepare(CONTEXT, "bolt", "default", [12, 11])
    rows = pa.record_batch({"id": [1, 2]})
    assert list(grouping.divide_batch(rows)) == [([12], rows)]
    assert grouping.choose_tasks([1]) == [12]
