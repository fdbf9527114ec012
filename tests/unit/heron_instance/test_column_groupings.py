"""How the rows of a record batch are shared out."""

import pyarrow as pa
import pytest

from heron_instance.emit.column_groupings import SLICE_BYTES, share_of, slices
from heron_instance.emit.output_buffers import OutputBuffer
from heron_instance.emit.routing import ByFields, KeyedBuffers


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


@pytest.mark.parametrize("slots", [1, 2, 5])
@pytest.mark.parametrize("names", [("word",), ("number",), ("raw", "small"), ("word", "real")])
def test_rows_go_by_their_keys_as_tuples_do(names: tuple[str, ...], slots: int) -> None:
    batch = pa.RecordBatch.from_pydict({
        "word": [f"w{at % 7}ü" for at in range(50)],
        "number": pa.array([at * 97 - 1000 for at in range(50)], pa.int64()),
        "raw": [b"%d" % (at % 3) for at in range(50)],
        "small": pa.array([at % 5 - 2 for at in range(50)], pa.int8()),
        "real": [at / 4 for at in range(50)],
    }).slice(3, 40)  # fmt: skip
    assert_as_tuples(batch, names, slots)


def test_null_is_a_key_like_any_other() -> None:
    batch = pa.RecordBatch.from_pydict({"word": ["a", None, "b", None, "a", "c"]})
    assert_as_tuples(batch, ("word",), 3)


def assert_as_tuples(batch: pa.RecordBatch, names: tuple[str, ...], slots: int) -> None:
    """The rows of a batch, divided and chosen one by one."""
    keyed = KeyedBuffers(len(names) > 1, "component.stream")
    keyed.aim([OutputBuffer(100 + each) for each in range(slots)])
    choose = ByFields([batch.schema.get_field_index(name) for name in names], keyed)
    expected: dict[int, list[dict[str, object]]] = {}
    for row in batch.to_pylist():
        task = choose(list(row.values()))[0].destination
        expected.setdefault(task, []).append(row)
    shared = {tuple(tasks): part.to_pylist() for tasks, part in share_of(choose)(batch)}
    assert shared == {(task,): rows for task, rows in expected.items()}
