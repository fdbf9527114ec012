"""Topologies of streamparse's classes: its own rules for anchors, acks, errors and batches."""

from heronpy_compat.testing import ComponentTester, TopologyTester
from tests.unit.heron_tester.tested_storm import BatchBolt, CountBolt, TimedBolt, WordCount


def test_tuples_are_anchored_acked_and_tracked_by_default():
    with TopologyTester(WordCount) as tester:
        tester.run_spouts(calls=2)
        assert tester.values("count") == [["storm", 1], ["storm", 2]]
        first, _ = tester.emitted("count")
        assert [each.values.word for each in first.anchors] == ["storm"]
        assert sum(bolt.counts["storm"] for bolt in tester.component("count")) == 2
        # Both batching bolts hold their tuples.
        assert tester.acked("words") == []
        lines = [line.text for line in tester.logs("count")]
        assert lines == ["counted storm", "counted storm"]


def test_batches_end_with_ticks_and_with_virtual_time():
    with TopologyTester(WordCount) as tester:
        start = tester.now
        tester.run_spouts(calls=3)
        tester.advance(4.9)
        assert tester.emitted("timed") == []
        tester.advance(0.2)
        (timed,) = tester.emitted("timed")
        assert (timed.values, timed.stream, timed.time - start) == ([3], "sizes", 5.0)
        assert len(timed.anchors) == 3
        tester.advance(15)
        # The second tick ends the batch: one tick lies between.
        (batch,) = tester.emitted("batch")
        assert (batch.values, batch.time - start) == (["storm", 3], 20.0)
        assert sorted(tester.acked("words")) == [1, 2, 3]


def test_a_failed_tuple_is_emitted_again_by_a_reliable_spout():
    with TopologyTester(WordCount) as tester:
        tester.fail("count")
        tester.run_spouts(calls=1)
        assert tester.failed("words") == [1]
        assert tester.values("words") == [["storm"], ["storm"]]
        tester.advance(20)
        assert tester.acked("words") == [1]


def test_an_exception_ends_the_process_as_in_storm():
    with TopologyTester(WordCount, config={"topology.bolt.on.exception": "exit"}) as tester:
        tester.feed("words", ["storm"], tup_id="a")
        tester.run()
        before = tester.component("count")
        tester.raise_in("count", ValueError("no"))
        tester.feed("words", ["storm"], tup_id="b")
        tester.run()
        assert tester.failed("words") == ["b"]
        error = tester.errors("count")[0].error
        assert error is not None
        assert error.args == ("no",)
        replaced = [
            old is not new for old, new in zip(before, tester.component("count"), strict=True)
        ]
        assert replaced.count(True) == 1


def test_an_exception_fails_its_tuple_alone_by_default():
    with TopologyTester(WordCount) as tester:
        tester.raise_in("count", ValueError("no"))
        before = tester.component("count")
        tester.feed("words", ["storm"], tup_id="b")
        tester.run()
        assert tester.failed("words") == ["b"]
        assert tester.component("count") == before


def test_a_crashed_batch_is_replayed():
    with TopologyTester(WordCount) as tester:
        tester.run_spouts(calls=2)
        tester.advance(6)
        tester.crash("batch")
        tester.run()
        # The tuples of its batch fail at once, and come once more.
        assert tester.failed("words") == [1, 2]
        tester.advance(20)
        assert tester.values("batch") == [["storm", 2]]
        assert sorted(tester.acked("words")) == [1, 2]


def test_one_bolt_alone():
    with ComponentTester(CountBolt, inputs={"words": ["word"]}) as bolt:
        (emitted,) = bolt.process(["storm"])
        assert emitted.values == ["storm", 1]
        assert bolt.acked == [1]
        assert bolt.component.counts == {"storm": 1}


def test_one_batching_bolt_alone():
    with ComponentTester(BatchBolt, inputs={"words": ["word"]}) as bolt:
        for word in ("storm", "heron", "storm"):
            assert bolt.process([word]) == []
        assert bolt.tick() == []
        assert [each.values for each in bolt.tick()] == [["storm", 2], ["heron", 1]]
        assert sorted(bolt.acked) == [1, 2, 3]


def test_one_tickless_bolt_alone():
    with ComponentTester(TimedBolt, inputs={"words": ["word"]}) as bolt:
        bolt.process(["storm"])
        assert bolt.advance(4) == []
        assert [each.values for each in bolt.advance(1)] == [[1]]
