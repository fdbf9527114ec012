"""What porters meet: a source that falls silent, message ids that come twice, fields with dots."""

from typing import Any

import pytest

from heronpy_compat import Bolt, Grouping, Spout, Topology
from heronpy_compat.testing import ComponentTester, TopologyTester
from heronpy_compat.windows import KeyedWindowBolt, Tumbling

MINUTE_MS = 60_000
LATE = "numLateRecordsDropped"


class ByMinute(KeyedWindowBolt):
    outputs = ["firing", "tuples"]
    timestamp_field = "time_ms"
    window = Tumbling(MINUTE_MS)

    def values(self, result: Any) -> Any:
        return [str(result.firing), result.value]


def test_a_source_that_falls_silent_amid_a_minute_loses_nothing_at_its_defaults() -> None:
    """ATLEAST_ONCE: the window is shown so far, its tuples are acked, and it stays open."""
    with ComponentTester(ByMinute, inputs={"events": ["time_ms"]}) as tester:
        begun_ms = int(tester.now) // 60 * MINUTE_MS
        for number in range(3):
            tester.process([begun_ms + number])
        shown = tester.advance(16)
        assert [each.values for each in shown] == [["early", 3]]
        assert tester.acked == [1, 2, 3]
        tester.advance(20)
        tester.process([begun_ms + 10])  # it speaks again, of the same minute
        shown = [*tester.process([begun_ms + MINUTE_MS]), *tester.advance(1)]
        assert [each.values for each in shown] == [["on time", 4]]
        assert tester.metrics()["user"].get(LATE, 0) == 0
        assert tester.failed == []


class Twice(Spout):
    """Two tuples with one id, both pending."""

    outputs = ["number"]

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left, self.told = [1, 2], list[Any]()

    def next_tuple(self) -> None:
        if self.left:
            self.emit([self.left.pop(0)], tup_id="same")

    def ack(self, tup_id: Any) -> None:
        self.told.append(("ack", tup_id))

    def fail(self, tup_id: Any) -> None:
        self.told.append(("fail", tup_id))


class FailsOne(Bolt):
    outputs: list[str] = []

    def process(self, tup: Any) -> None:
        (self.fail if tup.values[0] == 1 else self.ack)(tup)


class OneId(Topology):
    config = {"topology.reliability.mode": "ATLEAST_ONCE"}
    numbers = Twice.spec()
    fails = FailsOne.spec(inputs=[numbers])


def test_two_pending_tuples_of_one_message_id_have_an_outcome_each() -> None:
    with TopologyTester(OneId) as tester:
        tester.run_spouts()
        (spout,) = tester.component("numbers")
        assert sorted(spout.told) == [("ack", "same"), ("fail", "same")]
        assert tester.metrics("numbers")["acked"] == tester.metrics("numbers")["failed"] == 1


class Dotted(Spout):
    outputs = {"a.b": "bigint", "a": "string"}

    def initialize(self, config: dict[str, Any], context: Any) -> None:
        self.left = list(range(6))

    def next_tuple(self) -> None:
        if self.left:
            number = self.left.pop()
            self.emit([number % 2, f"text {number}"])


class Reads(Bolt):
    outputs = {"a.b": "bigint"}

    def process(self, tup: Any) -> None:
        assert tup["a"].startswith("text")
        self.emit([tup["a.b"]])


class ByDot(KeyedWindowBolt):
    outputs = ["a.b", "start_ms", "end_ms", "tuples"]
    key_fields = ["a.b"]
    window = Tumbling(MINUTE_MS)


class Dots(Topology):
    dotted = Dotted.spec()
    reads = Reads.spec(inputs={dotted: Grouping.fields("a.b")}, par=2)
    counts = ByDot.spec(inputs={reads: Grouping.fields("a.b")}, par=2)


@pytest.mark.parametrize("mode", ["ATMOST_ONCE", "ATLEAST_ONCE", "EFFECTIVELY_ONCE"])
def test_a_field_with_a_dot_in_its_name_is_a_field_as_any_other(mode: str) -> None:
    with TopologyTester(Dots, config={"topology.reliability.mode": mode}) as tester:
        tester.run_spouts()
        tester.finish()
        found = [(key, number) for key, _, _, number in tester.values("counts")]
        assert sorted(found) == [(0, 3), (1, 3)]


class Careful(Bolt):
    """Records errors of its own in the handlers of exceptions."""

    def process(self, tup: Any) -> None:
        """See Bolt."""
        try:
            int(tup["word"])
        except ValueError:
            self.delegate.record_error("a word is no number", f"{tup['word']!r} is left out")


def test_the_text_of_an_error_is_kept_within_an_except() -> None:
    """The tester showed the traceback of the handled exception instead."""
    with ComponentTester(Careful, inputs={"words": ["word"]}) as tester:
        tester.process(["seven"])
        (problem,) = tester.errors
    assert problem.error is None
    assert (problem.where, problem.text) == ("a word is no number", "'seven' is left out")
