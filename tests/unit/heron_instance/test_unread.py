"""A bolt that declares no outputs may emit: its tuples are dropped, counted and told of."""

import threading
from typing import Any

import pytest

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.streamparse import Bolt as StormBolt
from heronpy_compat.streamparse import Spout as StormSpout
from heronpy_compat.streamparse import Topology as StormTopology
from heronpy_compat.testing import TesterError, TopologyTester
from tests.unit.heron_instance.instance_support import make

TOLD = (
    "talks emits, but declares no outputs, so its tuples are dropped: declare them, as in outputs"
    " = ['word'], or remove the emit"
)
MODES = ("ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE")


class Words(Spout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        self.emit(["storm"], tup_id=1)


class Talks(Bolt):
    outputs: list[str] = []
    auto_ack = True

    def process(self, tup: Any) -> None:
        assert self.emit([1, 2, 3], anchors=[tup], need_task_ids=True) == []
        self.emit([4], anchors=[tup])


class StormWords(StormSpout):
    outputs = ["word"]

    def next_tuple(self) -> None:
        self.emit(["storm"], tup_id=1)


class StormTalks(StormBolt):
    outputs: list[str] = []

    def process(self, tup: Any) -> None:
        self.emit([1, 2, 3])
        self.emit([4])


class TalksLater(Bolt):
    async def process(self, tup: Any) -> None:
        self.emit([1, 2, 3])
        self.emit([4])


class Yields(Bolt):
    def process(self, tup: Any) -> Any:
        yield [1, 2, 3]
        yield [4]


class Strays(Bolt):
    outputs: list[str] = []

    def process(self, tup: Any) -> None:
        self.emit([1], stream="errors")


def talk(kind: Any) -> type:
    """A topology of a spout and this bolt."""
    if kind is StormTalks:

        class StormTalk(StormTopology):
            words = StormWords.spec()
            talks = StormTalks.spec(inputs=[words])

        return StormTalk

    class Talk(Topology):
        words = Words.spec()
        talks = kind.spec(inputs={words: Grouping.SHUFFLE})

    return Talk


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [Talks, StormTalks, TalksLater, Yields])
def test_a_bolt_without_outputs_that_emits_is_told_of_once_and_each_tuple_counts(
    kind: Any, mode: str
) -> None:
    with TopologyTester(talk(kind), config={"topology.reliability.mode": mode}) as tester:
        tester.run_spouts(3)
        assert [each.text for each in tester.errors("talks")] == [TOLD]
        counted = tester.metrics("talks")
        assert (counted["undeclared"], counted["failed"]) == (6, 0)


def test_a_test_of_a_topology_with_such_a_bolt_fails_unless_it_looks_at_its_errors() -> None:
    told = pytest.raises(TesterError, match="talks emits, but declares no outputs")
    with told, TopologyTester(talk(Talks)) as tester:
        tester.run_spouts(1)


def test_a_stream_that_a_bolt_names_must_be_declared() -> None:
    class Stray(Topology):
        words = Words.spec()
        strays = Strays.spec(inputs={words: Grouping.SHUFFLE})

    with TopologyTester(Stray) as tester:
        tester.run_spouts(3)
        assert len(tester.errors("strays")) == 3
        assert tester.metrics("strays")["undeclared"] == 0


class TalksAtItsStart(Bolt):
    def initialize(self, config: Any, context: Any) -> None:
        self.emit(["hello"])
        threads = [threading.Thread(target=self._talk) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def _talk(self) -> None:
        for _ in range(50):
            self.emit(["a thread's"])

    def process(self, tup: Any) -> None:
        pass


def test_what_it_emits_before_the_first_tuple_and_from_threads_counts_as_well() -> None:
    made = make(TalksAtItsStart, outputs=[])
    assert made.core.statistics().undeclared == 201
