"""How the rows of a record batch are shared out."""

import pyarrow as pa

from heron_instance.emit.column_groupings import SLICE_BYTES, slices


def test_a_batch_goes_in_pieces_no_larger_than_a_message_of_one_row_at_least() -> None:
    small = pa.RecordBatch.from_pydict({"text": ["x" * 1000] * 5000})
    pieces = list(slices(small))
    assert sum(each.num_rows for each in pieces) == 5000
    assert max(each.num_rows for each in pieces) * 1000 <= SLICE_BYTES
    assert len(pieces) <= 1 + small.nbytes // (SLICE_BYTES // 2)
    large = pa.RecordBatch.from_pydict({"text": ["x" * (2 * SLICE_BYTES)] * 3})
    assert [each.num_rows for each in slices(large)] == [1, 1, 1]
    empty = pa.RecordBatch.from_pydict({"text": pa.array([], pa.string())})
    assert list(slices(empty)) == []
