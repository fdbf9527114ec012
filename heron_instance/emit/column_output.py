"""Output of batches: emitted frames become slices per destination, and messages.

Small slices for one destination are merged into one message; large slices are cut, to bound a
message to little more than SLICE_BYTES. A slice is a run: its rows share one root and one
edge.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from msgspec import Struct

from heron_core.errors import ComponentError
from heron_core.native import keep_memory
from heron_core.wire.batch import encode_columns
from heron_core.wire.columns import merged, schema_of, serialized
from heron_core.wire.frames import Frames
from heron_instance.emit.column_groupings import SLICE_BYTES, Share, share_of, slices
from heron_instance.emit.frames import record_batches
from heron_instance.emit.output_buffers import Outbox, OutputBuffer
from heron_instance.emit.routing import Route, Router

RUNS_MAX = 4096
"""Runs per message: each costs a pair of ids, and a root for its receiver to look up."""


class ColumnBuffer(OutputBuffer):
    """Slices of one stream for one task, each with a pair of ids."""

    __slots__ = ("ids_of_slices", "rows", "slices")

    def __init__(self, destination: int, stream: int) -> None:
        keep_memory()
        super().__init__(destination)
        self.stream = stream
        self.rows = 0
        self.slices: list[pa.RecordBatch] = []
        self.ids_of_slices: list[int] = []
        """root, edge, … of each."""

    @property
    def tuples(self) -> int:
        """See OutputBuffer."""
        return self.rows

    @property
    def is_empty(self) -> bool:
        """See OutputBuffer."""
        return not self.slices

    def validate(self, tracked: bool) -> None:
        """See OutputBuffer."""
        rows = [each.num_rows for each in self.slices]
        assert sum(rows) == self.rows, f"{self.rows} rows in slices of {rows}"
        ids, wanted = len(self.ids_of_slices), 2 * len(rows) if tracked else 0
        assert ids == wanted, f"{ids} ids of {len(rows)} slices"

    def parts_of(self, stream: int) -> list[Any]:
        """See OutputBuffer."""
        return list(self.slices) if stream == self.stream else []

    def clear(self) -> None:
        """See OutputBuffer."""
        super().clear()
        self.slices.clear()
        self.ids_of_slices.clear()
        self.rows = 0

    def encoded(self, epoch: int, source: int, tracked: bool, begins: bool) -> list[Frames]:
        """See OutputBuffer."""
        return [self._message(epoch, source, tracked, *each) for each in self._ranges()]

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """Slice ranges that form one message: from, to."""
        first = size = 0
        for at, part in enumerate(self.slices):
            size += part.nbytes
            if at > first and (size > SLICE_BYTES or at - first == RUNS_MAX):
                yield first, at
                first, size = at, part.nbytes
        yield first, len(self.slices)

    def _message(self, epoch: int, source: int, tracked: bool, first: int, end: int) -> Frames:
        parts = self.slices[first:end]
        sizes = [each.num_rows for each in parts]
        extras = [
            number
            for position, root in zip(self.extras[::2], self.extras[1::2], strict=True)
            if first <= position < end
            for number in (position - first, root)
        ]
        body = serialized(merged(parts))
        ids = self.ids_of_slices[2 * first : 2 * end] if tracked else None
        rows, stream = sum(sizes), self.stream
        return encode_columns(
            epoch, source, self.destination, body, rows, stream, ids, sizes, extras
        )


class BatchEmission(Struct, frozen=True):
    """Result of emitting a batch."""

    rows: int
    slices: list[tuple[ColumnBuffer, pa.RecordBatch]]
    """Targets of the rows: empty if the stream has no reader."""


class ColumnOutput:
    """Batch output of one task."""

    def __init__(
        self,
        router: Router,
        outbox: Outbox,
        message_bytes_max: int,
        next_edge: Callable[[], int],
    ) -> None:
        self._router = router
        self._outbox = outbox
        self._message_bytes_max = message_bytes_max
        self._next_edge = next_edge
        self._shares: dict[int, list[Share]] = {}
        """stream index -> division of a batch for each consumer"""

    def kept(self, frame: Any, route: Route) -> pa.Table:
        """The frame's present rows, for a later emit: user code may change its arrays meanwhile.
        TypeError as for `emission`.
        """
        batches = record_batches(frame, route.spec, self._where(route))
        return pa.Table.from_batches(batches, schema=schema_of(route.spec))

    def _where(self, route: Route) -> str:
        return f"{self._router.component.name}.{route.spec.name}"

    def emission(self, frame: Any, route: Route, direct: Sequence[int]) -> BatchEmission:
        """Rows of a frame by buffer, according to the groupings, and for the `direct` tasks;
        TypeError for a frame that does not match the stream."""
        where = self._where(route)
        slices: list[tuple[ColumnBuffer, pa.RecordBatch]] = []
        batches = record_batches(frame, route.spec, where)
        for batch in batches:
            for share in self._shares_of(route):
                for tasks, rows in share(batch):
                    slices += self._into(tasks, rows, route, where)
            slices += self._into(direct, batch, route, where)
        return BatchEmission(sum(each.num_rows for each in batches), slices)

    def _shares_of(self, route: Route) -> list[Share]:
        known = self._shares.get(route.index)
        if known is None:
            known = self._shares[route.index] = [share_of(each) for each in route.choosers]
        return known

    def _into(
        self, tasks: Sequence[int], rows: pa.RecordBatch, route: Route, where: str
    ) -> Iterator[tuple[ColumnBuffer, pa.RecordBatch]]:
        for part in slices(rows) if tasks else ():
            if part.nbytes > self._message_bytes_max:
                raise ComponentError(
                    f"{where}: a row of {part.nbytes} bytes is over the limit of "
                    f"{self._message_bytes_max} (topology.message.bytes.max)"
                )
            for task in tasks:
                buffer = self._router.columns_to(task, route, ColumnBuffer)
                assert isinstance(buffer, ColumnBuffer)
                yield buffer, part

    def put(self, emission: BatchEmission, route: Route, roots: Sequence[int]) -> int:
        """Append the slices to their buffers; returns the xor of the new edges.

        As with tuples, all slices are appended before any is sent.
        """
        outbox = self._outbox
        buffers = {id(buffer): buffer for buffer, _ in emission.slices}.values()
        for other in {id(each): each for buffer in buffers for each in buffer.conflicting}.values():
            if not other.is_empty:
                outbox.flush_acks()  # the report of processed input travels with the message
                outbox.flush_buffer(other)
        total = 0
        for buffer, part in emission.slices:
            if outbox.tracked:
                total ^= self._anchored(buffer, roots)
            buffer.slices.append(part)
            buffer.rows += part.num_rows
            outbox.room -= part.nbytes + outbox.overhead
        route.emits[0] += emission.rows
        return total

    def _anchored(self, buffer: ColumnBuffer, roots: Sequence[int]) -> int:
        """Assign an edge to a slice, counted for each of its roots."""
        edge = self._next_edge() if roots else 0
        buffer.extras.extend(
            number for further in roots[1:] for number in (len(buffer.slices), further)
        )
        buffer.ids_of_slices += (roots[0] if roots else 0, edge)
        return edge
