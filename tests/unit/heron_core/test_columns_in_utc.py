"""Times of any zone as times of UTC, wherever they are in a column."""

from datetime import UTC, datetime

import pyarrow as pa

from heron_core.wire.columns import in_utc

SHOWN = pa.timestamp("us", "Europe/Berlin")
NAIVE = pa.timestamp("ms")
NOON = datetime(2024, 7, 1, 12, tzinfo=UTC)
MAP = pa.map_(pa.string(), SHOWN)
STRUCT = pa.struct([("at", SHOWN), ("naive", NAIVE), ("name", pa.string())])


def test_the_instants_stay_and_their_zone_is_utc() -> None:
    without = NOON.replace(tzinfo=None)
    given = pa.RecordBatch.from_arrays(
        [
            pa.array([NOON], SHOWN),
            pa.array([without], NAIVE),
            pa.array([[NOON]], pa.list_(SHOWN)),
            pa.array([[("noon", NOON)]], MAP),
            pa.array([{"at": NOON, "naive": without, "name": "noon"}], STRUCT),
        ],
        names=["at", "naive", "list", "map", "struct"],
    )
    utc = pa.timestamp("us", "UTC")
    found = in_utc(given)
    assert found.schema.types == [
        utc,
        NAIVE,
        pa.list_(utc),
        pa.map_(pa.string(), utc),
        pa.struct([("at", utc), ("naive", NAIVE), ("name", pa.string())]),
    ]
    assert found.to_pylist() == given.to_pylist()


def test_a_batch_without_such_times_is_the_same_object() -> None:
    given = pa.RecordBatch.from_pydict({"name": ["noon"], "at": pa.array([0], NAIVE)})
    assert in_utc(given) is given
