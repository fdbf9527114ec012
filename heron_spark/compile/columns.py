"""Streams of a topology that stay Arrow columns from end to end of a query.

The output stream of a BatchBolt is columnar, and a DataFrame of the stream takes its record batches
unchanged. Rows of a DataFrame with only BatchBolts as readers are emitted as Spark's record
batches, with the DataFrame's own types; readers of tuples receive tuples, as always.
"""

from typing import Any

from heron_api.bolt.batch_bolt import BatchBolt
from heron_api.class_loading import load_class
from heron_connectors.spark import frames
from heron_connectors.tables import source as tables
from heron_core.field_types import UnknownType, fits_of
from heron_core.records import replace
from heron_core.topology import DEFAULT_STREAM, ComponentSpec, TopologySpec
from heron_core.wire.pickled import opened


def emits_batches(component: ComponentSpec) -> bool:
    """Whether it is a BatchBolt, or a spout of `with_columns`."""
    return bool(component.config.get(frames.BY_COLUMNS)) or _is_batch_bolt(component)


def _is_batch_bolt(component: ComponentSpec) -> bool:
    return issubclass(load_class(component.class_path), BatchBolt)


def with_columns(topology: TopologySpec) -> TopologySpec:
    """The topology with types for the DataFrames whose rows stay columns; classes and DataFrames
    are taken from this process.
    """
    return replace(topology, components=tuple(_fed(topology, each) for each in topology.components))


def _fed(topology: TopologySpec, component: ComponentSpec) -> ComponentSpec:
    if not component.is_spout or frames.FRAME not in component.config:
        return component
    config = opened(component.config)
    readers = [each for each, _ in topology.consumers.get((component.name, DEFAULT_STREAM), ())]
    columns = config.get(tables.COLUMNS, ())
    frame = config[frames.FRAME].frame
    types = () if frame is None or tables.ROWS_PER_TUPLE in config else _types(frame, columns)
    if not types or not readers or not all(map(_is_batch_bolt, readers)):
        return component
    outputs = tuple(replace(output, types=types) for output in component.outputs)
    return replace(component, outputs=outputs, config={**component.config, frames.BY_COLUMNS: True})


def _types(frame: Any, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Types of a DataFrame's columns; empty if a stream cannot declare a type among them."""
    known = {each.name: each.dataType.simpleString() for each in frame.schema.fields}
    types = tuple(known[each] for each in columns)
    try:
        for each in types:
            fits_of(each)
    except UnknownType:
        return ()
    return types
