"""When is a finite run done? Counting waves and the order of the last words."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from heron_core.topology import (
    ComponentSpec,
    GroupingKind,
    GroupingSpec,
    InputSpec,
    StreamSpec,
    TopologySpec,
)
from heron_core.wire.messages import QuiescenceReport
from topology_master.termination import Waves, finish_levels

SHUFFLE = GroupingSpec(GroupingKind.SHUFFLE)


def waves() -> Waves:
    """Two tasks; a wave is repeated after 2 s, the rest is lost after 5 s."""
    made = Waves(frozenset({1, 2}), patience_secs=2.0, quiet_secs=5.0)
    made.begin()
    return made


def wave(made: Waves, now: float, sent: int, processed: int, idle: bool = True) -> None:
    """One complete wave: task 1 sent, task 2 processed."""
    number = made.send(now)
    made.answer(QuiescenceReport(1, number, sent, 0, idle, 1), now)
    made.answer(QuiescenceReport(2, number, 0, processed, True, 1), now)


def test_two_equal_waves_are_needed() -> None:
    # One wave alone may see the counts of one task before, of the other after a tuple moved.
    made = waves()
    wave(made, 0.0, 10, 10)
    assert not made.quiet
    wave(made, 0.1, 10, 10)
    assert made.quiet
    assert made.lost == 0


def test_work_between_the_waves_starts_anew() -> None:
    made = waves()
    wave(made, 0.0, 10, 10)
    wave(made, 0.1, 11, 11)
    assert not made.quiet
    wave(made, 0.2, 11, 11, idle=False)
    wave(made, 0.3, 11, 11)
    assert not made.quiet
    wave(made, 0.4, 11, 11)
    assert made.quiet


def test_what_was_lost_is_declared_after_a_while() -> None:
    made = waves()
    wave(made, 0.0, 10, 7)
    wave(made, 4.9, 10, 7)
    assert not made.quiet
    wave(made, 5.1, 10, 7)
    assert made.quiet
    assert made.lost == 3


def test_what_was_lost_before_is_not_waited_for_again() -> None:
    made = waves()
    wave(made, 0.0, 10, 7)
    wave(made, 5.1, 10, 7)
    made.begin()
    wave(made, 5.2, 12, 9)
    wave(made, 5.3, 12, 9)
    assert made.quiet
    assert made.lost == 3


def test_what_the_dead_had_sent_is_not_waited_for_again() -> None:
    # A killed bolt takes its count of what it sent along: for ever more is processed than sent,
    # and each level of last words would wait for that anew.
    made = waves()
    wave(made, 0.0, 7, 10)
    wave(made, 5.0, 7, 10)
    assert made.quiet
    made.begin()
    wave(made, 5.1, 9, 12)
    wave(made, 5.2, 9, 12)
    assert made.quiet
    assert made.lost == 0


def test_answers_of_an_older_wave_do_not_count() -> None:
    made = waves()
    old = made.send(0.0)
    number = made.send(2.5)
    made.answer(QuiescenceReport(1, old, 10, 0, True, 1), 2.6)
    made.answer(QuiescenceReport(2, number, 0, 10, True, 1), 2.6)
    assert set(made.answers) == {2}


def test_an_answer_that_comes_twice_is_not_a_second_wave() -> None:
    made = waves()
    wave(made, 0.0, 10, 10)
    made.answer(QuiescenceReport(2, made.wave, 0, 10, True, 1), 0.1)
    assert not made.quiet


def test_a_stranger_does_not_complete_a_wave() -> None:
    made = waves()
    number = made.send(0.0)
    made.answer(QuiescenceReport(1, number, 0, 0, True, 1), 0.0)
    made.answer(QuiescenceReport(99, number, 0, 0, True, 1), 0.0)
    assert set(made.answers) == {1}


def test_a_wave_that_not_all_answer_is_repeated() -> None:
    # One instance is being restarted.
    made = waves()
    assert made.due(0.0, 0.02)
    made.send(0.0)
    assert not made.due(1.9, 0.02)
    assert made.due(2.0, 0.02)
    wave(made, 2.0, 1, 0)
    assert not made.due(2.01, 0.02)
    assert made.due(2.02, 0.02)


def test_no_more_waves_once_quiet() -> None:
    made = waves()
    wave(made, 0.0, 0, 0)
    wave(made, 0.1, 0, 0)
    assert not made.due(1e9, 0.02)
    made.begin()
    assert made.due(0.1, 0.02)


class WavesMachine(RuleBasedStateMachine):
    """A spout sends to a bolt, waves read the two at different moments: it is never quiet while a
    tuple is on its way (and nothing was ever lost)."""

    def __init__(self) -> None:
        super().__init__()
        self.waves = waves()
        self.sent = self.processed = 0
        self.now = 0.0

    @rule()
    def send_tuple(self) -> None:
        if not self.waves.quiet:
            self.sent += 1

    @rule()
    def process_tuple(self) -> None:
        self.processed = min(self.sent, self.processed + 1)

    @rule()
    def probe(self) -> None:
        self.now += 0.02
        self.waves.send(self.now)

    @rule(task=st.sampled_from([1, 2]))
    def answer(self, task: int) -> None:
        if self.waves.quiet or self.waves.wave < 2:
            return
        sent, processed = (self.sent, 0) if task == 1 else (0, self.processed)
        self.waves.answer(
            QuiescenceReport(task, self.waves.wave, sent, processed, True, 1), self.now
        )

    @invariant()
    def quiet_means_done(self) -> None:
        assert not self.waves.quiet or self.sent == self.processed


TestWaves = WavesMachine.TestCase
TestWaves.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def topology(edges: dict[str, list[str]]) -> TopologySpec:
    """name -> what it reads; spouts read nothing."""
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
def test_bolts_say_their_last_words_after_all_that_feed_them(
    edges: dict[str, list[str]], levels: list[set[str]]
) -> None:
    numbers = {name: [at, at + 100] for at, name in enumerate(edges)}
    found = finish_levels(topology(edges), numbers)
    assert found == [frozenset(t for name in each for t in numbers[name]) for each in levels]


def test_a_cycle_ends_as_well() -> None:
    edges = {"s": [], "a": ["s", "b"], "b": ["a"], "self": ["b", "self"]}
    found = finish_levels(topology(edges), {name: [at] for at, name in enumerate(edges)})
    assert sorted(task for level in found for task in level) == [1, 2, 3]
