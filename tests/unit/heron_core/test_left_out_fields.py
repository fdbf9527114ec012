"""A field that a column has and its declared type has not is found, however deep."""

import pyarrow as pa
import pytest

from heron_core.wire.columns import field_left_out

WANTED = pa.struct([("at", pa.int64())])
GIVEN = pa.struct([("at", pa.int64()), ("extra", pa.string())])


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (GIVEN, WANTED),
        (pa.dictionary(pa.int32(), GIVEN), WANTED),
        (pa.list_(GIVEN), pa.list_(WANTED)),
        (pa.list_(pa.dictionary(pa.int8(), GIVEN)), pa.list_(WANTED)),
        (pa.map_(pa.string(), GIVEN), pa.map_(pa.string(), WANTED)),
        (pa.struct([("inner", GIVEN)]), pa.struct([("inner", WANTED)])),
    ],
    ids=str,
)
def test_a_field_that_a_cast_would_leave_out_is_named(
    given: pa.DataType, wanted: pa.DataType
) -> None:
    assert field_left_out(given, wanted) == "extra"
    assert field_left_out(wanted, given) == ""
    assert field_left_out(given, given) == ""
