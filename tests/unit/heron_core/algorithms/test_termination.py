"""When is a finite run done? Rounds of probes, and the order in which bolts finish."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from heron_core.algorithms.termination import TerminationDetector, finish_order
from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.messages import QuiescenceReport

SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)


def detector() -> TerminationDetector:
    """Two tasks; a round is repeated after 2 s, the rest is lost after 5 s."""
    made = TerminationDetector(frozenset({1, 2}), patience_secs=2.0, lost_after_secs=5.0)
    made.restart()
    return made


def probe_round(
    made: TerminationDetector, now: float, sent: int, processed: int, idle: bool = True
) -> None:
    """One complete round: task 1 sent, task 2 processed."""
    number = made.start_round(now)
    made.take(QuiescenceReport(1, number, sent, 0, idle, 1), now)
    made.take(QuiescenceReport(2, number, 0, processed, True, 1), now)


def test_two_equal_rounds_are_needed() -> None:
    # One round alone may see the counts of one task before, of the next after a tuple moved.
    made = detector()
    probe_round(made, 0.0, 10, 10)
    assert not made.drained
    probe_round(made, 0.1, 10, 10)
    assert made.drained
    assert made.lost == 0


def test_work_between_the_rounds_starts_anew() -> None:
    made = detector()
    probe_round(made, 0.0, 10, 10)
    probe_round(made, 0.1, 11, 11)
    assert not made.drained
    probe_round(made, 0.2, 11, 11, idle=False)
    probe_round(made, 0.3, 11, 11)
    assert not made.drained
    probe_round(made, 0.4, 11, 11)
    assert made.drained


def test_what_was_lost_is_declared_after_a_while() -> None:
    made = detector()
    probe_round(made, 0.0, 10, 7)
    probe_round(made, 4.9, 10, 7)
    assert not made.drained
    probe_round(made, 5.1, 10, 7)
    assert made.drained
    assert made.lost == 3


def test_what_was_lost_before_is_not_waited_for_again() -> None:
    made = detector()
    probe_round(made, 0.0, 10, 7)
    probe_round(made, 5.1, 10, 7)
    made.restart()
    probe_round(made, 5.2, 12, 9)
    probe_round(made, 5.3, 12, 9)
    assert made.drained
    assert made.lost == 3


def test_a_restore_forgets_what_was_lost() -> None:
    made = detector()
    probe_round(made, 0.0, 10, 7)
    probe_round(made, 5.1, 10, 7)
    made.finish(frozenset({2}))
    made.recount()
    probe_round(made, 5.2, 10, 10)
    probe_round(made, 5.3, 10, 10)
    assert (made.drained, made.lost) == (True, 0)


def test_what_the_dead_had_sent_is_not_waited_for_again() -> None:
    # A killed bolt takes its count of sent tuples along: for ever more are processed than sent, and
    # each level of finishing bolts would wait again.
    made = detector()
    probe_round(made, 0.0, 7, 10)
    probe_round(made, 5.0, 7, 10)
    assert made.drained
    made.restart()
    probe_round(made, 5.1, 9, 12)
    probe_round(made, 5.2, 9, 12)
    assert made.drained
    assert made.lost == 0


def test_answers_of_an_older_round_do_not_count() -> None:
    made = detector()
    old = made.start_round(0.0)
    number = made.start_round(2.5)
    made.take(QuiescenceReport(1, old, 10, 0, True, 1), 2.6)
    made.take(QuiescenceReport(2, number, 0, 10, True, 1), 2.6)
    assert set(made.reports) == {2}


def test_an_answer_that_comes_twice_is_not_a_second_round() -> None:
    made = detector()
    probe_round(made, 0.0, 10, 10)
    made.take(QuiescenceReport(2, made.round_number, 0, 10, True, 1), 0.1)
    assert not made.drained


def test_a_stranger_does_not_complete_a_round() -> None:
    made = detector()
    number = made.start_round(0.0)
    made.take(QuiescenceReport(1, number, 0, 0, True, 1), 0.0)
    made.take(QuiescenceReport(99, number, 0, 0, True, 1), 0.0)
    assert set(made.reports) == {1}


def test_a_round_that_not_all_answer_is_repeated() -> None:
    # One instance is being restarted.
    made = detector()
    assert made.is_due(0.0, 0.02)
    made.start_round(0.0)
    assert not made.is_due(1.9, 0.02)
    assert made.is_due(2.0, 0.02)
    probe_round(made, 2.0, 1, 0)
    assert not made.is_due(2.01, 0.02)
    assert made.is_due(2.02, 0.02)


def test_thousands_that_answer_slowly_are_waited_for_at_last() -> None:
    # Else the answers to each round would come when the next one has begun.
    made = detector()
    waited = []
    for now in range(200):
        if made.is_due(now, 0.02):
            made.start_round(now)
            waited.append(now)
    assert waited == [0, 2, 6, 14, 30, 62, 126, 190]
    probe_round(made, 200.0, 1, 0)
    made.start_round(200.02)
    assert made.is_due(202.02, 0.02), "a complete round ends that"


def test_no_more_rounds_once_drained() -> None:
    made = detector()
    probe_round(made, 0.0, 0, 0)
    probe_round(made, 0.1, 0, 0)
    assert not made.is_due(1e9, 0.02)
    made.restart()
    assert made.is_due(0.1, 0.02)


class DetectorMachine(RuleBasedStateMachine):
    """A spout sends to a bolt, probes read both at different moments: never drained while a tuple
    is on its way (without earlier losses). A spout is idle once finished, and sends nothing from
    then on."""

    def __init__(self) -> None:
        super().__init__()
        self.detector = detector()
        self.sent = self.processed = 0
        self.finished = False
        self.now = 0.0

    @precondition(lambda self: not self.finished)
    @rule()
    def send_tuple(self) -> None:
        self.sent += 1

    @precondition(lambda self: not self.finished)
    @rule()
    def finish(self) -> None:
        self.finished = True

    @rule()
    def process_tuple(self) -> None:
        self.processed = min(self.sent, self.processed + 1)

    @rule()
    def probe(self) -> None:
        self.now += 0.02
        self.detector.start_round(self.now)

    @rule(task=st.sampled_from([1, 2]))
    def answer(self, task: int) -> None:
        if self.detector.drained or self.detector.round_number < 2:
            return
        number = self.detector.round_number
        spout = QuiescenceReport(1, number, self.sent, 0, self.finished, 1)
        bolt = QuiescenceReport(2, number, 0, self.processed, True, 1)
        self.detector.take(spout if task == 1 else bolt, self.now)

    @invariant()
    def drained_means_done(self) -> None:
        assert not self.detector.drained or self.sent == self.processed


TestDetector = DetectorMachine.TestCase
TestDetector.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def topology(edges: dict[str, list[str]]) -> TopologySpec:
    """name -> its sources; empty for spouts."""
    stream = StreamSpec("default", ("a",))
    return TopologySpec(
        "t",
        tuple(
            ComponentSpec(
                name, not sources, "m.C", 1, (stream,),
                tuple(InputSpec(each, "default", SHUFFLE) for each in sources),
            )
            for name, sources in edges.items()
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("edges", "levels"),
    [
        ({"s": [], "a": ["s"], "b": ["a"]}, [{"a"}, {"b"}]),
        # Declared the other way round, and a short cut past a: b still comes after a.
        ({"s": [], "b": ["s", "a"], "a": ["s"]}, [{"a"}, {"b"}]),
        ({"s": [], "t": [], "a": ["s"], "b": ["t"], "c": ["a", "b"]}, [{"a", "b"}, {"c"}]),
        ({"s": []}, []),
    ],
)
def test_bolts_finish_after_all_that_feed_them(
    edges: dict[str, list[str]], levels: list[set[str]]
) -> None:
    numbers = {name: [at, at + 100] for at, name in enumerate(edges)}
    found = finish_order(topology(edges), numbers)
    assert found == [frozenset(t for name in each for t in numbers[name]) for each in levels]


def test_a_cycle_ends_as_well() -> None:
    edges = {"s": [], "a": ["s", "b"], "b": ["a"], "self": ["b", "self"]}
    found = finish_order(topology(edges), {name: [at] for at, name in enumerate(edges)})
    assert sorted(task for level in found for task in level) == [1, 2, 3]
