"""What arrives, as record batches for a bolt that takes them, or as rows for one that takes tuples.

A batch is handed over as one tuple of the component's class, whose values are the record batch and
whose anchor state has all roots of its rows. It makes no difference how its rows were emitted: rows
of a stream that has tuples are made columns here, and the other way round.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from heron_core.errors import ProtocolError
from heron_core.topology import StreamSpec, TopologySpec
from heron_core.wire.batch import COLUMNS, Batch
from heron_core.wire.columns import of_rows, read, rows_of, schema_of
from heron_core.wire.frames import Header
from heron_instance.input.anchors import AnchorState
from heron_instance.input.tuples import EngineTuple


@dataclass(frozen=True, slots=True)
class Piece:
    """Neighbours of one stream in a message, and whose anchors they have."""

    component: str
    stream: str
    task: int
    columns: pa.RecordBatch
    pairs: range
    """Which pairs of root and edge are theirs."""


class BatchReader:
    """Reads the messages of one task."""

    def __init__(self, topology: TopologySpec, task: int) -> None:
        self._topology = topology
        self._task = task

    def _spec(self, component: str, stream: str) -> StreamSpec:
        found = self._topology.by_name[component].stream(stream)
        assert found is not None, f"{component} has no stream {stream}"
        return found

    def columns(self, head: Header, batch: Batch, component: str, stream: str) -> pa.RecordBatch:
        """The record batch of a COLUMNS message; ProtocolError if its body is none."""
        spec = self._spec(component, stream)
        if not spec.types:
            raise ProtocolError(f"columns of {component}.{stream}, which declares no types")
        return read(batch.body, schema_of(spec), head.items)

    def rows(self, head: Header, batch: Batch, component: str, stream: str) -> list[list[Any]]:
        """The tuples of a COLUMNS message."""
        return rows_of(self.columns(head, batch, component, stream))

    def pieces(
        self,
        head: Header,
        batch: Batch,
        component: str,
        streams: list[str],
        values: list[list[Any]] | None,
    ) -> list[Piece]:
        """The batches of a message: of a COLUMNS one, or of the tuples that `values` are of.

        TypeError that names the field whose values do not fit its declared type.
        """
        if head.flags & COLUMNS:
            stream = streams[head.stream]
            found = self.columns(head, batch, component, stream)
            return [Piece(component, stream, head.source, found, range(_pairs(batch)))]
        if type(values) is not list or len(values) != head.items:
            raise ProtocolError(f"a body that is no list of {head.items} tuples")
        return [
            Piece(
                component,
                streams[stream],
                head.source,
                self._of_rows(component, streams[stream], values[start:end]),
                range(_pairs(batch)) if batch.run_sizes is not None else range(start, end),
            )
            for stream, start, end in _neighbours(head, batch, len(streams))
        ]

    def _of_rows(self, component: str, stream: str, rows: list[list[Any]]) -> pa.RecordBatch:
        spec = self._spec(component, stream)
        try:
            return of_rows(rows, spec.fields, schema_of(spec) if spec.types else None)
        except TypeError as error:
            raise TypeError(f"{component}.{stream}: {error}") from None
        except ValueError as error:  # rows of other lengths
            raise ProtocolError(f"tuples that are not of {component}.{stream}: {error}") from None

    def tuples(
        self,
        kind: type[EngineTuple],
        batch: Batch,
        pieces: list[Piece],
        keys: Iterator[int],
        now: float,
    ) -> list[EngineTuple]:
        """Each piece as one tuple."""
        return [
            kind(
                (
                    next(keys),
                    each.component,
                    each.stream,
                    each.task,
                    each.columns,
                    now,
                    _anchor_state(batch, each.pairs),
                )
            )
            for each in pieces
        ]


def _pairs(batch: Batch) -> int:
    return 0 if batch.ids is None else len(batch.ids) // 2


def _neighbours(head: Header, batch: Batch, streams: int) -> Iterator[tuple[int, int, int]]:
    """(stream index, from, to) of tuples in a row that are of one stream."""
    if batch.streams is None:
        yield head.stream, 0, head.items
        return
    if max(batch.streams) >= streams:
        raise ProtocolError("a batch of a stream that its source does not have")
    start = 0
    for stream, some in groupby(batch.streams):
        end = start + sum(1 for _ in some)
        yield stream, start, end
        start = end


def _anchor_state(batch: Batch, pairs: range) -> AnchorState:
    """root, xor of its edges, … of some pairs; None if nobody tracks them."""
    found: dict[int, int] = {}
    ids = batch.ids or array("Q")
    for at in pairs if ids else ():
        root, edge = ids[2 * at], ids[2 * at + 1]
        if root:
            found[root] = found.get(root, 0) ^ edge
    further = iter(batch.extras or ())
    for at, root in zip(further, further, strict=True):
        if at in pairs:
            found[root] = found.get(root, 0) ^ ids[2 * at + 1]
    return [number for pair in found.items() for number in pair] or None
