"""Whole topologies in one process: input, results, and failures on the way."""

import sys
import time
from itertools import chain
from typing import Any

import pytest

from heron_core.errors import TopologyError, UsageError
from heronpy_compat.testing import TesterError, TopologyTester
from tests.unit.heron_tester.tested_topologies import (
    Groupings,
    Slow,
    Ticking,
    Unread,
    WordCount,
    endless,
)


def test_what_is_fed_is_delivered_counted_and_acked():
    with TopologyTester(WordCount) as tester:
        tester.feed("lines", ["storm heron storm"], tup_id="a")
        assert tester.received("split") == []
        tester.run()
        assert tester.values("split") == [["storm"], ["heron"], ["storm"]]
        assert sorted(tester.values("count", stream="default")) == [
            ["heron", 1], ["storm", 1], ["storm", 2],
        ]  # fmt: skip
        assert tester.acked("lines") == ["a"]
        assert tester.failed("lines") == []


def test_a_record_tells_who_emitted_what_and_why():
    with TopologyTester(WordCount) as tester:
        tester.feed("lines", ["storm"], tup_id=7)
        tester.run()
        (line,) = tester.emitted("lines")
        assert (line.values, line.component, line.stream, line.task) == (
            ["storm"], "lines", "default", 1,
        )  # fmt: skip
        assert (line.tup_id, line.anchors, line.time) == (7, (), tester.now)
        (word,) = tester.emitted("split")
        assert [each.values for each in word.anchors] == [["storm"]]
        (got,) = tester.received("count")
        assert (got.source, got.source_task, got.values) == ("split", word.task, ["storm"])
        assert got.task in tester.tasks("count") == [4, 5]


def test_the_spout_is_not_told_of_what_it_did_not_emit():
    with TopologyTester(WordCount) as tester:
        tester.feed("lines", ["storm"], tup_id="mine")
        tester.run()
        assert tester.component("lines")[0].acked == []
        tester.run_spouts()
        assert sorted(tester.component("lines")[0].acked) == [0, 1, 2]
        assert sorted(tester.acked("lines"), key=str) == [0, 1, 2, "mine"]


def test_a_finite_run_ends_with_last_words_in_order():
    with TopologyTester(WordCount) as tester:
        # Three lines, then the call with the finish.
        assert tester.run_spouts() == 4
        tester.finish()
        assert sum(values[0] for values in tester.values("count", stream="totals")) == 5
        # The sum's final output comes after the counters'.
        assert tester.component("sum")[0].finished_with == 5


def test_calls_of_spouts_are_counted():
    with TopologyTester(Slow, config={"topology.max.spout.pending": 4}) as tester:
        assert tester.run_spouts(calls=3) == 3
        assert tester.values("numbers", stream="default") == [[1], [2], [3]]
        # The fourth fills the pending limit, as `hold` acks nothing.
        assert tester.run_spouts(calls=3) == 1


def test_bolts_may_be_fed_too():
    with TopologyTester(WordCount) as tester:
        tester.feed("split", ["storm"])
        tester.feed("split", ["heron"], task=3)
        tester.run()
        assert sorted(tester.values("count")) == [["heron", 1], ["storm", 1]]
        assert [each.task for each in tester.emitted("split")] == [2, 3]


def test_at_most_once_acks_at_once():
    with TopologyTester(Ticking) as tester:
        tester.feed("numbers", [1], tup_id="a")
        assert tester.acked("numbers") == ["a"]
        tester.run_spouts(calls=2)
        assert tester.acked("numbers") == ["a", 1, 2]


def test_a_failed_tuple_is_replayed_by_its_spout():
    with TopologyTester(WordCount) as tester:
        tester.fail("count", when=lambda tup: tup.values[0] == "heron")
        tester.run_spouts()
        spout = tester.component("lines")[0]
        assert spout.failed == [0]
        assert sorted(spout.acked) == [0, 1, 2]
        # "storm heron" came twice: "storm" was counted both times, "heron" once.
        counts = [each.counts for each in tester.component("count")]
        assert sum(each["storm"] for each in counts) == 4
        assert sum(each["heron"] for each in counts) == 2


def test_a_fed_tuple_is_replayed_as_often_as_asked():
    with TopologyTester(WordCount) as tester:
        tester.fail("split", times=3)
        tester.feed("lines", ["storm"], tup_id="a", replays=2)
        tester.feed("lines", ["heron"], tup_id="b", replays=2)
        tester.run()
        # a, b and one replay of a fail; then a's second replay and b's first are processed.
        assert tester.failed("lines") == ["a", "b", "a"]
        assert sorted(tester.acked("lines")) == ["a", "b"]
        assert len(tester.emitted("lines")) == 5


def test_a_bolt_that_raises_fails_its_tuple_and_lives_on():
    with TopologyTester(WordCount) as tester:
        tester.raise_in("count", ValueError("no such word"), when=lambda tup: "x" in tup.values)
        for number, word in enumerate(["storm", "x", "storm"]):
            tester.feed("lines", [word], tup_id=number)
        tester.run()
        assert (tester.acked("lines"), tester.failed("lines")) == ([0, 2], [1])
        (problem,) = tester.errors("count")
        assert isinstance(problem.error, ValueError)
        assert problem.where == "process"
        assert "ValueError: no such word" in problem.text
        assert tester.metrics("count")["errors"] == 1


def test_an_error_may_be_raised_more_than_once():
    with TopologyTester(WordCount) as tester:
        tester.raise_in("count", ValueError("no"), times=None)
        tester.feed("lines", ["storm heron"], tup_id=1)
        tester.run()
        assert [str(each.error) for each in tester.errors("count")] == ["no", "no"]
        # The second failure is of an equal tree.
        assert tester.failed("lines") == [1]


def test_a_lost_delivery_times_out():
    # Trees rotate every 30 s / 5: immediate emits expire with the sixth rotation.
    with TopologyTester(WordCount) as tester:
        tester.drop("split", "count", when=lambda tup: tup.values[0] == "heron")
        tester.feed("lines", ["storm heron"], tup_id="a")
        tester.advance(35.9)
        assert tester.failed("lines") == []
        tester.advance(0.2)
        assert tester.failed("lines") == ["a"]
        assert tester.metrics("lines")["expired"] == 0  # it was not the spout's own
        assert [each.values for each in tester.received("count")] == [["storm"], ["heron"]]
        assert tester.values("count") == [["storm", 1]]


@pytest.mark.parametrize(("wait", "age"), [(0.0, 36.0), (5.0, 31.0), (6.0, 36.0), (11.5, 30.5)])
def test_the_timeout_is_between_t_and_t_and_a_fifth(wait, age):
    with TopologyTester(Slow) as tester:
        tester.advance(wait)
        tester.feed("numbers", [1], tup_id="a")
        tester.advance(age - 0.1)
        assert tester.failed("numbers") == []
        tester.advance(0.1)
        assert tester.failed("numbers") == ["a"]


def test_timeouts_can_be_off():
    off = {"topology.enable.message.timeouts": False}
    with TopologyTester(Slow, config=off) as tester:
        tester.feed("numbers", [1], tup_id="a")
        tester.advance(3600)
        assert (tester.acked("numbers"), tester.failed("numbers")) == ([], [])


def test_a_crash_loses_memory_and_its_unacked_tuples_fail_at_once():
    with TopologyTester(Slow) as tester:
        tester.feed("numbers", [1], tup_id="a")
        tester.run()
        before = tester.component("hold")[0]
        assert len(before.held) == 1
        tester.crash("hold")
        after = tester.component("hold")[0]
        assert after is not before
        assert after.held == []
        tester.run()
        assert tester.failed("numbers") == ["a"]


def test_a_crash_in_the_middle_fails_at_once_and_is_replayed():
    with TopologyTester(WordCount) as tester:
        tester.crash("count", when=lambda tup: tup.values[0] == "heron")
        tester.run_spouts()
        spout = tester.component("lines")[0]
        assert spout.failed == [0]
        assert sorted(spout.acked) == [0, 1, 2]
        # Every line's words were counted, the first time by a dead process.
        words = [each.values[0] for each in tester.received("count")]
        assert words.count("heron") == 3


def test_what_waits_for_a_dead_instance_fails_as_well():
    with TopologyTester(Slow) as tester:
        tester.feed("numbers", [1], tup_id="a")
        tester.crash("keep", task=2)
        tester.run()
        # The tuple was on its way to the stream manager: the successor gets it.
        assert tester.values("keep") == [[1]]


def test_an_exception_that_ends_the_process():
    exits = {"topology.bolt.on.exception": "exit"}
    with TopologyTester(WordCount, config=exits) as tester:
        tester.feed("lines", ["storm"], tup_id=1)
        tester.run()
        tester.raise_in("count", ValueError("no"))
        tester.feed("lines", ["storm"], tup_id=2, replays=1)
        tester.run()
        assert tester.acked("lines") == [1, 2]
        assert tester.failed("lines") == [2]
        # Its successor starts from zero.
        assert tester.values("count") == [["storm", 1], ["storm", 1]]
        raised, ended = tester.errors("count")
        assert isinstance(raised.error, ValueError)
        assert ended.where == "the process ended"


# --- groupings and streams -----------------------------------------------------------------------


def by_task(tester, component):
    found: list[list[Any]] = [[] for _ in tester.tasks(component)]
    first = tester.tasks(component)[0]
    for each in tester.received(component):
        found[each.task - first].append(each.values[0])
    return found


def test_every_grouping_and_stream():
    with TopologyTester(Groupings) as tester:
        tester.run_spouts(calls=6)
        everything = [1, 2, 3, 4, 5, 6]
        assert [len(each) for each in by_task(tester, "shuffled")] == [2, 2, 2]
        assert by_task(tester, "everywhere") == [everything] * 3
        assert by_task(tester, "lowest") == [everything, [], []]
        assert by_task(tester, "chosen") == [[2, 4, 6], [1, 3, 5], [1, 3, 5]]
        assert by_task(tester, "evens") == [[2, 4, 6]]
        assert by_task(tester, "told") == [[3, 6], [1, 4], [2, 5]]
        for name in ("anyhow", "near", "keyed", "balanced"):
            assert sorted(chain(*by_task(tester, name))) == everything
        first = by_task(tester, "keyed")
        for number in everything:
            tester.feed("numbers", [number])
        tester.run()
        assert by_task(tester, "keyed") == [each + each for each in first]
        # The tuple held by `told` is not acked.
        assert tester.acked("numbers") == []


# --- time ----------------------------------------------------------------------------------------


def test_ticks_come_at_their_virtual_times():
    with TopologyTester(Ticking) as tester:
        start = tester.now
        tester.advance(9.9)
        assert tester.emitted("clock") == []
        tester.advance(20.2)
        assert [each.time - start for each in tester.emitted("clock")] == [10.0, 20.0, 30.0]
        for wall, monotonic, also_wall in tester.values("clock"):
            assert wall == also_wall == monotonic + (1_704_067_200 - 100_000)
        assert tester.metrics("clock")["ticks"] == 3


def test_sleep_takes_no_time_and_what_became_due_happens():
    before = time.monotonic()
    with TopologyTester(Ticking) as tester:
        start = tester.now
        for _ in range(5):
            tester.feed("numbers", ["sleep"])
        tester.run()
        assert tester.now - start == 12.5
        # The tick of 10 s came after the sleeping tuple was done.
        times = [each.time - start for each in tester.emitted("clock")]
        assert times == [2.5, 5.0, 7.5, 10.0, 10.0, 12.5]
    assert time.monotonic() - before < 5


def test_outside_of_the_tester_time_is_real():
    real = (time.time, time.monotonic, time.sleep)
    with TopologyTester(Ticking) as tester:
        assert (time.time, time.monotonic, time.sleep) == real
        tester.advance(100)
        assert (time.time, time.monotonic, time.sleep) == real
        assert tester.now == 1_704_067_300.0


def test_time_may_stay_real():
    with TopologyTester(Ticking, patch_time=False) as tester:
        tester.feed("numbers", [1])
        tester.run()
        assert tester.values("clock")[0][0] == pytest.approx(time.time(), abs=60)


def test_the_first_moment_may_be_chosen():
    with TopologyTester(Ticking, start_time=1_000_000_000.0) as tester:
        tester.advance(10)
        assert tester.values("clock")[0][0] == 1_000_000_010.0


# --- order ---------------------------------------------------------------------------------------


def interleaving(order, seed):
    with TopologyTester(Groupings, order=order, seed=seed) as tester:
        for number in range(1, 7):
            tester.feed("numbers", [number])
        tester.run()
        names = ("shuffled", "everywhere", "lowest", "chosen")
        tasks = [(name, task) for name in names for task in tester.tasks(name)]
        per_task = {
            (name, task): [each.values[0] for each in tester.received(name, task=task)]
            for name, task in tasks
        }
        return per_task, [
            (each.component, each.task, each.values) for each in tester._engine.journal.received
        ]


def test_a_random_order_is_the_seeds_and_fifo_for_each_pair():
    orders = set()
    for seed in range(5):
        per_task, order = interleaving("random", seed)
        assert order == interleaving("random", seed)[1]
        orders.add(str(order))
        for received in per_task.values():
            assert received == sorted(received)
    assert len(orders) == 5


def test_fifo_delivers_in_order_of_sending():
    per_task, order = interleaving("fifo", None)
    assert order == interleaving("fifo", None)[1]
    assert [len(each) for each in per_task.values()].count(6) == 4  # everywhere, and the lowest


def failing(order="fifo", act=lambda tester: None):
    """A test of a user's that fails."""
    with TopologyTester(WordCount, order=order) as tester:
        act(tester)
        raise AssertionError(tester.seed)


def test_a_failing_test_tells_the_seed():
    with pytest.raises(AssertionError) as raised:
        failing("random")
    seed = raised.value.args[0]
    assert raised.value.__notes__ == [f"tester of WordCount: order='random', seed={seed}"]


def with_a_bug(tester):
    """The counting bolts have a bug from now on, and get a word."""
    for each in tester.component("count"):
        each.counts = None
    tester.feed("lines", ["storm"], tup_id=1)
    tester.run()


def with_an_unseen_bug():
    with TopologyTester(WordCount) as tester:
        with_a_bug(tester)


def test_errors_that_nobody_looked_at_are_raised_at_the_end():
    with pytest.raises(TesterError, match=r"count\[[45]\] process:[\s\S]*TypeError[\s\S]*errors"):
        with_an_unseen_bug()


def test_errors_that_were_looked_at_are_not():
    with TopologyTester(WordCount) as tester:
        with_a_bug(tester)
        assert "TypeError" in tester.errors("count")[0].text
        assert tester.failed("lines") == [1]


def test_a_failing_test_tells_what_components_raised():
    with pytest.raises(AssertionError) as raised:
        failing(act=with_a_bug)
    assert "TypeError" in raised.value.__notes__[1]


def test_a_topology_that_never_settles_says_so():
    with TopologyTester(endless(), steps_max=500) as tester:
        tester.feed("numbers", [1])
        with pytest.raises(TesterError, match=r"never settles: 500 steps.*messages for echo"):
            tester.run()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda tester: tester.feed("line", ["x"]), "did you mean 'lines'"),
        (lambda tester: tester.feed("line", ["x"], tup_id=1), "did you mean 'lines'"),
        (lambda tester: tester.feed("split", ["x"], tup_id=1), "split is a bolt"),
        (lambda tester: tester.feed("split", ["x"], task=9), r"its tasks are \[2, 3\]"),
        (lambda tester: tester.fail("lines"), "lines is a spout"),
        (lambda tester: tester.emitted("words"), "no component 'words'"),
        (lambda tester: tester.run_spouts(component="split"), "split is a bolt"),
    ],
)
def test_wrong_calls_are_one_line(call, text):
    with TopologyTester(WordCount) as tester, pytest.raises(UsageError, match=text) as raised:
        call(tester)
    assert "\n" not in str(raised.value)


def test_what_is_emitted_is_checked_as_always():
    text = "emitted 2 values for the 1 fields"
    with TopologyTester(WordCount) as tester, pytest.raises(RuntimeError, match=text):
        tester.feed("lines", ["a", "b"])


def test_it_works_inside_of_with_only():
    with pytest.raises(UsageError, match="with TopologyTester"):
        TopologyTester(WordCount).run()


@pytest.mark.parametrize("source", [42, int, "no_such_file.py"])
def test_what_is_no_topology_is_refused(source):
    with pytest.raises((UsageError, TopologyError)):
        TopologyTester(source).__enter__()


def test_the_orders_are_two():
    with pytest.raises(UsageError, match="fifo or random"):
        TopologyTester(WordCount, order="lifo").__enter__()


def test_metrics_are_sums_and_the_users_since_the_last_look():
    with TopologyTester(WordCount) as tester:
        for number in range(3):
            tester.feed("lines", ["storm heron"], tup_id=number)
        tester.run()
        found = tester.metrics("count")
        assert (found["executed"], found["acked"]) == (6, 6)
        assert found["emitted"] == {"default": 6, "totals": 0}
        assert found["user"] == {"processed": 6}
        tester.feed("lines", ["storm"])
        tester.run()
        assert tester.metrics("count")["user"] == {"processed": 1}
        assert tester.metrics("count")["executed"] == 7


def test_a_file_is_loaded_as_a_run_would_do_it(tmp_path):
    (tmp_path / "tested_from_file.py").write_text(
        "from heronpy_compat import Bolt, Spout, Topology\n"
        "class Words(Spout):\n    outputs = ['word']\n    def next_tuple(self): self.finish()\n"
        "class Print(Bolt):\n    outputs = ['word']\n"
        "    def process(self, tup): self.emit(tup.values)\n"
        "class FromFile(Topology):\n"
        "    words = Words.spec()\n    show = Print.spec(inputs=[words])\n"
    )
    before = list(sys.path)
    with TopologyTester(tmp_path / "tested_from_file.py") as tester:
        tester.feed("words", ["storm"])
        tester.run()
        assert tester.values("show") == [["storm"]]
    assert sys.path == before


def test_a_builder_is_a_topology_too():
    from heronpy_compat import TopologyBuilder
    from tests.unit.heron_tester.tested_topologies import Hold, Numbers

    builder = TopologyBuilder("built")
    numbers = builder.add_spout("numbers", Numbers, par=1)
    builder.add_bolt("hold", Hold, par=1, inputs=[numbers])
    with TopologyTester(builder) as tester:
        tester.run_spouts(calls=2)
        assert [each.values for each in tester.component("hold")[0].held] == [[1], [2]]


def test_what_nobody_reads_is_emitted_all_the_same() -> None:
    """A spout is called until a call without an emit on any stream."""
    with TopologyTester(Unread) as tester:
        assert tester.run_spouts() == 7
        assert tester.values("split") == [["storm"]]
