"""Record batches on the wire: what comes back, and what is refused."""

from array import array

import pyarrow as pa
import pytest

from heron_core.errors import ProtocolError
from heron_core.wire.columns import read, serialized

TEXTS = {
    "ASCII": pa.array(["word", "", "other"]),
    "beyond ASCII": pa.array(["wörter", "", "語"]),
    "nulls": pa.array(["word", None, "other"]),
    "a slice": pa.array(["left", "word", "", "other"]).slice(1),
    "nested": pa.array([["word"], [], ["a", "b"]]),
    "numbers": pa.array([1, -2, 3]),
    "numbers and nulls": pa.array([1.5, None, 3.0]),
}


def texts(offsets: list[int], data: bytes) -> pa.Array:
    """A column as it is said to be."""
    buffers = [None, pa.py_buffer(array("i", offsets)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


@pytest.mark.parametrize("column", TEXTS.values(), ids=TEXTS)
def test_columns_come_back(column: pa.Array) -> None:
    batch = pa.record_batch({"field": column})
    assert read(serialized(batch), batch.schema, 3).equals(batch)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (texts([0, 1, 2], b"a\xff"), "UTF8"),
        (texts([0, 1, 3], "aö".encode()[:2] + b"!"), "UTF8"),
        (texts([0, 2, 1, 3], b"abc"), "offset"),
    ],
)
def test_texts_that_are_none_are_refused(column: pa.Array, reason: str) -> None:
    batch = pa.record_batch({"number": pa.array(range(len(column))), "field": column})
    with pytest.raises(ProtocolError, match=f"not a record batch: .*{reason}"):
        read(serialized(batch), batch.schema, len(column))
