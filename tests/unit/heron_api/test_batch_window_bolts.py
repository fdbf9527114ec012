"""Windows over record batches, as a topology has them: results, late rows, and what is refused."""

from typing import Any

import pytest

from heron_core.errors import TopologyError
from heron_frontends.loading.component_checks import check_components
from heronpy_compat import Grouping, Spout, Stream, Topology
from heronpy_compat.testing import TopologyTester
from heronpy_compat.windows import BatchWindowBolt, Session, Tumbling

ORDERS = {"shop": "string", "price": "bigint", "time": "timestamp"}
RESULTS = Stream({"shop": "string", "start_ms": "bigint", "total": "bigint", "mean": "double"})
EACH_BATCH = {"topology.bolts.watermark.event.interval.ms": 0}


class Orders(Spout):
    outputs = ORDERS

    def initialize(self, config: Any, context: Any) -> None:
        self.left = iter(config["batches"])
        self.acked: list[int] = []

    def next_tuple(self) -> None:
        import pyarrow as pa

        batch = next(self.left, None)
        if batch is not None:
            number, *columns = batch
            shops, prices, times = columns
            times = pa.array(times, pa.timestamp("ms", "UTC"))
            self.emit_batch({"shop": shops, "price": prices, "time": times}, tup_id=number)

    def ack(self, tup_id: int) -> None:
        self.acked.append(tup_id)


class Sums(BatchWindowBolt):
    outputs = [RESULTS, Stream(ORDERS, name="late")]
    key_fields = ["shop"]
    timestamp_field = "time"
    window: Any = Tumbling(10)
    aggregates: Any = {"total": ("price", "sum"), "mean": ("price", "mean")}
    late_stream = "late"


def topology(bolt: Any, *batches: Any) -> Any:
    class Windows(Topology):
        config = {"topology.reliability.mode": "ATLEAST_ONCE"}
        orders = Orders.spec(config={"batches": [list(each) for each in batches]})
        sums = bolt.spec(inputs={orders: Grouping.fields("shop")}, config=EACH_BATCH)

    return Windows


def test_sums_by_shop_and_what_came_too_late() -> None:
    """A batch is acked when its last window is complete; one whose rows are all late at once."""
    batches = (
        (1, ["tea", "shoes", "tea"], [1, 2, 3], [1, 2, 3]),
        (2, ["tea", "tea"], [10, 20], [5, 12]),
        (3, ["shoes"], [9], [8]),
        (4, ["shoes"], [5], [25]),
    )
    with TopologyTester(topology(Sums, *batches)) as tester:
        tester.run_spouts(4)
        tester.run()
        (spout,) = tester.component("orders")
        assert sorted(tester.values("sums", "default")) == [
            ["shoes", 0, 2, 2.0],
            ["tea", 0, 14, 14 / 3],
            ["tea", 10, 20, 20.0],
        ]
        assert [each[:2] for each in tester.values("sums", "late")] == [["shoes", 9]]
        assert sorted(spout.acked) == [1, 2, 3]
        tester.finish()
        assert tester.values("sums", "default")[-1] == ["shoes", 20, 5, 5.0]
        assert sorted(spout.acked) == [1, 2, 3, 4]


class NoWindow(BatchWindowBolt):
    outputs = {"total": "bigint"}


class Sessions(Sums):
    window = Session(10)


class Nothing(Sums):
    aggregates: Any = {}


class Median(Sums):
    aggregates: Any = {"total": ("price", "median")}


class Untyped(Sums):
    outputs: Any = ["shop", Stream(ORDERS, name="late")]


class UntypedLate(Sums):
    outputs: Any = [RESULTS, Stream(["late_tuple"], name="late")]


class NoLate(Sums):
    outputs: Any = [RESULTS]


class OtherNames(Sums):
    outputs: Any = [Stream({"shop": "string", "totals": "bigint"}), Stream(ORDERS, name="late")]


@pytest.mark.parametrize(
    ("bolt", "said"),
    [
        (NoWindow, "has no window"),
        (Sessions, "windows of batches are Tumbling or Sliding"),
        (Nothing, "has no aggregates"),
        (Median, "aggregate 'total' is ('price', 'median'): use (column, function) with one of"),
        (Untyped, "its stream 'default' gets batches, so its fields need types"),
        (UntypedLate, "its stream 'late' gets batches, so its fields need types"),
        (NoLate, "late rows are to go to stream 'late', which is not declared"),
        (OtherNames, "no result is called 'totals'; did you mean 'total'?"),
    ],
)
def test_what_can_be_told_when_it_is_loaded(bolt: Any, said: str) -> None:
    with pytest.raises(TopologyError) as raised:
        check_components(topology(bolt).to_spec(), runs_here=True)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


class OtherColumn(Sums):
    aggregates: Any = {"total": ("prize", "sum"), "mean": ("price", "mean")}


class NoTime(Sums):
    timestamp_field = "shop"


@pytest.mark.parametrize(
    ("bolt", "said"),
    [
        (OtherColumn, "'prize', the field to aggregate, is not a field of orders"),
        (NoTime, "timestamps are whole numbers of milliseconds since 1970 or timestamps of Arrow"),
    ],
)
def test_a_batch_that_does_not_fit_fails_with_one_line(bolt: Any, said: str) -> None:
    with TopologyTester(topology(bolt, (1, ["tea"], [1], [1]))) as tester:
        tester.run_spouts(1)
        tester.run()
        (error,) = tester.errors("sums")
        assert said in str(error)
