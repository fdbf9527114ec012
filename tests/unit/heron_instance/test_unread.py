"""A bolt that declares no outputs may emit: nobody reads it, as under Storm."""

from typing import Any

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.testing import TopologyTester


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        self.emit(["storm"], tup_id=1)


class Talks(Bolt):
    outputs: list[str] = []

    def process(self, tup: Any) -> None:
        assert self.emit([1, 2, 3], anchors=[tup], need_task_ids=True) == []
        self.emit([4], anchors=[tup])
        self.ack(tup)


class Strays(Bolt):
    outputs: list[str] = []

    def process(self, tup: Any) -> None:
        self.emit([1], stream="errors")


class Talk(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}
    words = Words.spec()
    __talks = Talks.spec(inputs={words: Grouping.SHUFFLE}, name="__talks")
    strays = Strays.spec(inputs={words: Grouping.SHUFFLE})


def test_what_nobody_can_read_is_dropped_and_said_once() -> None:
    with TopologyTester(Talk) as tester:
        tester.run_spouts(3)
        assert tester.errors("__talks") == []
        assert len(tester.errors("strays")) == 3, "a stream that it names must be declared"
        said = [each.text for each in tester.logs("__talks")]
        assert said == ["__talks emits, but declares no outputs: its tuples are dropped"]
