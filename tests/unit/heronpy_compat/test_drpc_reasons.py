"""H13: the caller of a request that a topology cannot answer learns the reason, in the tester."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from heron_api.topology import TopologyBuilder
from heronpy_compat.drpc import (
    BaseBasicBolt,
    BaseBatchBolt,
    DRPCExecutionException,
    DRPCSpout,
    LinearDRPCTopologyBuilder,
    ReturnResults,
)
from heronpy_compat.testing import LocalDRPC, TopologyTester


@pytest.fixture
def drpc() -> Iterator[LocalDRPC]:
    with LocalDRPC() as made:
        yield made


class Repeats(BaseBasicBolt):
    """Answers a number with a text of that length, and "lock" with a value without an encoding."""

    outputs = ["id", "result"]

    def execute(self, tup: Any, collector: Any) -> None:
        first, last = tup.values
        text = first if isinstance(first, str) else last
        result = threading.Lock() if text == "lock" else "x" * int(text)
        collector.emit([result, last] if text is first else [first, result])


class RepeatsLater(BaseBatchBolt):
    outputs = ["id", "result"]

    def prepare(self, conf: Any, context: Any, collector: Any, batch_id: Any) -> None:
        self.collector, self.id = collector, batch_id

    def execute(self, tup: Any) -> None:
        self.text = tup.values[1]

    def finish_batch(self) -> None:
        result = threading.Lock() if self.text == "lock" else "x" * int(self.text)
        self.collector.emit([self.id, result])


def manual_topology(drpc: LocalDRPC) -> TopologyBuilder:
    builder = TopologyBuilder("Manual")
    builder.set_config({"topology.reliability.mode": "ATLEAST_ONCE"})
    spout = DRPCSpout.spec("drpc", function="repeat", drpc=drpc)
    builder.add_spec(spout)
    repeat = builder.add_bolt("repeat", Repeats, 1, [spout])
    builder.add_bolt("back", ReturnResults, 1, [repeat])
    return builder


def linear_topology(drpc: LocalDRPC, last: Any) -> TopologyBuilder:
    made = LinearDRPCTopologyBuilder("repeat")
    made.add_bolt(last)
    return made.create_local_topology(drpc)


@pytest.mark.parametrize(
    ("make", "raising"),
    [
        (manual_topology, ["repeat", "drpc"]),
        (lambda drpc: linear_topology(drpc, Repeats), ["bolt0", "bolt1", "spout"]),
        (lambda drpc: linear_topology(drpc, RepeatsLater), ["bolt0", "bolt1", "spout"]),
    ],
    ids=["manual", "linear", "linear-batch"],
)
def test_a_caller_learns_why_there_is_no_answer(
    drpc: LocalDRPC, make: Any, raising: list[str]
) -> None:
    """Too large or unencodable results, and too large arguments; other requests have answers."""
    limit = {"topology.message.bytes.max": 2000}
    over = "bytes is over the limit of 2000 (topology.message.bytes.max)"
    with TopologyTester(make(drpc), drpc=drpc, config=limit) as tester:

        def outcome(text: str) -> str:
            try:
                return drpc.execute("repeat", text)
            except DRPCExecutionException as error:
                return str(error)

        assert outcome("3") == "xxx"
        for text, why in (("3000", over), ("lock", "lock"), ("3" * 3000, over)):
            began, found = tester.now, outcome(text)
            assert found.startswith("Request failed: "), found
            assert why in found
            assert "\n" not in found
            assert tester.now == began, "at once"
            if len(text) < 2000:
                assert raising[0] in found
        # Alone it is no larger than a message, and with its return address it is.
        assert over in outcome("1950")
        assert outcome("3") == "xxx"
        assert sum(len(tester.errors(name)) for name in raising) == 4
