"""Input as record batches for a batch bolt, or as rows for a tuple bolt.

A batch is one tuple of the component's class: its value is the record batch, its anchor state
has all roots of the rows. The form of the emit is irrelevant: rows of tuple streams are
converted to columns here, and vice versa.

A row is a tuple, independently of its batching: rows without common columns, and a batch with an
exception, are halved down to the failing row (dividing.py).
"""

from array import array
from collections.abc import Iterator
from itertools import accumulate, groupby
from typing import Any, TypeGuard

import pyarrow as pa
from msgspec import Struct

from heron_core.records import replace
from heron_core.topology import StreamSpec, TopologySpec
from heron_core.wire.batch import COLUMNS, Batch
from heron_core.wire.columns import of_rows, read, rows_of, schema_of
from heron_core.wire.frames import Header
from heron_frontends.adapters.batch_values import Misfit
from heron_instance.input.anchors import AnchorState, SharedAnchorState
from heron_instance.input.malformed import malformed
from heron_instance.input.tuples import EngineTuple


class RecordPiece(Struct, frozen=True):
    """Adjacent rows of one stream in a message, and the owner of their anchors."""

    component: str
    stream: str
    task: int
    columns: "pa.RecordBatch | Misfit"
    rows: range
    """Their positions in the message."""
    pairs: range
    """Which pairs of root and edge are theirs."""
    anchor_state: AnchorState = None
    """Pairs shared with other rows, else created from their own."""


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
        """The record batch of a COLUMNS message; ProtocolError for an invalid body."""
        spec = self._spec(component, stream)
        if not spec.types:
            fault = f"columns of {component}.{stream}, which declares no types"
            raise malformed(head.source, component, fault)
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
    ) -> list[RecordPiece]:
        """The batches of a message: of a COLUMNS message, or of the tuples with these `values`."""
        if head.flags & COLUMNS:
            stream, every = streams[head.stream], range(head.items)
            columns = self.columns(head, batch, component, stream)
            return [
                RecordPiece(component, stream, head.source, columns, every, range(_pairs(batch)))
            ]
        if type(values) is not list or len(values) != head.items:
            fault = f"a body that is not a list of {head.items} tuples"
            raise malformed(head.source, component, fault)
        pieces = [
            RecordPiece(
                component,
                streams[stream],
                head.source,
                self._of_rows(head.source, component, streams[stream], values[start:end]),
                range(start, end),
                range(_pairs(batch)) if batch.run_sizes is not None else range(start, end),
            )
            for stream, start, end in _neighbours(head, batch, component, len(streams))
        ]
        return [part for each in pieces for part in self._fitting(batch, each)]

    def _of_rows(
        self, source: int, component: str, stream: str, rows: list[list[Any]]
    ) -> "pa.RecordBatch | Misfit":
        spec = self._spec(component, stream)
        try:
            return of_rows(rows, spec.fields, schema_of(spec) if spec.types else None)
        except TypeError as error:
            return Misfit(f"{component}.{stream}: {error}", rows)
        except ValueError as error:  # rows of different lengths
            fault = f"tuples that do not fit {component}.{stream} ({error})"
            raise malformed(source, component, fault) from None

    def _fitting(self, batch: Batch, piece: RecordPiece) -> list[RecordPiece]:
        """The rows in pieces with common columns; an invalid row stays a Misfit."""
        found, left = [], [piece]
        while left:
            each = left.pop()
            if isinstance(each.columns, Misfit) and len(each.rows) > 1:
                left.extend(reversed(self.halves(batch, each, None)))
            else:
                found.append(each)
        return found

    def between(self, pieces: list[RecordPiece], first: int, last: int | None) -> list[RecordPiece]:
        """Untracked rows of a message, from `first` to before `last`."""
        end = pieces[-1].rows.stop if last is None and pieces else last or 0
        found = []
        for each in pieces:
            rows = range(max(first, each.rows.start), min(end, each.rows.stop))
            if rows:
                found.append(each if rows == each.rows else self.part(each, rows))
        return found

    def part(self, piece: RecordPiece, rows: range) -> RecordPiece:
        """Some rows of a piece, untracked: their anchors are left open."""
        start, columns = rows.start - piece.rows.start, piece.columns
        if isinstance(columns, Misfit):
            some = columns.rows[start : start + len(rows)]
            columns = self._of_rows(piece.task, piece.component, piece.stream, some)
        else:
            columns = columns.slice(start, len(rows))
        return replace(piece, columns=columns, rows=rows, anchor_state=None)

    def halves(
        self, batch: Batch, piece: RecordPiece, tup: EngineTuple | None
    ) -> tuple[RecordPiece, RecordPiece]:
        """A piece of several rows as two: between two pairs of root and edge if it has several.

        `tup` is the delivered form of the piece, with the edges of its emits. The function settles
        `tup`, and the halves ack the edges.
        """
        rows, pairs = piece.rows, piece.pairs
        if batch.ids is None or len(pairs) < 2:
            middle = rows.start + len(rows) // 2
            shared = self._shared(batch, piece, tup)
            first, second = (
                replace(self.part(piece, some), anchor_state=shared)
                for some in (range(rows.start, middle), range(middle, rows.stop))
            )
            return first, second
        at = pairs.start + len(pairs) // 2
        middle = at if batch.run_sizes is None else [0, *accumulate(batch.run_sizes)][at]
        first, second = (
            replace(self.part(piece, some), pairs=of, anchor_state=_anchor_state(batch, of))
            for some, of in (
                (range(rows.start, middle), range(pairs.start, at)),
                (range(middle, rows.stop), range(at, pairs.stop)),
            )
        )
        if tup is not None:
            _hand_on(tup, (first.anchor_state, second.anchor_state))
        return first, second

    def _shared(self, batch: Batch, piece: RecordPiece, tup: EngineTuple | None) -> AnchorState:
        """The anchor state of the halves of a pair's rows, increased by one."""
        known = piece.anchor_state if tup is None else tup.roots
        state = _anchor_state(batch, piece.pairs) if known is None and tup is None else known
        if state is None:
            return None
        if not isinstance(state, SharedAnchorState):
            shared = SharedAnchorState(state, 1)
            if tup is not None:
                state.clear()
            state = shared
        elif tup is not None:
            state.settled = {*(state.settled or ()), tup.tuple_key}
        state.left += 1
        return state

    def tuples(
        self,
        kind: type[EngineTuple],
        batch: Batch,
        pieces: list[RecordPiece],
        keys: Iterator[int],
        now: float,
    ) -> list[EngineTuple]:
        """Each piece as one tuple."""
        return [
            kind(
                (
                    next(keys),
                    piece.component,
                    piece.stream,
                    piece.task,
                    piece.columns,
                    now,
                    _anchor_state(batch, piece.pairs)
                    if piece.anchor_state is None
                    else piece.anchor_state,
                )
            )
            for piece in pieces
        ]


def _hand_on(tup: EngineTuple, halves: tuple[AnchorState, AnchorState]) -> None:
    """Emits for the tuple are acked with the half that has their root; the tuple itself is
    settled."""
    before = iter(tup.roots or ())
    for root, value in zip(before, before, strict=True):
        positions = [(each, 2 * each[::2].index(root) + 1) for each in halves if _has(each, root)]
        emitted = value
        for state, at in positions:
            emitted ^= state[at]
        state, at = positions[0]
        state[at] ^= emitted
    if tup.roots:
        tup.roots.clear()


def _has(anchor_state: AnchorState, root: int) -> TypeGuard[list[int]]:
    return anchor_state is not None and root in anchor_state[::2]


def _pairs(batch: Batch) -> int:
    return 0 if batch.ids is None else len(batch.ids) // 2


def _neighbours(
    head: Header, batch: Batch, component: str, streams: int
) -> Iterator[tuple[int, int, int]]:
    """(stream index, from, to) of adjacent tuples of one stream."""
    if batch.streams is None:
        yield head.stream, 0, head.items
        return
    if max(batch.streams) >= streams:
        fault = f"stream {max(batch.streams)}, absent from the plan"
        raise malformed(head.source, component, fault)
    start = 0
    for stream, some in groupby(batch.streams):
        end = start + sum(1 for _ in some)
        yield stream, start, end
        start = end


def _anchor_state(batch: Batch, pairs: range) -> AnchorState:
    """root, xor of edges, … of the pairs; None if untracked."""
    edges: dict[int, int] = {}
    ids = batch.ids or array("Q")
    for at in pairs if ids else ():
        root, edge = ids[2 * at], ids[2 * at + 1]
        if root:
            edges[root] = edges.get(root, 0) ^ edge
    further = iter(batch.extras or ())
    for at, root in zip(further, further, strict=True):
        if at in pairs:
            edges[root] = edges.get(root, 0) ^ ids[2 * at + 1]
    return [number for pair in edges.items() for number in pair] or None
