"""The rows of a batch go by their keys as tuples do, compiled and in Python."""

from array import array
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heron_core.algorithms.hashing import slot, stable_hash
from tests.native.hot_path_support import PYTHON

ROWS_MAX = 20
SLOTS_MAX = 9
LETTERS = {pa.string(): ord("s"), pa.binary(): ord("b")}

texts = st.text(st.characters(codec="utf-8"), max_size=12)
values_by_type = {
    pa.string(): texts,
    pa.binary(): st.binary(max_size=12),
    pa.int64(): st.integers(-(2**63), 2**63 - 1) | st.integers(-10, 10),
}


@st.composite
def columns(draw: st.DrawFn) -> list[pa.Array]:
    """Up to three columns of a batch, each a slice of a longer one."""
    rows = draw(st.integers(0, ROWS_MAX))
    made = []
    for kind in draw(st.lists(st.sampled_from(list(values_by_type)), min_size=1, max_size=3)):
        before = draw(st.integers(0, 3))
        size = before + rows + 2
        values = draw(st.lists(values_by_type[kind], min_size=size, max_size=size))
        made.append(pa.array(values, kind).slice(before, rows))
    return made


def divided(hot_path: SimpleNamespace, keys: list[pa.Array], slots: int) -> tuple[list[int], Any]:
    """The rows in the order of their slots, and how many each slot has."""
    made = hot_path.ColumnKeys(len(keys[0]), len(keys) > 1)
    for column in keys:
        if column.type in LETTERS:
            _, offsets, data = column.buffers()
            made.add_texts(LETTERS[column.type], data, offsets, column.offset)
        else:
            made.add_numbers(column.buffers()[1], column.offset)
    order, counts = made.divided(slots)
    return array("I", order).tolist(), counts


@given(
    data=st.binary(max_size=12)
    | st.text(st.characters(codec="ascii"), max_size=12).map(str.encode),
    numbers=st.lists(st.integers(-2, 14) | st.integers(-(2**31), 2**31 - 1), max_size=6),
    ascends=st.booleans(),
    start=st.integers(-1, 3),
    rows=st.integers(-1, 6),
)
def test_texts_are_plain_for_both_and_then_arrow_finds_nothing(
    compiled: SimpleNamespace,
    data: bytes,
    numbers: list[int],
    ascends: bool,
    start: int,
    rows: int,
) -> None:
    offsets = array("i", sorted(numbers) if ascends else numbers)
    found = {
        path.are_plain_texts(data, offsets.tobytes(), start, rows) for path in (PYTHON, compiled)
    }
    assert len(found) == 1
    if found == {True}:
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        pa.Array.from_buffers(pa.string(), rows, buffers, offset=start).validate(full=True)


def test_plain_texts_are_found(compiled: SimpleNamespace) -> None:
    column = pa.array(["", "word", "x" * 70, "last"]).slice(1)
    other = pa.array(["word", "wörter"])
    for path in (PYTHON, compiled):
        _, offsets, data = column.buffers()
        assert path.are_plain_texts(data, offsets, 1, 3)
        assert path.are_plain_texts(None, pa.py_buffer(bytes(4)), 0, 0)
        assert not path.are_plain_texts(data, offsets, 1, 4)
        _, offsets, data = other.buffers()
        assert path.are_plain_texts(data, offsets, 0, 1)
        assert not path.are_plain_texts(data, offsets, 0, 2)
    # Each step is small enough, though the offsets fall: 2 ** 32 is all the way round.
    around = array("i", [0, 2**31 - 1, -2, 1]).tobytes()
    for path in (PYTHON, compiled):
        assert not path.are_plain_texts(b"ab", around, 0, 3)


@given(keys=columns(), slots=st.integers(1, SLOTS_MAX))
def test_each_row_goes_where_a_tuple_of_its_key_goes(
    compiled: SimpleNamespace, keys: list[pa.Array], slots: int
) -> None:
    rows = zip(*(column.to_pylist() for column in keys), strict=True)
    slot_of_rows = [slot(stable_hash(values), slots) for values in rows]
    expected = (
        sorted(range(len(slot_of_rows)), key=slot_of_rows.__getitem__),
        [slot_of_rows.count(each) for each in range(slots)],
    )
    assert divided(compiled, keys, slots) == expected
    assert divided(PYTHON, keys, slots) == expected


@pytest.mark.parametrize("form", ["compiled", "Python"])
def test_buffers_that_are_too_short_for_the_rows_are_refused(
    compiled: SimpleNamespace, form: str
) -> None:
    """What a batch says of itself is not believed: memory behind a buffer is not read."""
    hot_path = compiled if form == "compiled" else PYTHON
    offsets = array("i", [0, 2, 4]).tobytes()
    texts_of = hot_path.ColumnKeys(2, False).add_texts
    texts_of(ord("s"), b"abcd", offsets, 0)
    for data, places, start in (
        (b"abc", offsets, 0),
        (None, offsets, 0),
        (b"abcd", offsets[:-1], 0),
        (b"abcd", offsets, 1),
        (b"abcd", None, 0),
        (b"abcd", array("i", [0, 4, 2]).tobytes(), 0),
        (b"abcd", array("i", [-1, 2, 4]).tobytes(), 0),
    ):
        with pytest.raises((ValueError, TypeError), match=r"column|multiple"):
            texts_of(ord("s"), data, places, start)
    numbers_of = hot_path.ColumnKeys(2, False).add_numbers
    numbers_of(bytes(16), 0)
    for data, start in ((bytes(8), 0), (bytes(16), 1), (None, 0)):
        with pytest.raises(ValueError, match="shorter than its rows"):
            numbers_of(data, start)
