"""Groupings of whole batches: which rows go to which tasks, the same as tuple by tuple.

The compiled hot path hashes columns of texts, bytes and whole numbers in place. For others the
choosers of routing.py are asked once for each distinct key of a batch. A partial key has to look at
each row besides, since each choice depends on the ones before, and so does a custom grouping whose
code takes one tuple at a time. What does not depend on values takes slices of the batch as they
are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from heron_core.native import COMPILED, HOT_PATH, ColumnKeys
from heron_core.wire.columns import rows_of, values_of
from heron_instance.emit.output_buffers import OutputBuffer
from heron_instance.emit.routing import ByCustom, ByFields, ByPartialKey, Choose

Shares = Iterable[tuple[Sequence[int], pa.RecordBatch]]
"""Target tasks and their rows."""
Share = Callable[[pa.RecordBatch], Shares]

SLICE_BYTES = 1024 * 1024
"""Size of a message: the most an instance processes at once, and the delay of the next message."""
_LETTERS = {pa.string(): ord("s"), pa.binary(): ord("b")}
"""What the canonical form of a key begins with (heron_core.algorithms.hashing)."""
_WHOLE_NUMBERS = frozenset(
    (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())
)
FILTERED_MAX = 8
"""Up to so many tasks their rows are filtered one by one; beyond, all are sorted once."""


def share_of(choose: Choose) -> Share:
    """How the batches of a stream are shared out over a consumer."""
    if isinstance(choose, ByFields):
        return lambda batch: _by_fields(choose, batch)
    if isinstance(choose, ByPartialKey):
        return lambda batch: _by_partial_key(choose, batch)
    if isinstance(choose, ByCustom):
        return lambda batch: _by_custom(choose, batch)
    return lambda batch: [(_tasks(choose(())), each) for each in slices(batch)]


def slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in pieces that are no larger than a message."""
    rows: int = batch.num_rows
    step = max(1, rows * SLICE_BYTES // max(1, batch.nbytes))
    return (batch.slice(start, step) for start in range(0, rows, step))


def _by_fields(choose: ByFields, batch: pa.RecordBatch) -> Shares:
    if HOT_PATH == COMPILED and (hashed := _column_keys(choose.positions, batch)):
        return _by_hash(choose.keyed.buffers, hashed, batch)
    keys, rows = _distinct([batch.column(each) for each in choose.positions])
    tasks = [buffer.destination for buffer in _buffers_of(choose, keys)]
    return [((task,), part) for task, part in _split(batch, _taken(tasks, rows))]


def _column_keys(positions: Sequence[int], batch: pa.RecordBatch) -> ColumnKeys | None:
    """Keys of all rows if texts, bytes or integers; else None."""
    columns = [batch.column(position) for position in positions]
    if any(column.null_count for column in columns):
        return None
    keys = ColumnKeys(batch.num_rows, len(columns) > 1)
    for column in columns:
        if (letter := _LETTERS.get(column.type)) is not None:
            _, offsets, data = column.buffers()
            keys.add_texts(letter, data, offsets, column.offset)
        elif column.type in _WHOLE_NUMBERS:
            numbers = column.cast(pa.int64())
            keys.add_numbers(numbers.buffers()[1], numbers.offset)
        else:
            return None
    return keys


def _by_hash(buffers: Sequence[OutputBuffer], keys: ColumnKeys, batch: pa.RecordBatch) -> Shares:
    order, counts = keys.divided(len(buffers))
    rows = pa.Array.from_buffers(pa.uint32(), batch.num_rows, [None, pa.py_buffer(order)])
    start = 0
    for buffer, count in zip(buffers, counts, strict=True):
        if count == batch.num_rows:
            yield (buffer.destination,), batch
        elif count:
            yield (buffer.destination,), batch.take(rows.slice(start, count))
        start += count


def _buffers_of(choose: ByFields, keys: list[tuple[object, ...]]) -> list[OutputBuffer]:
    """By a dict as long as keys can be hashed by Python: an unknown one is hashed once."""
    keyed = choose.keyed
    try:
        return [keyed[key if keyed.are_several else key[0]] for key in keys]
    except TypeError:  # a list, say
        return [keyed.buffer_of(key) for key in keys]


def _by_partial_key(choose: ByPartialKey, batch: pa.RecordBatch) -> Shares:
    keys, rows = _distinct([batch.column(each) for each in choose.positions])
    candidates = [choose.candidates(key) for key in keys]
    chosen = [choose.less_used(candidates[at]).destination for at in rows.to_pylist()]
    return [((task,), part) for task, part in _split(batch, pa.array(chosen, pa.int64()))]


def _by_custom(choose: ByCustom, batch: pa.RecordBatch) -> Shares:
    return choose.divided(batch) if choose.divides_batches else _by_rows(choose, batch)


def _by_rows(choose: Choose, batch: pa.RecordBatch) -> Shares:
    found: dict[int, list[int]] = {}
    for at, values in enumerate(rows_of(batch)):
        for task in _tasks(choose(values)):
            found.setdefault(task, []).append(at)
    return [((task,), batch.take(pa.array(rows))) for task, rows in found.items()]


def _tasks(buffers: Sequence[OutputBuffer]) -> list[int]:
    return [task for buffer in buffers for task in buffer.targets or (buffer.destination,)]


def _distinct(columns: Sequence[pa.Array]) -> tuple[list[tuple[object, ...]], pa.Array]:
    """The distinct keys of some columns, and for each row the index of its key."""
    keys: list[tuple[object, ...]] = [()]
    rows: pa.Array | None = None
    for column in columns:
        values, indices = _encoded(column)
        if rows is None:
            keys, rows = [(value,) for value in values], indices
            continue
        pairs = pc.add(pc.multiply(rows, len(values)), indices)
        encoded = pairs.dictionary_encode()
        keys = [
            (*keys[pair // len(values)], values[pair % len(values)])
            for pair in encoded.dictionary.to_pylist()
        ]
        rows = encoded.indices.cast(pa.int64())
    return keys, rows


def _encoded(column: pa.Array) -> tuple[list[object], pa.Array]:
    """The distinct values of a column, and for each row the index of its value."""
    if pa.types.is_nested(column.type):  # Arrow lacks dictionaries of the type
        return values_of(column), pa.array(range(len(column)), pa.int64())
    encoded = column.dictionary_encode(null_encoding="encode")
    return values_of(encoded.dictionary), encoded.indices.cast(pa.int64())


def _taken(tasks: list[int], rows: pa.Array) -> pa.Array:
    return pa.array(tasks, pa.int64()).take(rows)


def _split(batch: pa.RecordBatch, tasks: pa.Array) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each task, in their order."""
    counts = {each["values"]: each["counts"] for each in tasks.value_counts().to_pylist()}
    if len(counts) == 1:
        yield next(iter(counts)), batch
    elif len(counts) <= FILTERED_MAX:
        for task in counts:
            yield task, batch.filter(pc.equal(tasks, task))
    else:
        ordered = batch.take(pc.sort_indices(tasks))  # a stable sort
        start = 0
        for task, count in sorted(counts.items()):
            yield task, ordered.slice(start, count)
            start += count
